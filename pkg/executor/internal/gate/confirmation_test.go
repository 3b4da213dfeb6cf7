package gate

import (
	"slices"
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
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/pfrest"
)

// confirming is a prepared contract with a valid confirmation that can be spoiled.
type confirming struct {
	*world
	c     record.Contract
	draft *draft
	file  []byte
}

func confirm(t *testing.T) *confirming {
	t.Helper()
	w := newWorld(t)
	c := must[record.Contract](t)(w.Authorize(name, text))
	w.Clock.Pass(10 * time.Second)
	a, _ := w.Confirmation(c)
	return &confirming{world: w, c: c, draft: of(t, a, artifacttest.KeyC())}
}

func submitConfirming(t *testing.T, c *confirming) *Denied {
	t.Helper()
	file := c.file
	if file == nil {
		file = c.draft.sign(t)
	}
	c.calls = nil
	c.appliance.Forget()
	_, d := Confirmation(t.Context(), c.world, file)
	if d != nil {
		reachConfirmation(t, c.world, d)
	}
	return d
}

func reachConfirmation(t *testing.T, w *world, d *Denied) {
	t.Helper()
	what := string(d.Reason)
	gate, _, _ := strings.Cut(what, "_")
	var allowed []string
	switch {
	case gate == "c1":
	case gate == "c2":
		allowed = []string{"authorities"}
	case gate == "c3" || gate == "c4" || gate == "c5":
		allowed = []string{"authorities", "view"}
	case what == "c6_quarantine":
		allowed = []string{"authorities", "view", "quarantine"}
	case gate == "c6":
		allowed = []string{"authorities", "view", "quarantine", "plan", "counter"}
	case what == "c7_policy":
		allowed = []string{"authorities", "view", "quarantine", "plan", "counter", "policy"}
	case gate == "c7":
		allowed = []string{"authorities", "view", "quarantine", "plan", "counter", "policy", "survey", "names"}
	}
	asked(t, w, what, allowed...)
}

// preflightFaults are what C6 and C7 refuse, in their order.
func preflightFaults[K any](w func(K) *world) []fault[K] {
	return []fault[K]{
		{"quarantine", "c6_quarantine", func(_ *testing.T, k K) { w(k).quarantine = "anchor_unreachable" }},
		{"a counter that cannot be read", "c6_unavailable", func(_ *testing.T, k K) {
			w(k).planErr = errs.New(errs.Unavailable, "the TPM does not answer").WithClass("anchor_unavailable")
		}},
		{"another binary", "c6_digest", func(_ *testing.T, k K) { w(k).executor.BuildID = "sha256:" + strings.Repeat("9", 64) }},
		{"a counter apart from the plan", "c6_counter", func(_ *testing.T, k K) { w(k).counted = new(int64) }},
		{"write switched off", "c7_policy", func(_ *testing.T, k K) { w(k).policy.Enabled = false }},
		{"an appliance that does not answer", "c7_read", func(_ *testing.T, k K) {
			w(k).appliance.Change(func(s *aliastest.State) {
				s.Fail = map[pfrest.Endpoint]error{pfrest.SchemaEndpoint: errs.New(errs.Unavailable, "no answer").WithClass("connection")}
			})
		}},
		{"another version", "c7_version", func(_ *testing.T, k K) { w(k).appliance.Change(func(s *aliastest.State) { s.Version = "v2.9.9" }) }},
		{"a read-only appliance", "c7_settings", func(_ *testing.T, k K) { w(k).appliance.Change(func(s *aliastest.State) { s.ReadOnly = true }) }},
		{"another appliance", "c7_identity", func(_ *testing.T, k K) {
			w(k).appliance.Change(func(s *aliastest.State) { s.NetgateID = "ffffffffffffffffffff" })
		}},
		{"another representation of interfaces", "c7_settings", func(_ *testing.T, k K) { w(k).names = "" }},
		{"somebody's pending change", "c7_busy", func(_ *testing.T, k K) {
			w(k).appliance.Change(func(s *aliastest.State) { s.Pending = []string{"aliases"} })
		}},
		{"no such alias", "c7_target", func(_ *testing.T, k K) { w(k).drop(name) }},
		{"the text is there already", "c7_no_op", func(_ *testing.T, k K) { w(k).appliance.SetDescr(name, text) }},
		{"another member of the alias", "c7_intent", func(_ *testing.T, k K) {
			w(k).row(func(r *aliastest.Row) { r.Detail = []string{"a", "c"} })
		}},
		{"another position", "c7_locator", func(_ *testing.T, k K) { w(k).drop("a3") }},
	}
}

