package keeper

import (
	"context"
	"log/slog"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/pause"
)

// The words of a quarantine. Those of the first group clear when their cause does;
// a value clears by a signed rebaseline, the rest only by a new store.
const (
	Unreachable     = "anchor_unreachable"
	quarantineClock = "clock_regressed"
	quarantineJump  = "clock_jump"

	quarantineValue = "anchor_mismatch"
	Restored        = "restored_backup"

	quarantineName  = "anchor_name"
	quarantineStore = "store_integrity"
)

// Disabled is why nothing is begun when write.enabled is off. It is no quarantine.
const Disabled = "write_disabled"

// lasting says that a quarantine does not end because its cause is not seen any more:
// a value that differed is a history that is lost, whatever the counter shows later.
func lasting(word string) bool { return word == quarantineValue || word == quarantineName }

// adopt takes a store into use: it must have been founded as this process is
// configured, and agree with the counter.
func (k *Keeper) adopt(ctx context.Context, s *store.Store) error {
	if s.Integrity() != nil {
		k.store.Store(s)
		k.Enter(quarantineStore)
		return nil
	}
	row, p, err := founded(s)
	if err != nil {
		return err
	}
	index, err := parseHandle(row.NVIndex)
	if err != nil {
		return err
	}
	if k.Index != 0 && k.Index != index {
		return errs.New(errs.Invalid, "anchor.nv_index is not the index that the store was founded on").WithClass("configuration").
			WithNext("remove anchor.nv_index: the store knows it")
	}
	k.store.Store(s)
	if err := k.Counter.Use(index, row.NVName); err != nil {
		k.complete.Store(p != nil)
		k.Enter(quarantineName)
		return nil
	}
	if p == nil {
		return nil // seeded, not complete: provisioning goes on
	}
	if err := k.founded(ctx, p); err != nil {
		return err
	}
	k.complete.Store(true)
	return k.recover(ctx, s)
}

// founded refuses a store that was founded under another assurance: a laboratory's
// store in production, or a hardware counter's over an emulated one.
func (k *Keeper) founded(ctx context.Context, p *record.Provisioning) error {
	if p.Lab != k.Store.Lab {
		return errs.New(errs.Invalid, "lab is not what it was when the store was founded").WithClass("configuration").
			WithNext("set lab as it was; a laboratory's store never becomes one of production")
	}
	f, err := k.Counter.Facts(ctx)
	if err != nil {
		return nil // unreachable: a quarantine that recover finds
	}
	if f.Assurance != p.Assurance {
		return errs.New(errs.Invalid, "the TPM is of another assurance than when the store was founded").WithClass("configuration").
			WithNext("give executord the TPM that its store was founded on, or found a new store")
	}
	if f.Assurance != change.AssuranceHardware && !k.Store.Lab {
		return errs.New(errs.Invalid, "the TPM is an emulated one, which its host can set back").WithClass("configuration").
			WithNext("use a hardware TPM or a witness host; lab = true is for laboratories")
	}
	return nil
}

// recover settles, by the crash table, what a former process or a lost increment left.
// What the counter cannot explain changes nothing and is a quarantine.
func (k *Keeper) recover(ctx context.Context, s *store.Store) error {
	if word := k.wrong(s); word != "" {
		k.Enter(word)
		return nil
	}
	witness, err := k.Counter.Read(ctx)
	if err == nil {
		witness, err = k.unmoved(ctx, s, witness)
	}
	if err != nil {
		k.Enter(counterWord(err))
		return nil
	}
	switch same, err := k.same(ctx, s); {
	case err != nil:
		k.Enter(counterWord(err))
		return nil
	case !same:
		k.Enter(quarantineName)
		return nil
	}
	done, err := s.Restart(witness)
	switch {
	case err == nil:
	case errs.Public(err).Class == quarantineValue:
		k.Enter(quarantineValue)
		return nil
	default:
		k.Wrote(err)
		return err
	}
	for _, id := range done.Expired {
		k.Note(Event{Kind: KindExpired, ContractID: id, State: record.Expired})
	}
	for _, id := range done.Failed {
		k.Note(Event{Kind: KindSettled, ContractID: id, State: record.Failed})
	}
	for _, id := range done.Uncertain {
		k.Note(Event{Kind: KindSettled, ContractID: id, State: record.Reconciliation})
	}
	k.settled.Store(true)
	why := record.Reason("")
	if s.Report().Fallback {
		why = record.ReasonMetaFallback
	}
	if err := s.Note(record.Startup, why); err != nil {
		k.Wrote(err)
		return err
	}
	k.leave()
	return nil
}

// same says whether the counter is in the TPM that the store was founded on. Its Name is
// that of any index of its kind: in another TPM one like it can be counted up to the
// value of an older store. A start at which the TPM was away has not seen it.
func (k *Keeper) same(ctx context.Context, s *store.Store) (bool, error) {
	_, p, err := founded(s)
	if err != nil || p == nil {
		return false, err
	}
	f, err := k.Counter.Facts(ctx)
	return err == nil && f.Assurance == p.Assurance && (f.EKDigest == "" || p.EKDigest == "" || f.EKDigest == p.EKDigest), err
}

