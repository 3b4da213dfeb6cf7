package gate

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/pfrest"
)

// undone is a verified contract with both signatures of an undo.
type undone struct {
	*world
	c                           record.Contract
	confirmation, authorization *draft
	files                       [2][]byte // instead of the drafts
}

func undo(t *testing.T) *undone {
	t.Helper()
	w := newWorld(t)
	c := must[record.Contract](t)(w.Verified(name, text))
	w.appliance.SetDescr(name, text)
	w.Clock.Pass(time.Minute)
	return w.undo(t, c)
}

func (w *world) undo(t *testing.T, c record.Contract) *undone {
	t.Helper()
	confirmation, authorization := w.Undo(c)
	return &undone{world: w, c: c, confirmation: of(t, confirmation.Artifact, artifacttest.KeyC()), authorization: of(t, authorization.Artifact, artifacttest.KeyA())}
}

func (u *undone) submit(t *testing.T) (*Undo, *Denied) {
	t.Helper()
	files := u.files
	if files[0] == nil {
		files[0] = u.confirmation.sign(t)
	}
	if files[1] == nil {
		files[1] = u.authorization.sign(t)
	}
	u.calls = nil
	u.appliance.Forget()
	return Rollback(t.Context(), u.world, files[0], files[1])
}

func submitUndone(t *testing.T, u *undone) *Denied {
	t.Helper()
	_, d := u.submit(t)
	if d == nil {
		return nil
	}
	what := string(d.Reason)
	gate, _, _ := strings.Cut(what, "_")
	var allowed []string
	switch {
	case what == "b_form":
	case what == "b_quarantine":
		allowed = []string{"quarantine"}
	case gate == "b":
		allowed = []string{"quarantine", "authorities", "view"}
	case gate == "b6":
		allowed = []string{"quarantine", "authorities", "view", "plan", "counter"}
	case what == "b7_policy":
		allowed = []string{"quarantine", "authorities", "view", "plan", "counter", "policy"}
	case gate == "b7":
		allowed = []string{"quarantine", "authorities", "view", "plan", "counter", "policy", "survey", "names"}
	}
	asked(t, u.world, what, allowed...)
	return d
}

func rollbackFaults() []fault[*undone] {
	return []fault[*undone]{
		{"a member too many", "b_form", func(_ *testing.T, u *undone) { u.authorization.set("comment", "x") }},
		{"quarantine", "b_quarantine", func(_ *testing.T, u *undone) { u.quarantine = "anchor_mismatch" }},
		{"an authority of another role", "b_authority", func(_ *testing.T, u *undone) { u.confirmation.set("authority_id", artifacttest.ReconcileID) }},
		{"another key", "b_signature", func(_ *testing.T, u *undone) { u.confirmation.key = artifacttest.Seed(0x77) }},
		{"one nonce", "b_distinct", func(_ *testing.T, u *undone) { u.authorization.set("nonce", u.confirmation.payload["nonce"]) }},
		{"no such contract", "b_contract", func(_ *testing.T, u *undone) { u.confirmation.set("contract_id", change.NewID(change.PrefixContract)) }},
		{"a clock that jumped", "b_clock", func(_ *testing.T, u *undone) { u.Clock.Set(2 * time.Minute) }},
		{"one that has expired", "b_time", func(_ *testing.T, u *undone) {
			u.authorization.at("expires_at", u.Clock.Read().Wall.Add(-2*time.Second))
			u.authorization.at("issued_at", u.Clock.Read().Wall.Add(-20*time.Second))
		}},
		{"another version", "b_version", func(_ *testing.T, u *undone) { u.authorization.set("observed_state_version", int64(9)) }},
		{"settled a day ago", "b_window", nil},
		{"a counter that cannot be read", "b6_unavailable", func(_ *testing.T, u *undone) {
			u.planErr = errs.New(errs.Unavailable, "the TPM does not answer").WithClass("anchor_unavailable")
		}},
		{"an unsafe plan", "b6_unsafe", func(_ *testing.T, u *undone) { u.spoil = func(p *change.Plan) { p.SafeToProceed = false } }},
		{"a counter apart from the plan", "b6_counter", func(_ *testing.T, u *undone) { u.counted = new(int64) }},
		{"write switched off", "b7_policy", func(_ *testing.T, u *undone) { u.policy.Enabled = false }},
		{"an appliance that does not answer", "b7_read", func(_ *testing.T, u *undone) {
			u.appliance.Change(func(s *aliastest.State) {
				s.Fail = map[pfrest.Endpoint]error{pfrest.SchemaEndpoint: errs.New(errs.Unavailable, "no answer").WithClass("connection")}
			})
		}},
		{"another package version", "b7_version", func(_ *testing.T, u *undone) { u.appliance.Change(func(s *aliastest.State) { s.Version = "v2.9.9" }) }},
		{"another appliance", "b7_identity", func(_ *testing.T, u *undone) {
			u.appliance.Change(func(s *aliastest.State) { s.NetgateID = "ffffffffffffffffffff" })
		}},
		{"another representation of interfaces", "b7_settings", func(_ *testing.T, u *undone) { u.names = "descr" }},
		{"somebody's pending change", "b7_busy", func(_ *testing.T, u *undone) {
			u.appliance.Change(func(s *aliastest.State) { s.Pending = []string{"aliases"} })
		}},
		{"no such alias", "b7_target", func(_ *testing.T, u *undone) { u.drop(name) }},
		{"a later edit", "b7_intent", func(_ *testing.T, u *undone) { u.appliance.SetDescr(name, "Somebody's text") }},
		{"another position", "b7_locator", func(_ *testing.T, u *undone) { u.drop("a3") }},
	}
}

