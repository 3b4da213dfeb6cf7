// Package storetest owns what tests of the store and of the ceremony need: a clock
// that is moved by hand, a store in a directory of the test, faults at every step of
// a write, and a ceremony played to any point. Tests alone
// import it. It must never be linked into a program: it sets the store's seams.
package storetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Clock is moved by hand.
type Clock struct {
	mu   sync.Mutex
	wall time.Time
	boot string
	ms   int64
}

// NewClock starts on the day of the golden vectors.
func NewClock() *Clock { return ClockAt(artifacttest.At("09:00:00")) }

// ClockAt starts at a time.
func ClockAt(t time.Time) *Clock {
	return &Clock{wall: t.UTC().Truncate(time.Second), boot: canon.Hash([]byte("boot"))[:32], ms: 3_600_000}
}

// Read returns both clocks.
func (c *Clock) Read() store.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.Reading{Wall: c.wall, BootID: c.boot, BootMS: c.ms}
}

// Pass lets time pass on both clocks.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.ms = c.wall.Add(d), c.ms+d.Milliseconds()
}

// Set moves the wall clock alone.
func (c *Clock) Set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

// Reboot restarts the machine.
func (c *Clock) Reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot, c.ms = canon.Hash([]byte(c.boot))[:32], 1000
}

// Root returns the root key of an epoch; the first is that of the golden vectors.
func Root(epoch int64) store.Key {
	k := make([]byte, 32)
	for i := range k {
		k[i] = byte(i) + byte(epoch-1)*32
	}
	return store.Key{ID: "k" + string(rune('0'+epoch)), Epoch: epoch, Material: k}
}

// Seed is the counter that stores are founded on.
func Seed() store.Seed {
	return store.Seed{NVIndex: "0x01500000", NVName: artifacttest.NVIndexName, Value: 41}
}

// Config returns settings for a store in a fresh directory.
func Config(t testing.TB, clock *Clock) store.Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return store.Config{Dir: dir, StoreID: artifacttest.StoreID, Key: Root(1), Clock: clock, Limits: store.DefaultLimits()}
}

// Faults returns a seam that calls at each step of a write; an error ends it there.
func Faults(at func(point string) error) *store.Seam {
	return &store.Seam{At: func(p seam.Point) error { return at(string(p)) }}
}

// Unsynced returns a seam under which nothing is synced, to build large stores.
func Unsynced() *store.Seam { return &store.Seam{NoSync: true} }

