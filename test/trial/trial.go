// Package trial is as much of testing.TB as the tools of tests need, so that a
// program can use them as a test does. Tests and their programs alone import it.
package trial

import (
	"errors"
	"fmt"
	"runtime"
)

// T is a running trial: *testing.T and *testing.B are some, and so is what Run hands
// out.
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// ErrSkipped is in the error of a trial that could not be made here.
var ErrSkipped = errors.New("skipped")

// Run runs f as a test would be run, its clean-ups at the end, and returns what it
// failed with. Fatal ends f alone, and is for the goroutine that runs it.
func Run(f func(T)) error {
	t, ended := &run{}, make(chan struct{})
	go func() {
		defer close(ended)
		defer t.clean()
		f(t)
	}()
	<-ended
	return errors.Join(t.faults...)
}

// run is a trial of a program.
type run struct {
	faults []error
	after  []func()
}

func (t *run) Helper()          {}
func (t *run) Cleanup(f func()) { t.after = append(t.after, f) }

func (t *run) Errorf(format string, args ...any) {
	t.faults = append(t.faults, fmt.Errorf(format, args...))
}

func (t *run) Fatal(args ...any) {
	t.faults = append(t.faults, errors.New(fmt.Sprint(args...)))
	runtime.Goexit()
}

func (t *run) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *run) Skip(args ...any) {
	t.faults = append(t.faults, fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprint(args...)))
	runtime.Goexit()
}

// clean runs the clean-ups, the last first, each even when one before it ends early.
func (t *run) clean() {
	for len(t.after) > 0 {
		last := len(t.after) - 1
		f := t.after[last]
		t.after = t.after[:last]
		func() {
			defer t.clean()
			f()
		}()
	}
}
