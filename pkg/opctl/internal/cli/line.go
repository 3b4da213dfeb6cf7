package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// longLine bounds an answer that is a path or a URL, in bytes.
const longLine = 512

// Line asks for one line at a terminal. without is what an empty line means; "" asks
// again. What was typed before the question answers nothing.
func (e Env) Line(ctx context.Context, question, without string) (string, error) {
	if err := e.NeedTerminal(); err != nil {
		return "", err
	}
	if without != "" {
		question += " [" + without + "]"
	}
	for ctx.Err() == nil {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, e.In.Fd(), flushInput, 0); errno != 0 {
			return "", errs.New(errs.Unavailable, "the terminal's input cannot be cleared").WithClass("terminal").WithNext("use an ordinary terminal")
		}
		fmt.Fprint(e.Err, question+": ")
		type read struct {
			line string
			err  error
		}
		answer := make(chan read, 1)
		go func() { // a read of a terminal cannot be called off; the process ends soon
			line, err := readUpTo(e.In, longLine)
			answer <- read{strings.TrimSpace(line), err}
		}()
		select {
		case r := <-answer:
			switch {
			case r.err != nil:
				return "", errs.New(errs.Denied, "nothing was done: there was no answer").WithClass("declined").WithNext("run the same command again, or give the answers as flags")
			case r.line != "":
				return r.line, nil
			case without != "":
				return without, nil
			}
		case <-ctx.Done():
			fmt.Fprintln(e.Err)
		}
	}
	return "", ctx.Err()
}

// readUpTo reads one line of at most most bytes, byte by byte so that nothing after it
// is taken. A line without its end is no answer.
func readUpTo(in io.Reader, most int) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) <= most {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			return string(line), nil
		}
		if err != nil || n == 0 {
			return "", io.ErrUnexpectedEOF
		}
		line = append(line, one[0])
	}
	return "", io.ErrShortBuffer
}