// Create makes a provisioned store.
func Create(t testing.TB, c store.Config) *store.Store {
	t.Helper()
	s, err := store.Create(c, Seed())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CompleteProvisioning(record.Provisioning{
		Handle: Seed().NVIndex, VerifiedValue: Seed().Value, NVName: Seed().NVName, Manufacturer: "IFX", Assurance: record.AssuranceHardware, Lab: c.Lab,
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Play plays ceremonies on a store. Witness is the counter, which it moves.
type Play struct {
	T       testing.TB
	S       *store.Store
	Clock   *Clock
	Witness int64
}

// By is the operator of the plays.
const By = record.Actor("operator:0")

// Intent returns a change of an alias.
func Intent(alias, text string) change.Intent {
	in := artifacttest.Intent()
	in.Target.Name, in.NewDescription = alias, text
	return in
}

// Plan returns the plan of a counter.
func Plan(counter int64) change.Plan {
	p := artifacttest.Plan()
	p.Evidence.Baseline, p.Evidence.Witness = &counter, &counter
	return p
}

// Request is T1 and a preview.
func (p *Play) Request(alias, text string) (record.Request, error) {
	r, err := p.S.OpenRequest(store.NewRequest{AliasName: alias, Description: text, By: By})
	if err != nil {
		return r, err
	}
	return p.Preview(r, alias, text)
}

// Preview stores a preview of a request.
func (p *Play) Preview(r record.Request, alias, text string) (record.Request, error) {
	pre := &artifact.Preview{
		RequestID: r.RequestID, Origin: artifact.OriginOperator, Intent: Intent(alias, text), Plan: Plan(p.Witness), GeneratedAt: p.Clock.Read().Wall, KeyID: artifacttest.ExecutorID,
	}
	return p.S.IssuePreview(pre, artifacttest.File(p.T, pre, artifacttest.KeyX()), 7, r.PreviewSeq, By)
}

// Authorization signs an authorization for a request.
func (p *Play) Authorization(r record.Request, alias, text string) store.Authorization {
	a := artifacttest.Authorization(p.T, Intent(alias, text), Plan(p.Witness))
	a.ID, a.RequestID = change.NewID(change.PrefixAuthorization), r.RequestID
	a.IssuedAt = p.Clock.Read().Wall
	a.ExpiresAt = a.IssuedAt.Add(15 * time.Minute)
	file := artifacttest.File(p.T, a, artifacttest.KeyA())
	return store.Authorization{File: file, Artifact: a, PreviewSeq: r.PreviewSeq, Collection: canon.Hash([]byte("others")), By: By}
}

// Authorize is T1 to T2.
func (p *Play) Authorize(alias, text string) (record.Contract, error) {
	r, err := p.Request(alias, text)
	if err != nil {
		return record.Contract{}, err
	}
	return p.S.Authorize(p.Authorization(r, alias, text))
}

// Confirmation signs a confirmation of a contract.
func (p *Play) Confirmation(c record.Contract) (*artifact.Confirmation, []byte) {
	a := artifacttest.Confirmation(p.T)
	a.Nonce, a.ContractID, a.OperationID, a.Digests = change.NewID(""), c.ContractID, c.OperationID, c.Digests()
	a.IssuedAt, a.ExpiresAt = p.Clock.Read().Wall, c.ExpiresAt
	return a, artifacttest.File(p.T, a, artifacttest.KeyC())
}

// Confirm is T3.
func (p *Play) Confirm(c record.Contract) (record.Contract, error) {
	a, file := p.Confirmation(c)
	return p.S.Confirm(c.At(), file, a, By)
}

// Advance moves the counter and commits T5.
func (p *Play) Advance(c record.Contract) error {
	p.Witness++
	return p.S.AnchorAdvanced(c.At(), p.Witness)
}

// Sent plays T1 to T6.
func (p *Play) Sent(alias, text string) (c record.Contract, err error) {
	if c, err = p.Authorize(alias, text); err == nil {
		c, err = p.Confirm(c)
	}
	if err == nil {
		c, err = p.S.BeginExecution(c.At(), p.Witness)
	}
	if err == nil {
		err = p.Advance(c)
	}
	if err == nil {
		c, err = p.S.SendIntent(c.At(), c.Collection)
	}
	return c, err
}

// Post returns what two good reads show after a change, Pre what stood before it.
func Post(t testing.TB, alias, text string) store.Seen {
	in := Intent(alias, text)
	f, err := in.ExpectedPost()
	if err != nil {
		t.Fatal(err)
	}
	return store.Seen{Fingerprint: f, Locator: 7}
}

// Pre returns what stood before.
func Pre(t testing.TB, alias, text string) store.Seen {
	in := Intent(alias, text)
	f, err := in.Target.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return store.Seen{Fingerprint: f, Locator: 7}
}

// Answered is an exchange with a complete answer and two reads.
func (p *Play) Answered() store.Exchange {
	now := p.Clock.Read().Wall
	return store.Exchange{Answered: true, Took: 120 * time.Millisecond, FirstReadAt: now, SecondReadAt: now.Add(6 * time.Second), All: canon.Hash([]byte("all"))}
}

// Verified plays a whole change.
func (p *Play) Verified(alias, text string) (record.Contract, error) {
	c, err := p.Sent(alias, text)
	if err != nil {
		return c, err
	}
	post := Post(p.T, alias, text)
	return p.S.MarkExecutionVerified(c.At(), post, post, p.Answered())
}

// Observe stores an observation of a contract and returns its digest.
func (p *Play) Observe(c record.Contract, match string) (string, error) {
	o := artifacttest.Observation(p.T)
	now := p.Clock.Read()
	o.ContractID, o.OperationID, o.StateVersion, o.UncertaintyOrigin = c.ContractID, c.OperationID, c.Version, string(c.Origin)
	o.SendBoundary, o.Match, o.ObservedAt = string(c.Boundary), match, now.Wall
	if c.State == record.RollbackFailed {
		o.UncertaintyOrigin = ""
	}
	artifacttest.File(p.T, o, artifacttest.KeyX())
	d, err := o.Digest()
	if err != nil {
		return "", err
	}
	return d, p.S.Observed(o, now, By)
}

// Evidence signs evidence over an observation.
func (p *Play) Evidence(c record.Contract, outcome, observation string) (*artifact.Reconciliation, []byte) {
	a := artifacttest.Reconciliation(p.T, observation)
	a.ContractID, a.OperationID, a.StateVersion, a.Outcome, a.IssuedAt = c.ContractID, c.OperationID, c.Version, outcome, p.Clock.Read().Wall
	if outcome != artifact.OutcomeApplied {
		a.VerifiedFingerprint = ""
	}
	if outcome == artifact.OutcomeNotApplied || outcome == artifact.OutcomeRollbackNotApplied {
		a.VerifiedLocator = nil
	}
	return a, artifacttest.File(p.T, a, artifacttest.KeyR())
}

// Undo signs both halves of a rollback.
func (p *Play) Undo(c record.Contract) (confirmation, authorization store.SignedRollback) {
	one := func(by canon.Role, id string, key byte) store.SignedRollback {
		a := artifacttest.Rollback(p.T, by, id, change.NewID(""))
		a.Undo = artifact.Undo{ContractID: c.ContractID, OperationID: c.OperationID, StateVersion: c.Version, VerifiedFingerprint: c.VerifiedFingerprint, Snapshot: c.Snapshot}
		a.IssuedAt = p.Clock.Read().Wall
		a.ExpiresAt = a.IssuedAt.Add(10 * time.Minute)
		return store.SignedRollback{File: artifacttest.File(p.T, a, artifacttest.Seed(key)), Artifact: a}
	}
	return one(canon.RoleRollback, artifacttest.ConfirmationID, 0xc2), one(canon.RoleRollbackAuthorization, artifacttest.AuthorizationID, 0xa1)
}

// Rebaseline signs a rebaseline of the store as it is to the counter as it is.
func (p *Play) Rebaseline(reason string) (*artifact.Rebaseline, []byte) {
	a := artifacttest.Rebaseline()
	if err := p.S.View(func(v *store.View) error {
		h, err := v.Anchor()
		if err == nil {
			a.StoreValue, a.AuditHead = h.Value, h.AuditHead
		}
		return err
	}); err != nil {
		p.T.Fatal(err)
	}
	a.Nonce, a.WitnessValue, a.Reason = change.NewID(""), p.Witness, reason
	a.IssuedAt = p.Clock.Read().Wall
	a.ExpiresAt = a.IssuedAt.Add(10 * time.Minute)
	return a, artifacttest.File(p.T, a, artifacttest.KeyR())
}
