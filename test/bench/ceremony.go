package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/bench/rig"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/trial"
	"pfsensemcp/test/writepath"
)

// changes is how many changes one write path takes at once: each of two users may ask
// for six within a minute.
const changes = 12

// ceremony is the CPU time of executord for one change. Its waits are shorter than in
// earnest, which is real time and no CPU time.
func (b *bench) ceremony() error {
	program := filepath.Join(b.bin, "demo", "executord")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("there is no test build of executord: %w", err)
	}
	var each []float64
	var idle, peak float64
	for range b.rounds {
		err := trial.Run(func(t trial.T) {
			r := writepath.New(t, program, swtpm.New(t).Address(), fakepf.Options{Now: earlier})
			if err := r.Start(""); err != nil {
				t.Fatal(err)
			}
			if err := r.Provision(); err != nil {
				t.Fatal(err)
			}
			one, err := played(r)
			if err != nil {
				log := r.Log()
				t.Fatalf("%v\n%s", err, log[max(0, len(log)-2000):])
			}
			each = append(each, ms(one))
			now, err1 := rig.RSS(r.PID())
			most, err2 := rig.Peak(r.PID())
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			idle, peak = max(idle, mib(now)), max(peak, mib(most))
		})
		if errors.Is(err, trial.ErrSkipped) {
			b.absent("ceremony_ms", err.Error())
			return nil
		}
		if err != nil {
			return err
		}
	}
	b.take("ceremony_ms", median(each), fmt.Sprintf("from the wish to verified; %d write paths, %d changes each; the quickest %.0f, the slowest %.0f; executord holds %.1f MiB, at its peak %.1f",
		b.rounds, changes, quantile(each, 0), quantile(each, 1), idle, peak))
	return nil
}

// earlier is the appliance's clock: a change within the last seconds, by it, would
// have executord wait before the next.
func earlier() time.Time { return time.Now().Add(-10 * time.Minute) }

// played plays as many changes as may be and returns what one took.
func played(r *writepath.Rig) (time.Duration, error) {
	before, err := rig.CPU(r.PID())
	if err != nil {
		return 0, err
	}
	for i := range changes {
		if err := change(r, uint32(1001+i%2), fmt.Sprintf("Printers of floor %d", i)); err != nil {
			return 0, fmt.Errorf("change %d: %w", i, err)
		}
	}
	after, err := rig.CPU(r.PID())
	return (after - before) / changes, err
}

// change plays one from the wish to its proof.
func change(r *writepath.Rig, uid uint32, text string) error {
	if _, err := r.AskFor(uid, text); err != nil {
		return err
	}
	asked, err := r.Requests()
	if err != nil {
		return err
	}
	open := slices.IndexFunc(asked, func(q *executorpb.Request) bool { return q.GetStatus() == executorpb.RequestStatus_REQUEST_STATUS_OPEN })
	if open < 0 {
		return errors.New("the wish was not taken")
	}
	id, err := r.Authorize(asked[open].GetRequestId())
	if err != nil {
		return err
	}
	if err := r.Confirm(id); err != nil {
		return err
	}
	c, err := r.Settled(id)
	if err == nil && c.GetState() != executorpb.State_STATE_VERIFIED {
		err = fmt.Errorf("it ended as %s, %q", c.GetState(), c.GetReason())
	}
	return err
}
