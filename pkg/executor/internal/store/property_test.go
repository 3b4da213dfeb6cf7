package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// machine runs random steps on a store that is killed at random steps of its writes,
// and holds the invariants after each.
type machine struct {
	*fix
	rt      *rapid.T
	only    *record.Contract     // what pick must choose, when it must
	met     map[record.State]int // states seen over all lives
	left    int                  // writes' steps until the next kill; below zero: none
	reqs    []record.Request
	cons    map[string]bool
	auths   []store.Authorization
	sent    map[string]int // sends that were allowed, by authorization
	version map[string]int64
}

func (m *machine) kill(string) error {
	if m.left--; m.left == 0 {
		return errStop
	}
	return nil
}

func (m *machine) alias() string {
	return rapid.SampledFrom([]string{"one", "two", "three"}).Draw(m.rt, "alias")
}

// pick chooses a contract, "" when there is none.
func (m *machine) pick() (c record.Contract, ok bool) {
	if m.only != nil {
		return *m.only, true
	}
	var ids []string
	for id := range m.cons {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return c, false
	}
	c, _ = m.contract(rapid.SampledFrom(slices.Sorted(slices.Values(ids))).Draw(m.rt, "contract"))
	return c, true
}

// died is what happens when a write was stopped: the process is gone, the next one
// settles by the crash table.
func (m *machine) died() {
	m.left = -1
	m.reopen()
	if _, err := m.S.Restart(m.Witness); err != nil {
		m.rt.Fatalf("restart: %v", err)
	}
	m.view(func(v *store.View) error {
		all, err := v.Contracts()
		for _, c := range all {
			m.cons[c.ContractID] = true
			if c.State.InFlight() || c.State == record.Prepared {
				m.rt.Errorf("%s survived a restart", c.State)
			}
		}
		return err
	})
}

func (m *machine) step(err error) {
	if errors.Is(err, errStop) {
		m.died()
		return
	}
	if err != nil && errs.Public(err).Class == "" {
		m.rt.Fatalf("an error without a class: %v", err)
	}
}

func (m *machine) Request(rt *rapid.T) {
	alias := m.alias()
	r, err := m.Play.Request(alias, "new")
	if err == nil {
		m.reqs = append(m.reqs, r)
		m.auths = append(m.auths, m.Authorization(r, alias, "new"))
	}
	m.step(err)
}

func (m *machine) Authorize(rt *rapid.T) {
	if len(m.auths) == 0 {
		return
	}
	a := rapid.SampledFrom(m.auths).Draw(rt, "authorization")
	c, err := m.S.Authorize(a)
	if err == nil {
		if m.cons[c.ContractID] {
			rt.Fatal("a contract was made twice")
		}
		m.cons[c.ContractID] = true
	}
	m.step(err)
}

func (m *machine) Confirm(rt *rapid.T) {
	if c, ok := m.pick(); ok && m.Clock.Read().Wall.Before(c.ExpiresAt) {
		_, err := m.Play.Confirm(c)
		m.step(err)
	}
}

func (m *machine) Begin(rt *rapid.T) {
	if c, ok := m.pick(); ok {
		_, err := m.S.BeginExecution(c.At(), m.Witness)
		m.step(err)
	}
}

func (m *machine) Advance(rt *rapid.T) {
	c, ok := m.pick()
	if !ok || !c.State.InFlight() {
		return
	}
	pending := false
	m.view(func(v *store.View) error {
		a, err := v.Anchor()
		pending = err == nil && a.Pending != nil && a.Pending.ContractID == c.ContractID
		return err
	})
	if !pending {
		return
	}
	if rapid.Bool().Draw(rt, "refused") {
		_, err := m.S.AnchorRefused(c.At(), m.Witness)
		m.step(err)
		return
	}
	m.Witness++ // the counter cannot go back, whatever becomes of the write
	m.step(m.S.AnchorAdvanced(c.At(), m.Witness))
}

func (m *machine) Send(rt *rapid.T) {
	c, ok := m.pick()
	if !ok {
		return
	}
	back := c.State == record.RollingBack
	c, err := m.S.SendIntent(c.At(), c.Collection)
	if err == nil && !back {
		if m.sent[c.Provenance.AuthorizationID]++; m.sent[c.Provenance.AuthorizationID] > 1 {
			rt.Fatal("two sends on one authorization")
		}
	}
	m.step(err)
}

