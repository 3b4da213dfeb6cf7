// Package pty owns a pseudo-terminal with somebody at its other end, for the
// demonstration: what people approve is approved at a terminal, and there alone.
//
// Only supervise imports it. It must never answer a question that is not on the
// screen. It stops no attack: in the demonstration one program plays every person,
// which is why the demonstration is a laboratory.
package pty

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// maxShown bounds what is kept of a screen, in bytes.
const maxShown = 256 << 10

// Run runs a program with a terminal as its only input and output, types yes at each
// question that asks for that word, and returns what the screen showed. An exit code
// other than 0 is an error.
func Run(ctx context.Context, cmd *exec.Cmd) (string, error) {
	master, slave, err := open()
	if err != nil {
		return "", err
	}
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = slave.Close() // the program has its own
	if err != nil {
		return "", errs.Wrap(err, errs.Unavailable, "the program "+cmd.Path+" cannot be started").WithNext("run make build")
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	shown := watch(master)
	err = cmd.Wait()
	text := strings.ReplaceAll(shown.String(), "\r\n", "\n")
	if err != nil {
		return text, errs.Wrap(err, errs.Internal, "the program "+cmd.Path+" ended with "+cmd.ProcessState.String())
	}
	return text, nil
}

// watch reads the screen to its end and answers the questions on it.
func watch(master *os.File) *bytes.Buffer {
	shown := &bytes.Buffer{}
	b := make([]byte, 4096)
	for shown.Len() < maxShown {
		n, err := master.Read(b)
		shown.Write(b[:n])
		if err != nil { // the program has closed its side
			return shown
		}
		if asks(shown.String()) {
			if _, err := master.WriteString("yes\n"); err != nil {
				return shown
			}
		}
	}
	return shown
}

// asks says whether the screen ends in a question for the word yes.
func asks(screen string) bool {
	line := screen[strings.LastIndexByte(screen, '\n')+1:]
	return strings.Contains(line, "yes") && strings.HasSuffix(line, ": ")
}

func open() (master, slave *os.File, err error) {
	fail := func(err error) (*os.File, *os.File, error) {
		return nil, nil, errs.Wrap(err, errs.Unavailable, "there is no pseudo-terminal here").WithNext("mount /dev/pts")
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		_ = master.Close() // nothing was written to it
		return fail(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close() // the same
		return fail(err)
	}
	return master, slave, nil
}