func confirmationFaults() []fault[*confirming] {
	return append([]fault[*confirming]{
		{"an empty file", "c1_size", func(_ *testing.T, c *confirming) { c.file = []byte{} }},
		{"a member too many", "c1_form", func(_ *testing.T, c *confirming) { c.draft.set("comment", "x") }},
		{"an authority of another role", "c2_authority", func(_ *testing.T, c *confirming) { c.draft.set("authority_id", artifacttest.AuthorizationID) }},
		{"another key", "c2_signature", func(_ *testing.T, c *confirming) { c.draft.key = artifacttest.Seed(0x77) }},
		{"another contract", "c3_contract", func(_ *testing.T, c *confirming) { c.draft.set("contract_id", change.NewID(change.PrefixContract)) }},
		{"a cancelled contract", "c3_state", func(t *testing.T, c *confirming) {
			must[record.Contract](t)(c.S.FailPrepared(c.c.At(), record.ReasonOperatorCancel, "operator:0"))
		}},
		{"a clock that jumped", "c3_clock", func(_ *testing.T, c *confirming) { c.Clock.Set(2 * time.Minute) }},
		{"issued in the future", "c3_not_yet", func(_ *testing.T, c *confirming) {
			c.draft.at("issued_at", c.Clock.Read().Wall.Add(3*time.Minute))
		}},
		{"another operation", "c4_binding", func(_ *testing.T, c *confirming) { c.draft.set("operation_id", change.NewID(change.PrefixOperation)) }},
		{"an authorization owner who is no longer pinned", "c5_pinned", func(_ *testing.T, c *confirming) {
			set := *c.owners
			set.Authorization = []authority.Key{{ID: "owner-authz-2", Public: artifacttest.Public(artifacttest.Seed(0x55))}}
			c.owners = &set
		}},
	}, preflightFaults(func(c *confirming) *world { return c.world })...)
}

func TestA12C1EveryFaultOfAConfirmationIsDeniedAtItsGate(t *testing.T) {
	single(t, confirmationFaults(), confirm, submitConfirming)
}

func TestA12TheFirstGateOfAConfirmationThatFailsGivesTheReason(t *testing.T) {
	pairs(t, confirmationFaults(), confirm, submitConfirming)
}

func TestAValidConfirmationAsksForEachFactOnce(t *testing.T) {
	c := confirm(t)
	if d := submitConfirming(t, c); d != nil {
		t.Fatal(d)
	}
	asked(t, c.world, "a valid confirmation", "authorities", "view", "quarantine", "plan", "counter", "policy", "survey", "names")
	file := c.draft.sign(t)
	ok, _ := Confirmation(t.Context(), c.world, file)
	must[record.Contract](t)(c.S.Confirm(ok.Contract.At(), ok.File, ok.Artifact, "operator:0"))
	check(t, "a second one", "c3_state", submitConfirming(t, c))
}

