package ceremony

import (
	"context"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// A select takes any of the cases that are ready. Which one it is must not decide
// whether something begins or what a caller is told.
func TestNothingBeginsForACallerWhoLeftWhileTheWriterTookItsStep(t *testing.T) {
	for what, ask := range map[string]func(*Ceremony, context.Context, func()) error{
		"a step": func(c *Ceremony, ctx context.Context, ran func()) error {
			return c.do(ctx, func(context.Context) error { ran(); return nil })
		},
		"an attempt": func(c *Ceremony, ctx context.Context, ran func()) error {
			_, err := c.begin(ctx, func(context.Context, func(record.Contract)) error { ran(); return nil })
			return err
		},
	} {
		c := &Ceremony{jobs: make(chan job), stopped: make(chan struct{})}
		ctx, leave := context.WithCancel(t.Context())
		done, ran := make(chan error), false
		go func() { done <- ask(c, ctx, func() { ran = true }) }()
		j := <-c.jobs
		leave()
		if err := j.run(t.Context()); errs.Public(err).Class != "busy" || ran {
			t.Errorf("%s: ran %v, %v", what, ran, err)
		}
		j.done()
		if err := <-done; errs.Public(err).Class != "busy" {
			t.Errorf("%s: the caller was told %v", what, err)
		}
	}
}

func TestAnAnswerThatIsThereIsTakenWhateverElseIs(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 100 {
		c := &Ceremony{stopped: make(chan struct{})}
		close(c.stopped)
		from := make(chan string, 1)
		from <- "settled"
		if got, err := await(gone, c, from); got != "settled" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
}