func (m *machine) Settle(rt *rapid.T) {
	c, ok := m.pick()
	if !ok || !c.State.InFlight() {
		return
	}
	in, err := intent(m.fix, c)
	if err != nil {
		rt.Fatal(err)
	}
	x := m.Answered()
	var do error
	switch rapid.IntRange(0, 3).Draw(rt, "outcome") {
	case 0:
		_, do = m.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{})
	case 1:
		to := record.Failed
		if c.State == record.RollingBack {
			to = record.RollbackFailed
		}
		_, do = m.S.Settle(c.At(), to, "rejected", x)
	case 2:
		post := storetest.Post(m.t, in, "new")
		_, do = m.S.MarkExecutionVerified(c.At(), post, post, x)
	case 3:
		pre := storetest.Pre(m.t, in, "new")
		_, do = m.S.MarkRollbackVerified(c.At(), pre, pre, x)
	}
	m.step(do)
}

func intent(f *fix, c record.Contract) (alias string, err error) {
	err = f.S.View(func(v *store.View) error {
		in, err := v.Intent(&c)
		if err == nil {
			alias = in.Target.Name
		}
		return err
	})
	return alias, err
}

func (m *machine) Back(rt *rapid.T) {
	if c, ok := m.pick(); ok && c.State == record.Verified {
		a, b := m.Undo(c)
		_, err := m.S.BeginRollback(c.At(), a, b, m.Witness, storetest.By)
		m.step(err)
	}
}

func (m *machine) Reconcile(rt *rapid.T) {
	c, ok := m.pick()
	if !ok || c.State != record.Reconciliation && c.State != record.RollbackFailed {
		return
	}
	if err := m.observeAnd(c, rt); err != nil {
		m.step(err)
	}
}

func (m *machine) observeAnd(c record.Contract, rt *rapid.T) error {
	o, err := m.Observe(c, artifact.MatchPre)
	if err != nil {
		return err
	}
	outcome := rapid.SampledFrom([]string{
		artifact.OutcomeApplied, artifact.OutcomeNotApplied, artifact.OutcomeRollbackApplied, artifact.OutcomeRollbackNotApplied,
	}).Draw(rt, "outcome")
	a, file := m.Evidence(c, outcome, o)
	if outcome == artifact.OutcomeApplied {
		alias, err := intent(m.fix, c)
		if err != nil {
			return err
		}
		a.VerifiedFingerprint = storetest.Post(m.t, alias, "new").Fingerprint
	}
	if c.State == record.RollbackFailed {
		return m.S.Release(c.At(), file, a, storetest.By)
	}
	_, err = m.S.Reconcile(c.At(), file, a, rapid.Bool().Draw(rt, "attested"), storetest.By)
	return err
}

func (m *machine) Cancel(rt *rapid.T) {
	if c, ok := m.pick(); ok {
		_, err := m.S.FailPrepared(c.At(), record.ReasonOperatorCancel, storetest.By)
		m.step(err)
	}
}

func (m *machine) Sweep(rt *rapid.T) {
	_, err := m.S.Sweep()
	m.step(err)
}

func (m *machine) Rotate(rt *rapid.T) {
	next := storetest.Root(m.c.Key.Epoch + 1)
	if next.Epoch > 7 {
		return
	}
	_, err := m.S.Rotate(next, storetest.By)
	if err == nil {
		m.c.Key = next
	}
	if errors.Is(err, errStop) {
		// Stopped: the store is under one key or the other. Only a stop after the
		// commit leaves the next one.
		if e := m.S.Close(); e != nil {
			rt.Fatal(e)
		}
		s, oerr := store.Open(m.c)
		if oerr != nil {
			m.c.Key = next
			s, oerr = store.Open(m.c)
		}
		if oerr != nil {
			rt.Fatal(oerr)
		}
		m.S = s
	}
	m.step(err)
}

func (m *machine) Pass(rt *rapid.T) {
	m.Clock.Pass(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour, 25 * time.Hour}).Draw(rt, "time"))
}

func (m *machine) Restart(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "machine") {
		m.Clock.Reboot()
	}
	m.died()
}

func (m *machine) Rebase(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "seldom") > 0 {
		return
	}
	a, file := m.Rebaseline(artifact.ReasonRestored)
	m.step(m.S.Rebaseline(file, a, m.Witness, storetest.By))
}