func TestC1EveryMemberOfAConfirmationIsSignedAndBound(t *testing.T) {
	base := confirm(t)
	whole := must[any](t)(canon.Decode(base.draft.sign(t)))
	n := 0
	leaves(whole, "", func(path string, v any, set func(any)) {
		set(other(v))
		file := must[[]byte](t)(canon.Encode(whole))
		set(v)
		n++
		want := record.Reason("c2_signature")
		if _, err := artifact.ParseConfirmation(file); err != nil {
			want = "c1_form"
		}
		if path == "/authority_id" {
			want = "c2_authority"
		}
		base.file = file
		check(t, "unsigned "+path, want, submitConfirming(t, base))
	})
	if n != 14 {
		t.Errorf("%d members were changed", n)
	}
	// The same members, signed by their owner.
	for key, row := range map[string]struct {
		value any
		want  record.Reason
	}{
		"contract_id":             {change.NewID(change.PrefixContract), "c3_contract"},
		"operation_id":            {change.NewID(change.PrefixOperation), "c4_binding"},
		"target_identity_digest":  {strings.Repeat("9", 64), "c4_binding"},
		"target_fingerprint":      {strings.Repeat("9", 64), "c4_binding"},
		"intent_digest":           {strings.Repeat("9", 64), "c4_binding"},
		"snapshot_digest":         {strings.Repeat("9", 64), "c4_binding"},
		"execution_intent_digest": {strings.Repeat("9", 64), "c4_binding"},
		"expires_at":              {"2026-03-14T09:14:59Z", "c4_binding"},
		"issued_at":               {"2026-03-14T08:59:29Z", "c3_early"},
		"schema_version":          {int64(1), "c1_form"},
		"algorithm":               {"ed25519-v2", "c1_form"},
		"nonce":                   {"short", "c1_form"},
	} {
		c := confirm(t)
		c.draft.set(key, row.value)
		check(t, "signed "+key, row.want, submitConfirming(t, c))
	}
}

func TestC2AConfirmationBelongsToOneUnconfirmedUnexpiredContract(t *testing.T) {
	c := confirm(t)
	c.Clock.Pass(14*time.Minute + 50*time.Second)
	check(t, "at its end", "c3_expired", submitConfirming(t, c))

	c = confirm(t)
	c.file = append(c.draft.sign(t), make([]byte, artifact.MaxSigned)...)
	check(t, "more than it holds", "c1_size", submitConfirming(t, c))

	c = confirm(t)
	c.draft.at("issued_at", c.c.CreatedAt.Add(-30*time.Second))
	if d := submitConfirming(t, c); d != nil {
		t.Errorf("30 s before creation: %v", d)
	}

	c = confirm(t)
	other := must[record.Contract](t)(c.Authorize("a0", "x"))
	c.draft.set("contract_id", other.ContractID)
	check(t, "another contract's id", "c4_binding", submitConfirming(t, c))

	// A nonce that was accepted for another contract.
	c = confirm(t)
	other = must[record.Contract](t)(c.Authorize("a0", "x"))
	a, file := c.Confirmation(other)
	must[record.Contract](t)(c.S.Confirm(other.At(), file, a, "operator:0"))
	c.draft.set("nonce", a.Nonce)
	check(t, "a used nonce", "c3_consumed", submitConfirming(t, c))
}

