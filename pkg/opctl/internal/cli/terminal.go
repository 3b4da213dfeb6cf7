package cli

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/term"

	"pfsensemcp/pkg/errs"
)

const (
	approval   = "yes" // the one word that lets an act happen
	longAnswer = 64    // bytes; a longer line is no answer

	// flushInput is the request that throws away what was typed and not read (TCFLSH
	// on Linux); its argument 0 means input.
	flushInput = 0x540b
)

// AtTerminal says whether a person sees what is asked and types the answer: both the
// input and the messages are a terminal.
func (e Env) AtTerminal() bool {
	shown, ok := e.Err.(*os.File)
	return e.In != nil && ok && term.IsTerminal(int(e.In.Fd())) && term.IsTerminal(int(shown.Fd()))
}

// Consent asks for the word yes, unless the command line gave it. question is one
// line of ours without its end.
func (e Env) Consent(ctx context.Context, question string, given bool) error {
	if given {
		return nil
	}
	if !e.AtTerminal() {
		fmt.Fprintln(e.Err, "mcpctl: this changes something, and there is no terminal to ask at\nnext: run it at a terminal, or add --yes")
		return ErrUsage
	}
	return e.ask(ctx, question)
}

// NeedTerminal refuses an act that no flag may approve, unless a person is there.
func (e Env) NeedTerminal() error {
	if !e.AtTerminal() {
		return errs.New(errs.Denied, "this is done at a terminal alone, by a person").WithClass("terminal").
			WithNext("run the same command in a terminal, without a pipe")
	}
	return nil
}

// Insist asks for the word yes at a terminal; nothing replaces it.
func (e Env) Insist(ctx context.Context, question string) error {
	if err := e.NeedTerminal(); err != nil {
		return err
	}
	return e.ask(ctx, question)
}

func (e Env) ask(ctx context.Context, question string) error {
	// What was typed before the question was on the screen answers nothing.
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, e.In.Fd(), flushInput, 0); errno != 0 {
		return errs.New(errs.Unavailable, "the terminal's input cannot be cleared").WithClass("terminal").WithNext("use an ordinary terminal")
	}
	fmt.Fprintf(e.Err, "%s\nType yes to go on, anything else to stop: ", question)
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be called off; the process ends soon
		line, err := readUpTo(e.In, longAnswer)
		if err != nil {
			line = ""
		}
		answer <- line
	}()
	line := ""
	select {
	case line = <-answer:
	case <-ctx.Done():
		fmt.Fprintln(e.Err)
	}
	if line != approval {
		return errs.New(errs.Denied, "nothing was done").WithClass("declined").WithNext("run the same command again when it shall be done")
	}
	return nil
}