// unmoved reads the counter again when a noted increment seems not to have happened:
// one that timed out can still be carried out after the first read.
func (k *Keeper) unmoved(ctx context.Context, s *store.Store, witness int64) (int64, error) {
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
	if err := pause.For(ctx, k.Windows.Patience); err != nil {
		return 0, anchor.Unreachable(err, "whether the counter was incremented is not known")
	}
	return k.Counter.Read(ctx)
}

// wrong says what is wrong without asking the counter, "" when nothing is.
func (k *Keeper) wrong(s *store.Store) string {
	if s.Integrity() != nil {
		return quarantineStore
	}
	word := ""
	err := s.View(func(v *store.View) error {
		if v.Restored() {
			word = Restored
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
	return Unreachable
}

// Check is the writer's look before anything new: what is wrong now, or nothing. A
// cause that has gone ends its quarantine; a value that differs ends by signature
// (Rebased), and nothing less serious takes its place.
func (k *Keeper) Check(ctx context.Context, s *store.Store) {
	if !k.complete.Load() {
		return
	}
	if lasting(k.Quarantine()) {
		if s.Integrity() != nil {
			k.Enter(quarantineStore)
		}
		return
	}
	word := k.wrong(s)
	if word == "" {
		word = k.compare(ctx, s)
	}
	switch {
	case word == "":
		k.leave()
	case word != k.Quarantine():
		k.Enter(word)
	}
}

// Rebased ends the quarantine of a value that differed, after a rebaseline was stored,
// and looks anew.
func (k *Keeper) Rebased(ctx context.Context, s *store.Store) {
	if k.Quarantine() == quarantineValue {
		k.leave()
	}
	k.Check(ctx, s)
}

// Doubtful says that the store may be one that has forgotten something: what is
// prepared in it may have been sent, and only a rebaseline, or the counter's consent,
// says what becomes of it.
func (k *Keeper) Doubtful() bool {
	word := k.Quarantine()
	return !k.settled.Load() || lasting(word) || word == Restored
}

// compare holds the counter against the store. What a former process left is settled
// here when the start could not do it, and so is an increment whose outcome was not
// known, once the counter answers.
func (k *Keeper) compare(ctx context.Context, s *store.Store) string {
	var row *record.Anchor
	if err := s.View(func(v *store.View) (err error) {
		row, err = v.Anchor()
		return err
	}); err != nil {
		return quarantineStore
	}
	witness, err := k.Counter.Read(ctx)
	switch {
	case err != nil:
		return counterWord(err)
	case row.Pending != nil || !k.settled.Load():
		if err := k.recover(ctx, s); err != nil {
			return quarantineStore
		}
		return k.Quarantine()
	case witness != row.Value:
		return quarantineValue
	}
	return ""
}

// Quarantine returns the word for why nothing is begun, "" when nothing is wrong.
func (k *Keeper) Quarantine() string { return *k.quarantine.Load() }

func (k *Keeper) Enter(word string) {
	if *k.quarantine.Swap(&word) == word {
		return
	}
	k.Log.Error("quarantine: no change is begun", slog.String(logging.KeyClass, word))
	k.Note(Event{Kind: KindQuarantined})
	if s := k.store.Load(); s != nil && s.Integrity() == nil && word != Restored {
		k.Wrote(s.Note(record.QuarantineEntered, record.Reason(word)))
	}
}

func (k *Keeper) leave() {
	none := ""
	was := *k.quarantine.Swap(&none)
	if was == "" {
		return
	}
	k.Log.Warn("the quarantine is over", slog.String(logging.KeyClass, was))
	k.Note(Event{Kind: KindReleased})
	if s := k.store.Load(); s != nil {
		k.Wrote(s.Note(record.QuarantineLeft, record.Reason(was)))
	}
}

// Status is what is known without a read of anything outside.
func (k *Keeper) Status() Status {
	st := Status{Quarantine: k.Quarantine(), Lab: k.Store.Lab, TestBuild: k.TestBuild}
	switch {
	case !k.Enabled:
		st.Why = Disabled
	case st.Quarantine != "": // before the next: a broken store shows no record of its founding
		st.Why = "quarantine"
	case k.store.Load() == nil || !k.complete.Load():
		st.Why = "unprovisioned"
	}
	st.Constructible = st.Why == ""
	return st
}

// Quarantined refuses what must not be begun now.
func (k *Keeper) Quarantined() error {
	if st := k.Status(); !st.Constructible {
		return errs.New(errs.Unavailable, "no change can be begun now").WithClass(st.Why).WithNext("see why: mcpctl discover, mcpctl doctor write")
	}
	return nil
}

// Ready returns the store when something may be begun now. The writer alone calls it.
func (k *Keeper) Ready(ctx context.Context) (*store.Store, error) {
	s, err := k.Current()
	if err != nil {
		return nil, err
	}
	k.Check(ctx, s)
	return s, k.Quarantined()
}

// Loaded returns the store, nil before the counter is seeded.
func (k *Keeper) Loaded() *store.Store { return k.store.Load() }

// Complete says whether provisioning is complete.
func (k *Keeper) Complete() bool { return k.complete.Load() }

// Owners is the authority_set_digest.
func (k *Keeper) Owners() string { return k.owners }