func TestReview15AConfirmationFromBeforeARebaselineIsVoid(t *testing.T) {
	c := confirm(t)
	// A rebaseline moves prepared contracts; a restored store may have another idea.
	// So the floor is raised first, and the contract made under a clock within the
	// tolerance behind it.
	a, file := c.Rebaseline(artifact.ReasonCounterUsed)
	if err := c.S.Rebaseline(file, a, c.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	check(t, "its contract has moved", "c3_state", submitConfirming(t, c))
	floor := c.Clock.Read().Wall
	c.Clock.Pass(15 * time.Minute) // what the lost history may have sent has landed
	next := must[record.Contract](t)(c.Authorize("a0", "x"))
	fresh, _ := c.Confirmation(next)
	fresh.IssuedAt = floor
	c.draft = of(t, fresh, artifacttest.KeyC())
	check(t, "signed at the floor", "c3_floor", submitConfirming(t, c))
}

func TestC5TheTwoOwnersAreTwo(t *testing.T) {
	// A set that no loader makes: one owner under one id and key in both lists.
	c := confirm(t)
	set := *c.owners
	set.Confirmation = append(slices.Clone(set.Confirmation), set.Authorization...)
	c.owners = &set
	c.draft.set("authority_id", artifacttest.AuthorizationID)
	c.draft.key = artifacttest.KeyA()
	check(t, "one id", "c5_distinct", submitConfirming(t, c))
	set.Confirmation = []authority.Key{{ID: "somebody-else", Public: artifacttest.Public(artifacttest.KeyA())}}
	c.draft.set("authority_id", "somebody-else")
	check(t, "one key", "c5_distinct", submitConfirming(t, c))
}

func TestC5TheKeyOfTheFirstApprovalIsStillTheOneThatIsPinned(t *testing.T) {
	c := confirm(t)
	set := *c.owners
	set.Authorization = []authority.Key{{ID: artifacttest.AuthorizationID, Public: artifacttest.Public(artifacttest.Seed(0x55))}}
	c.owners = &set
	check(t, "another key under the old id", "c5_pinned", submitConfirming(t, c))
}

// lasting is a confirmed contract that waits for its execution.
type lasting struct {
	*world
	c record.Contract
}

func last(t *testing.T) *lasting {
	t.Helper()
	w := newWorld(t)
	c := must[record.Contract](t)(w.Authorize(name, text))
	c = must[record.Contract](t)(w.Confirm(c))
	w.Clock.Pass(10 * time.Second)
	return &lasting{w, c}
}

func submitLasting(t *testing.T, l *lasting) *Denied {
	t.Helper()
	l.calls = nil
	l.appliance.Forget()
	d := Late(t.Context(), l.world, &l.c)
	if d != nil {
		reachConfirmation(t, l.world, d)
	}
	return d
}

func lateFaults() []fault[*lasting] {
	return append([]fault[*lasting]{
		{"a contract that moved on", "c3_state", func(t *testing.T, l *lasting) {
			must[record.Contract](t)(l.S.FailPrepared(l.c.At(), record.ReasonOperatorCancel, "operator:0"))
		}},
		{"a clock that jumped", "c3_clock", func(_ *testing.T, l *lasting) { l.Clock.Set(2 * time.Minute) }},
		{"owners who are no longer pinned", "c5_pinned", func(_ *testing.T, l *lasting) { l.owners = &authority.Set{} }},
	}, preflightFaults(func(l *lasting) *world { return l.world })...)
}

func TestReview04EverythingIsCheckedAgainBeforeExecution(t *testing.T) {
	single(t, lateFaults(), last, submitLasting)
	pairs(t, lateFaults(), last, submitLasting)
}

func TestReview04WhatOneApprovalRestsOnIsCheckedAgain(t *testing.T) {
	l := last(t)
	set := *l.owners
	set.Authorization = []authority.Key{{ID: artifacttest.AuthorizationID, Public: artifacttest.Public(artifacttest.Seed(0x55))}}
	l.owners = &set
	check(t, "the authorization owner's key", "c5_pinned", submitLasting(t, l))
	l = last(t)
	set = *l.owners
	set.Confirmation = []authority.Key{{ID: artifacttest.ConfirmationID, Public: artifacttest.Public(artifacttest.Seed(0x55))}}
	l.owners = &set
	check(t, "the confirmation owner's key", "c5_pinned", submitLasting(t, l))
}

func TestC3AContractThatExpiresBetweenConfirmationAndExecutionDoesNotRun(t *testing.T) {
	l := last(t)
	l.Clock.Pass(l.c.ExpiresAt.Sub(l.Clock.Read().Wall) - time.Second)
	if d := submitLasting(t, l); d != nil {
		t.Errorf("a second before: %v", d)
	}
	l.Clock.Pass(time.Second)
	check(t, "at its end", "c5_expired", submitLasting(t, l))
	check(t, "at its end", "c5_expired", Begin(t.Context(), l.world, &l.c))

	c := confirm(t)
	check(t, "unconfirmed", "c3_state", Late(t.Context(), c.world, &c.c))
	if d := Late(t.Context(), c.world, nil); d == nil || d.Reason != "c3_contract" {
		t.Errorf("no contract: %v", d)
	}
	c.c.ContractID = change.NewID(change.PrefixContract)
	check(t, "an unknown contract", "c3_contract", Late(t.Context(), c.world, &c.c))
}

func TestBeginReadsTheCounterAndNotTheAppliance(t *testing.T) {
	l := last(t)
	l.calls = nil
	l.appliance.Forget()
	if d := Begin(t.Context(), l.world, &l.c); d != nil {
		t.Fatal(d)
	}
	asked(t, l.world, "begin", "authorities", "view", "quarantine", "plan", "counter")
	l.Witness = 42
	check(t, "counter", "c6_digest", Begin(t.Context(), l.world, &l.c))
}

func TestOnlyWhatIsProvenIsDrift(t *testing.T) {
	for _, f := range preflightFaults(func(l *lasting) *world { return l.world }) {
		l := last(t)
		f.do(t, l)
		d := submitLasting(t, l)
		if d == nil {
			t.Fatalf("%s: passed", f.name)
		}
		want := slices.Contains([]record.Reason{"c7_identity", "c7_target", "c7_no_op", "c7_intent", "c7_locator"}, d.Reason)
		if d.Drift() != want {
			t.Errorf("%s: drift %v", f.name, d.Drift())
		}
	}
}

// TestReview04 lets the store hold other files than its rows say: each is signed by its
// owner, and none is what the contract rests on.
func TestReview04TheFilesAreWhatTheContractRestsOn(t *testing.T) {
	second := authority.Key{ID: "owner-authz-2", Public: artifacttest.Public(artifacttest.Seed(0x55))}
	for what, spoil := range map[string]func(*artifact.Authorization){
		"id":        func(a *artifact.Authorization) { a.ID = change.NewID(change.PrefixAuthorization) },
		"request":   func(a *artifact.Authorization) { a.RequestID = change.NewID(change.PrefixRequest) },
		"plan":      func(a *artifact.Authorization) { a.PlanDigest = strings.Repeat("9", 64) },
		"change":    func(a *artifact.Authorization) { a.ExecutionIntent = strings.Repeat("9", 64) },
		"authority": func(a *artifact.Authorization) { a.AuthorityID = second.ID },
		"beginning": func(a *artifact.Authorization) { a.IssuedAt = a.IssuedAt.Add(-time.Second) },
		"end":       func(a *artifact.Authorization) { a.ExpiresAt = a.ExpiresAt.Add(time.Second) },
	} {
		w := newWorld(t)
		set := *w.owners
		set.Authorization = append(slices.Clone(set.Authorization), second)
		w.owners = &set
		r := must[record.Request](t)(w.Request(name, text))
		in := w.Authorization(r, name, text)
		stored := *in.Artifact
		spoil(&stored)
		key := artifacttest.KeyA()
		if stored.AuthorityID == second.ID {
			key = artifacttest.Seed(0x55)
		}
		in.File = artifacttest.File(t, &stored, key)
		c := must[record.Contract](t)(w.S.Authorize(in))
		a, _ := w.Confirmation(c)
		check(t, what, "c5_pinned", submitConfirming(t, &confirming{world: w, c: c, draft: of(t, a, artifacttest.KeyC())}))
		c = must[record.Contract](t)(w.Confirm(c))
		check(t, what+", late", "c5_pinned", submitLasting(t, &lasting{w, c}))
	}
	for what, file := range map[string]func(*world, record.Contract) []byte{
		"no file": func(*world, record.Contract) []byte { return []byte("{}") },
		"another confirmation": func(w *world, c record.Contract) []byte {
			_, file := w.Confirmation(c)
			return file
		},
	} {
		w := newWorld(t)
		c := must[record.Contract](t)(w.Authorize(name, text))
		a, _ := w.Confirmation(c)
		c = must[record.Contract](t)(w.S.Confirm(c.At(), file(w, c), a, "operator:0"))
		check(t, what, "c5_pinned", submitLasting(t, &lasting{w, c}))
	}
	w := newWorld(t)
	r := must[record.Request](t)(w.Request(name, text))
	in := w.Authorization(r, name, text)
	in.File = []byte("{}")
	c := must[record.Contract](t)(w.S.Authorize(in))
	a, _ := w.Confirmation(c)
	check(t, "no authorization", "c5_pinned", submitConfirming(t, &confirming{world: w, c: c, draft: of(t, a, artifacttest.KeyC())}))
}
