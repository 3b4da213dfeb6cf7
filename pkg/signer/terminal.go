package signer

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// approval is the one word that approves.
const approval = "yes"

// flush is the request that throws away what was typed and not read (TCFLSH on
// Linux); its argument 0 means input.
const flush = 0x540b

// atTerminal refuses to go on unless a person sees the review and types the answer.
func (e *Env) atTerminal() error {
	if !term.IsTerminal(int(e.In.Fd())) || !term.IsTerminal(int(e.Out.Fd())) {
		return no("this is no terminal", "run mcpsign at a terminal: an approval cannot be piped in, and the review must be read")
	}
	return nil
}

// discardTyped throws away what was typed before the question was asked, so that
// nobody approves what is not yet on the screen.
func (e *Env) discardTyped() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, e.In.Fd(), flush, 0); errno != 0 {
		return no("the terminal's input cannot be cleared", "use an ordinary terminal")
	}
	return nil
}

// ask shows the question and says whether the answer is exactly the word.
func (e *Env) ask(question string) (bool, error) {
	if err := e.discardTyped(); err != nil {
		return false, err
	}
	if err := e.say(question); err != nil {
		return false, err
	}
	line, err := readLine(e.In, 64)
	return err == nil && line == approval, nil
}

// readLine reads one line of at most most bytes, byte by byte so that nothing after
// it is taken.
func readLine(in *os.File, most int) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) <= most {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line), nil
		}
		if err != nil || n == 0 {
			return "", io.ErrUnexpectedEOF // a line without its end is no answer
		}
		line = append(line, one[0])
	}
	return "", io.ErrShortBuffer
}

// passphrase reads one without showing it. The caller clears it.
func (e *Env) passphrase(question string) ([]byte, error) {
	fd := int(e.In.Fd())
	restored := restoreOnInterrupt(fd)
	defer restored()
	// The terminal stops showing what is typed before it asks: a fast typist would
	// otherwise be shown.
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, no("the terminal cannot hide a passphrase", "use an ordinary terminal")
	}
	p, err := e.hidden(question)
	if rerr := term.Restore(fd, state); err == nil {
		err = rerr
	}
	if serr := e.say("\n"); err == nil {
		err = serr
	}
	if err != nil {
		clear(p)
		return nil, no("the passphrase could not be read", "use an ordinary terminal")
	}
	return p, nil
}

// hidden asks and reads at a terminal that shows nothing.
func (e *Env) hidden(question string) ([]byte, error) {
	if err := e.discardTyped(); err != nil {
		return nil, err
	}
	if err := e.say(question); err != nil {
		return nil, err
	}
	return term.ReadPassword(int(e.In.Fd()))
}

// restoreOnInterrupt makes an interrupt leave a terminal that shows what is typed,
// until the function it returns is called.
func restoreOnInterrupt(fd int) (stop func()) {
	state, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	c, end := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-end:
		case sig := <-c:
			_ = term.Restore(fd, state) // ending is all that is left
			signal.Reset()
			if n, ok := sig.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), n)
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(end)
	}
}