// Forward takes the natural next step of the contract that is furthest on, so that
// lives do not end before they begin.
func (m *machine) Forward(rt *rapid.T) {
	var c record.Contract
	m.view(func(v *store.View) error {
		all, err := v.Active()
		for _, k := range all {
			if k.Version >= c.Version {
				c = *k
			}
		}
		return err
	})
	switch {
	case c.ContractID == "" && rapid.IntRange(0, 2).Draw(rt, "back") > 0 && m.lastVerified(&c):
		a, b := m.Undo(c)
		_, err := m.S.BeginRollback(c.At(), a, b, m.Witness, storetest.By)
		m.step(err)
	case c.ContractID == "":
		m.Request(rt)
		if len(m.auths) > 0 {
			c, err := m.S.Authorize(m.auths[len(m.auths)-1])
			if err == nil {
				m.cons[c.ContractID] = true
			}
			m.step(err)
		}
	case c.State == record.Prepared && !c.Confirmed() && m.Clock.Read().Wall.Before(c.ExpiresAt):
		_, err := m.Play.Confirm(c)
		m.step(err)
	case c.State == record.Prepared:
		_, err := m.S.BeginExecution(c.At(), m.Witness)
		m.step(err)
	case c.State.InFlight() && c.Boundary == record.BoundaryNone:
		pending := false
		m.view(func(v *store.View) error {
			a, err := v.Anchor()
			pending = err == nil && a.Pending != nil
			return err
		})
		if pending {
			m.Witness++
			m.step(m.S.AnchorAdvanced(c.At(), m.Witness))
			return
		}
		got, err := m.S.SendIntent(c.At(), c.Collection)
		if err == nil && got.State == record.Executing {
			m.sent[got.Provenance.AuthorizationID]++
		}
		m.step(err)
	case c.State.InFlight():
		m.only = &c
		m.Settle(rt)
		m.only = nil
	default:
		m.only = &c
		m.Reconcile(rt)
		m.only = nil
	}
}

// lastVerified finds a verified contract.
func (m *machine) lastVerified(c *record.Contract) (ok bool) {
	m.view(func(v *store.View) error {
		all, err := v.Contracts(record.Verified)
		if len(all) > 0 {
			*c, ok = *all[0], true
		}
		return err
	})
	return ok
}

// ForwardAgain and Onward make that step likelier.
func (m *machine) ForwardAgain(rt *rapid.T) { m.Forward(rt) }

// Onward is another name of Forward.
func (m *machine) Onward(rt *rapid.T) { m.Forward(rt); m.Forward(rt) }

// Arm lets one of the next writes be stopped.
func (m *machine) Arm(rt *rapid.T) { m.left = rapid.IntRange(1, 60).Draw(rt, "steps") }

// Check is every invariant that can be seen from outside.
func (m *machine) Check(rt *rapid.T) {
	if r, err := m.S.Verify(""); err != nil {
		rt.Fatalf("not sound: %v %+v", err, r.Finding)
	}
	m.view(func(v *store.View) error {
		all, err := v.Contracts()
		if err != nil {
			return err
		}
		flying, holders := 0, map[string]string{}
		for _, c := range all {
			m.met[c.State]++
			if c.State.InFlight() {
				flying++
			}
			if was, ok := m.version[c.ContractID]; ok && c.Version < was {
				rt.Errorf("%s went back from version %d to %d", c.ContractID, was, c.Version)
			}
			m.version[c.ContractID] = c.Version
			_, res, err := v.Contract(c.ContractID)
			if err != nil {
				return err
			}
			if c.State.Reserves() && !res.Released {
				if other := holders[c.TargetIdentity]; other != "" {
					rt.Errorf("%s and %s hold one target", other, c.ContractID)
				}
				holders[c.TargetIdentity] = c.ContractID
			}
			if !v.Consumed(c.Provenance.AuthorizationID) {
				rt.Errorf("a contract without a consumed authorization")
			}
		}
		if flying > 1 {
			rt.Errorf("%d attempts at once", flying)
		}
		if w, err := wrong(v, m.c.Limits.LandingWindow); w != "" || err != nil {
			rt.Errorf("the store and its sends disagree about %s, %v", w, err)
		}
		a, err := v.Anchor()
		if err == nil && a.Value > m.Witness {
			rt.Errorf("the store is ahead of the counter")
		}
		return err
	})
}

func TestS6EveryRandomLifeWithKillsKeepsEveryInvariant(t *testing.T) {
	met := map[record.State]int{}
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{met: met, fix: setup(t), rt: rt, left: -1, cons: map[string]bool{}, sent: map[string]int{}, version: map[string]int64{}}
		if err := m.S.Close(); err != nil {
			rt.Fatal(err)
		}
		m.c.Seam = storetest.Faults(m.kill)
		m.c.Seam.NoSync = true
		m.c.Limits.RequestsPerDay, m.c.Limits.SendsPerHour, m.c.Limits.SendsPerDay = 120, 20, 40
		s, err := store.Open(m.c)
		if err != nil {
			rt.Fatal(err)
		}
		m.S = s
		defer func() { _ = m.S.Close() }()
		rt.Repeat(rapid.StateMachineActions(m))
	})
	// The rarest are left out: they are not met in every run.
	for _, s := range []record.State{record.Prepared, record.Executing, record.Verified, record.Failed, record.Reconciliation, record.Expired} {
		if met[s] == 0 && !t.Failed() && !testing.Short() {
			t.Errorf("no life reached %s", s)
		}
	}
	t.Log(met)
}