// composable leaves out the faults that stand for the order alone.
func composable[K any](all []fault[K]) (some []fault[K]) {
	for _, f := range all {
		if f.do != nil {
			some = append(some, f)
		}
	}
	return some
}

func TestR5EveryFaultOfARollbackIsDeniedAndTheContractStaysVerified(t *testing.T) {
	single(t, composable(rollbackFaults()), undo, func(t *testing.T, u *undone) *Denied {
		d := submitUndone(t, u)
		c := read(t, u.world, func(v *store.View) (*record.Contract, error) {
			c, _, err := v.Contract(u.c.ContractID)
			return c, err
		})
		if c.At() != u.c.At() || u.Witness != 42 {
			t.Errorf("the contract is %+v at counter %d", c.At(), u.Witness)
		}
		return d
	})
	pairs(t, composable(rollbackFaults()), undo, submitUndone)
}

func TestReview02ARollbackNeedsBothOwners(t *testing.T) {
	// One owner's file in both places, under either role.
	u := undo(t)
	one := u.confirmation.sign(t)
	u.files = [2][]byte{one, one}
	check(t, "the confirmation owner twice", "b_authority", submitUndone(t, u))
	u = undo(t)
	one = u.authorization.sign(t)
	u.files = [2][]byte{one, one}
	check(t, "the authorization owner twice", "b_authority", submitUndone(t, u))
	u = undo(t)
	u.files = [2][]byte{u.authorization.sign(t), u.confirmation.sign(t)}
	check(t, "exchanged", "b_authority", submitUndone(t, u))
	u = undo(t)
	u.authorization.role = canon.RoleRollback
	check(t, "the other role's frame", "b_signature", submitUndone(t, u))
	for _, files := range [][2][]byte{{{}, nil}, {nil, {}}} {
		u = undo(t)
		u.files = files
		check(t, "one alone", "b_form", submitUndone(t, u))
	}
	// Two names of one owner, in a set that no loader makes.
	u = undo(t)
	set := *u.owners
	set.Authorization = []authority.Key{{ID: "owner-x", Public: artifacttest.Public(artifacttest.KeyC())}}
	u.owners = &set
	u.authorization.set("authority_id", "owner-x")
	u.authorization.key = artifacttest.KeyC()
	check(t, "one key under two names", "b_distinct", submitUndone(t, u))
}

