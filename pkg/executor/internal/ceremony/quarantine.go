package ceremony

import (
	"context"
	"log/slog"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// The words of a quarantine. Those of the first group clear when their cause does;
// a value clears by a signed rebaseline, the rest only by a new store.
const (
	quarantineUnreachable = "anchor_unreachable"
	quarantineClock       = "clock_regressed"
	quarantineJump        = "clock_jump"

	quarantineValue    = "anchor_mismatch"
	quarantineRestored = "restored_backup"

	quarantineName  = "anchor_name"
	quarantineStore = "store_integrity"
)

// adopt takes a store into use: it must have been founded as this process is
// configured, and agree with the counter.
func (c *Ceremony) adopt(ctx context.Context, s *store.Store) error {
	if s.Integrity() != nil {
		c.store.Store(s)
		c.enter(quarantineStore)
		return nil
	}
	var row *record.Anchor
	var p *record.Provisioning
	err := s.View(func(v *store.View) (err error) {
		if row, err = v.Anchor(); err != nil {
			return err
		}
		if p, err = v.Provisioning(); errs.CodeOf(err) == errs.NotFound {
			p, err = nil, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	index, err := parseHandle(row.NVIndex)
	if err != nil {
		return err
	}
	if c.Index != 0 && c.Index != index {
		return errs.New(errs.Invalid, "anchor.nv_index is not the index that the store was founded on").WithClass("configuration").
			WithNext("remove anchor.nv_index: the store knows it")
	}
	c.store.Store(s)
	if err := c.Counter.Use(index, row.NVName); err != nil {
		c.complete.Store(p != nil)
		c.enter(quarantineName)
		return nil
	}
	if p == nil {
		return nil // seeded, not complete: provisioning goes on
	}
	if err := c.founded(ctx, p); err != nil {
		return err
	}
	c.complete.Store(true)
	return c.recover(ctx, s)
}

// founded refuses a store that was founded under another assurance: a laboratory's
// store in production, or a hardware counter's over an emulated one.
func (c *Ceremony) founded(ctx context.Context, p *record.Provisioning) error {
	if p.Lab != c.Store.Lab {
		return errs.New(errs.Invalid, "lab is not what it was when the store was founded").WithClass("configuration").
			WithNext("set lab as it was; a laboratory's store never becomes one of production")
	}
	f, err := c.Counter.Facts(ctx)
	if err != nil {
		return nil // unreachable: a quarantine that recover finds
	}
	if f.Assurance != p.Assurance {
		return errs.New(errs.Invalid, "the TPM is of another assurance than when the store was founded").WithClass("configuration").
			WithNext("give executord the TPM that its store was founded on, or found a new store")
	}
	if f.Assurance != change.AssuranceHardware && !c.Store.Lab {
		return errs.New(errs.Invalid, "the TPM is an emulated one, which its host can set back").WithClass("configuration").
			WithNext("use a hardware TPM or a witness host; lab = true is for laboratories")
	}
	return nil
}

// recover settles, by the crash table, what a former process or a lost increment left.
// What the counter cannot explain changes nothing and is a quarantine.
func (c *Ceremony) recover(ctx context.Context, s *store.Store) error {
	if word := c.wrong(s); word != "" {
		c.enter(word)
		return nil
	}
	witness, err := c.Counter.Read(ctx)
	if err == nil {
		witness, err = c.unmoved(ctx, s, witness)
	}
	if err != nil {
		c.enter(counterWord(err))
		return nil
	}
	done, err := s.Restart(witness)
	switch {
	case err == nil:
	case errs.Public(err).Class == quarantineValue:
		c.enter(quarantineValue)
		return nil
	default:
		c.wrote(err)
		return err
	}
	for _, id := range done.Expired {
		c.note(Event{Kind: KindExpired, ContractID: id, State: record.Expired})
	}
	for _, id := range done.Failed {
		c.note(Event{Kind: KindSettled, ContractID: id, State: record.Failed})
	}
	for _, id := range done.Uncertain {
		c.note(Event{Kind: KindSettled, ContractID: id, State: record.Reconciliation})
	}
	why := record.Reason("")
	if s.Report().Fallback {
		why = record.ReasonMetaFallback
	}
	if err := s.Note(record.Startup, why); err != nil {
		c.wrote(err)
		return err
	}
	c.leave()
	return nil
}

// unmoved reads the counter again when a noted increment seems not to have happened:
// one that timed out can still be carried out after the first read.
func (c *Ceremony) unmoved(ctx context.Context, s *store.Store, witness int64) (int64, error) {
	pending := false
	if err := s.View(func(v *store.View) error {
		a, err := v.Anchor()
		if err == nil {
			pending = a.Pending != nil && a.Pending.From == witness
		}
		return err
	}); err != nil || !pending {
		return witness, err
	}
	t := time.NewTimer(c.Windows.Patience)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return 0, anchor.Unreachable(ctx.Err(), "whether the counter was incremented is not known")
	}
	return c.Counter.Read(ctx)
}

// wrong says what is wrong without asking the counter, "" when nothing is.
func (c *Ceremony) wrong(s *store.Store) string {
	if s.Integrity() != nil {
		return quarantineStore
	}
	word := ""
	err := s.View(func(v *store.View) error {
		if v.Restored() {
			word = quarantineRestored
			return nil
		}
		f, err := v.Clock()
		switch f {
		case store.ClockRegressed:
			word = quarantineClock
		case store.ClockJumped:
			word = quarantineJump
		}
		return err
	})
	if err != nil {
		return quarantineStore
	}
	return word
}

func counterWord(err error) string {
	if errs.Public(err).Class == anchor.ClassName {
		return quarantineName
	}
	return quarantineUnreachable
}

// check is the writer's look before anything new: what is wrong now, or nothing. A
// cause that has gone ends its quarantine; a value that differs ends by signature.
func (c *Ceremony) check(ctx context.Context, s *store.Store) {
	if !c.complete.Load() {
		return
	}
	word := c.wrong(s)
	if word == "" {
		word = c.compare(ctx, s)
	}
	switch {
	case word == "":
		c.leave()
	case word != c.Quarantine():
		c.enter(word)
	}
}

// compare holds the counter against the store. An increment whose outcome was not
// known is settled here, once the counter answers.
func (c *Ceremony) compare(ctx context.Context, s *store.Store) string {
	var row *record.Anchor
	if err := s.View(func(v *store.View) (err error) {
		row, err = v.Anchor()
		return err
	}); err != nil {
		return quarantineStore
	}
	witness, err := c.Counter.Read(ctx)
	switch {
	case err != nil:
		return counterWord(err)
	case row.Pending != nil:
		if err := c.recover(ctx, s); err != nil {
			return quarantineStore
		}
		return c.Quarantine()
	case witness != row.Value:
		return quarantineValue
	}
	return ""
}

// Quarantine returns the word for why nothing is begun, "" when nothing is wrong.
func (c *Ceremony) Quarantine() string { return *c.quarantine.Load() }

func (c *Ceremony) enter(word string) {
	if *c.quarantine.Swap(&word) == word {
		return
	}
	c.Log.Error("quarantine: no change is begun", slog.String("reason", word))
	c.note(Event{Kind: KindQuarantined})
	if s := c.store.Load(); s != nil && s.Integrity() == nil && word != quarantineRestored {
		c.wrote(s.Note(record.QuarantineEntered, record.Reason(word)))
	}
}

func (c *Ceremony) leave() {
	none := ""
	was := *c.quarantine.Swap(&none)
	if was == "" {
		return
	}
	c.Log.Warn("the quarantine is over", slog.String("reason", was))
	c.note(Event{Kind: KindReleased})
	if s := c.store.Load(); s != nil {
		c.wrote(s.Note(record.QuarantineLeft, record.Reason(was)))
	}
}

// Status is what is known without a read of anything outside.
func (c *Ceremony) Status() Status {
	st := Status{Quarantine: c.Quarantine(), Lab: c.Store.Lab, TestBuild: c.TestBuild}
	switch {
	case !c.Enabled:
		st.Why = "write_disabled"
	case c.store.Load() == nil || !c.complete.Load():
		st.Why = "unprovisioned"
	case st.Quarantine != "":
		st.Why = "quarantine"
	}
	st.Constructible = st.Why == ""
	return st
}

// quarantined refuses what must not be begun now.
func (c *Ceremony) quarantined() error {
	if st := c.Status(); !st.Constructible {
		return errs.New(errs.Unavailable, "no change can be begun now").WithClass(st.Why).WithNext("see why: mcpctl discover, mcpctl doctor write")
	}
	return nil
}