func TestReview02AnUndoBindsEveryMemberOfBothSignatures(t *testing.T) {
	nine := strings.Repeat("9", 64)
	for key, row := range map[string]struct {
		value        any
		first, other record.Reason // changed in the confirmation owner's, in the other's
	}{
		"contract_id":                 {change.NewID(change.PrefixContract), "b_contract", "b_version"},
		"operation_id":                {change.NewID(change.PrefixOperation), "b_version", "b_version"},
		"observed_state_version":      {int64(2), "b_version", "b_version"},
		"verified_target_fingerprint": {nine, "b_version", "b_version"},
		"snapshot_digest":             {nine, "b_version", "b_version"},
		"issued_at":                   {"2026-03-14T08:59:29Z", "b_time", "b_time"}, // before there was anything to undo
		"expires_at":                  {"2026-03-14T09:16:01Z", "b_form", "b_form"},
		"schema_version":              {int64(2), "b_form", "b_form"},
	} {
		for i, want := range []record.Reason{row.first, row.other} {
			u := undo(t)
			[]*draft{u.confirmation, u.authorization}[i].set(key, row.value)
			check(t, key, want, submitUndone(t, u))
		}
	}
	base := undo(t)
	for i, d := range []*draft{base.confirmation, base.authorization} {
		whole := must[any](t)(canon.Decode(d.sign(t)))
		leaves(whole, "", func(path string, v any, set func(any)) {
			set(other(v))
			file := must[[]byte](t)(canon.Encode(whole))
			set(v)
			want := record.Reason("b_signature")
			if _, err := artifact.ParseRollback(file, d.role); err != nil {
				want = "b_form"
			} else if path == "/authority_id" {
				want = "b_authority"
			}
			base.files = [2][]byte{}
			base.files[i] = file
			check(t, "unsigned "+path, want, submitUndone(t, base))
		})
	}
}

func TestReview02OnlyWithinADayAndNeverAfterALaterContract(t *testing.T) {
	u := undo(t)
	u.Clock.Pass(24*time.Hour - time.Minute - time.Second)
	if d := submitUndone(t, u.world.undo(t, u.c)); d != nil {
		t.Errorf("a second before the day is over: %v", d)
	}
	u.Clock.Pass(time.Second)
	check(t, "a day later", "b_window", submitUndone(t, u.world.undo(t, u.c)))

	u = undo(t)
	u.Clock.Pass(2 * time.Minute)
	must[record.Contract](t)(u.Verified(name, "Third text"))
	check(t, "a later contract", "b_later", submitUndone(t, u.world.undo(t, u.c)))

	// One that only holds the target.
	u = undo(t)
	u.Clock.Pass(2 * time.Minute)
	must[record.Contract](t)(u.Authorize(name, "Third text"))
	check(t, "a prepared contract", "b_reserved", submitUndone(t, u.world.undo(t, u.c)))

	u = undo(t)
	confirmation, authorization := u.Undo(u.c)
	c := must[record.Contract](t)(u.S.BeginRollback(u.c.At(), confirmation, authorization, u.Witness, "operator:0"))
	check(t, "twice", "b_state", submitUndone(t, u.world.undo(t, c)))
}

func TestR7AnUndoDoesNotNeedAnUnexpiredContractNorWhatAFormerProcessKnew(t *testing.T) {
	u := undo(t)
	u.Clock.Pass(time.Hour) // the contract's life is a quarter of one
	u.names = ""
	u = u.world.undo(t, u.c)
	ok, d := u.submit(t)
	if d != nil {
		t.Fatal(d)
	}
	asked(t, u.world, "a valid rollback", "quarantine", "authorities", "view", "plan", "counter", "policy", "survey", "names")
	if ok.Intent.Target.Descr != "Old text" || ok.Contract.ContractID != u.c.ContractID {
		t.Errorf("%+v", ok.Contract)
	}
	must[record.Contract](t)(u.S.BeginRollback(ok.Contract.At(), ok.Confirmation, ok.Authorization, u.Witness, "operator:0"))
}

func TestReview11APendingChangeOfOursDoesNotStopItsUndo(t *testing.T) {
	w := newWorld(t)
	c := must[record.Contract](t)(w.Sent(name, text))
	w.appliance.SetDescr(name, text)
	l, err := w.reader.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := w.Answered()
	x.All = must[string](t)(l.All())
	post := storetestPost(t)
	c = must[record.Contract](t)(w.S.MarkExecutionVerified(c.At(), post, post, x))
	w.appliance.Change(func(s *aliastest.State) { s.Pending = []string{"aliases"} })
	w.Clock.Pass(time.Minute)
	if d := submitUndone(t, w.undo(t, c)); d != nil {
		t.Errorf("ours: %v", d)
	}
	w.appliance.SetDescr("a0", "somebody's")
	check(t, "not ours alone", "b7_busy", submitUndone(t, w.undo(t, c)))
}

func TestReview15ARollbackFromBeforeARebaselineIsVoid(t *testing.T) {
	u := undo(t)
	a, file := u.Rebaseline(artifact.ReasonRestored)
	if err := u.S.Rebaseline(file, a, u.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	check(t, "signed before", "b_floor", submitUndone(t, u))
	u.Clock.Pass(time.Second)
	if d := submitUndone(t, u.world.undo(t, u.c)); d != nil {
		t.Errorf("signed after: %v", d)
	}
}

func TestARollbackStartsNothingWhileAnythingIsUnsettled(t *testing.T) {
	u := undo(t)
	u.reconciling(t, "a0", store.Exchange{})
	check(t, "a write that may land", "b6_landing", submitUndone(t, u))

	u = undo(t)
	for _, other := range []string{"a0", "a1", "a2"} {
		u.reconciling(t, other, store.Exchange{Answered: true, Took: time.Second})
	}
	check(t, "three unknown outcomes", "b6_lockout", submitUndone(t, u))
}

func TestReview02EachSignatureOfAnUndoHasSharpEnds(t *testing.T) {
	for what, row := range map[string]struct {
		issued, expires time.Duration // from now
		want            record.Reason
	}{
		"30 s ahead":                   {30 * time.Second, 5 * time.Minute, ""},
		"31 s ahead":                   {31 * time.Second, 5 * time.Minute, "b_time"},
		"30 s before it was verified":  {-90 * time.Second, 5 * time.Minute, ""},
		"31 s before it was verified":  {-91 * time.Second, 5 * time.Minute, "b_time"},
		"expires in a second":          {-time.Second, time.Second, ""},
		"expires now":                  {-time.Second, 0, "b_time"},
		"lives longer than 15 minutes": {-time.Second, 15 * time.Minute, "b_form"},
	} {
		for i := range 2 {
			u := undo(t)
			d := []*draft{u.confirmation, u.authorization}[i]
			d.at("issued_at", u.Clock.Read().Wall.Add(row.issued))
			d.at("expires_at", u.Clock.Read().Wall.Add(row.expires))
			if denied := submitUndone(t, u); row.want != "" {
				check(t, what, row.want, denied)
			} else if denied != nil {
				t.Errorf("%s: %v", what, denied)
			}
		}
	}
}

func TestReview15ANonceOfAnUndoIsUsedOnce(t *testing.T) {
	w := newWorld(t)
	other := must[record.Contract](t)(w.Verified("a0", "x"))
	c := must[record.Contract](t)(w.Verified(name, text))
	w.appliance.SetDescr(name, text)
	confirmation, authorization := w.Undo(other)
	rolling := must[record.Contract](t)(w.S.BeginRollback(other.At(), confirmation, authorization, w.Witness, "operator:0"))
	must[record.Contract](t)(w.S.AnchorRefused(rolling.At(), w.Witness))
	u := w.undo(t, c)
	if d := submitUndone(t, u); d != nil {
		t.Fatalf("fresh nonces: %v", d)
	}
	u.confirmation.set("nonce", confirmation.Artifact.Nonce)
	check(t, "the confirmation owner's", "b_consumed", submitUndone(t, u))
	u = w.undo(t, c)
	u.authorization.set("nonce", authorization.Artifact.Nonce)
	check(t, "the authorization owner's", "b_consumed", submitUndone(t, u))
}

func TestAChangeToNoTextAtAllCanBeUndone(t *testing.T) {
	w := newWorld(t)
	c := must[record.Contract](t)(w.Verified(name, ""))
	w.appliance.SetDescr(name, "")
	w.Clock.Pass(time.Minute)
	if d := submitUndone(t, w.undo(t, c)); d != nil {
		t.Error(d)
	}
}
