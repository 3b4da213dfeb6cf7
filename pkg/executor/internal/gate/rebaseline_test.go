package gate

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// rebased is a store whose counter is two ahead, with the acceptance of it.
type rebased struct {
	*world
	draft *draft
	file  []byte
}

func rebase(t *testing.T) *rebased {
	t.Helper()
	w := newWorld(t)
	w.Witness, w.quarantine = 43, "anchor_mismatch"
	a, _ := w.Rebaseline(artifact.ReasonRestored)
	w.Clock.Pass(10 * time.Second)
	return &rebased{world: w, draft: of(t, a, artifacttest.KeyR())}
}

func submitRebased(t *testing.T, r *rebased) *Denied {
	t.Helper()
	file := r.file
	if file == nil {
		file = r.draft.sign(t)
	}
	r.calls = nil
	r.appliance.Forget()
	_, d := Rebaseline(t.Context(), r.world, file)
	if d != nil {
		allowed := []string{"authorities", "quarantine", "view"}
		switch {
		case d.Reason == "r_form":
			allowed = nil
		case d.Reason == "anchor_unavailable" || d.Reason == "anchor_mismatch":
			allowed = append(allowed, "counter")
		}
		asked(t, r.world, string(d.Reason), allowed...)
	}
	return d
}

func rebaselineFaults() []fault[*rebased] {
	return []fault[*rebased]{
		{"a member too many", "r_form", func(_ *testing.T, r *rebased) { r.draft.set("comment", "x") }},
		{"an authority of another role", "r_authority", func(_ *testing.T, r *rebased) { r.draft.set("authority_id", artifacttest.AuthorizationID) }},
		{"another key", "r_signature", func(_ *testing.T, r *rebased) { r.draft.key = artifacttest.Seed(0x77) }},
		{"a damaged store", "r_quarantine", func(_ *testing.T, r *rebased) { r.quarantine = "store_integrity" }},
		{"another index", "r_quarantine", func(_ *testing.T, r *rebased) { r.quarantine = "anchor_name" }},
		{"a clock that jumped", "r_clock", func(_ *testing.T, r *rebased) { r.Clock.Set(2 * time.Minute) }},
		{"issued in the future", "r_time", func(_ *testing.T, r *rebased) { r.draft.at("issued_at", r.Clock.Read().Wall.Add(31*time.Second)) }},
		{"another store", "anchor_mismatch", func(_ *testing.T, r *rebased) { r.draft.set("store_id", "prod-write-store-2") }},
	}
}

func TestN7EveryFaultOfARebaselineIsDeniedAtItsPlace(t *testing.T) {
	single(t, rebaselineFaults(), rebase, submitRebased)
	pairs(t, rebaselineFaults(), rebase, submitRebased)
	base := rebase(t)
	whole := must[any](t)(canon.Decode(base.draft.sign(t)))
	leaves(whole, "", func(path string, v any, set func(any)) {
		set(other(v))
		file := must[[]byte](t)(canon.Encode(whole))
		set(v)
		want := record.Reason("r_signature")
		if _, err := artifact.ParseRebaseline(file); err != nil {
			want = "r_form"
		} else if path == "/authority_id" {
			want = "r_authority"
		}
		base.file = file
		check(t, path, want, submitRebased(t, base))
	})
}

func TestN7ARebaselineIsForOneStateOfStoreAndCounterAndIsUsedOnce(t *testing.T) {
	for key, value := range map[string]any{
		"nv_index_name": "000b" + strings.Repeat("9", 64), "store_value": int64(40), "witness_value": int64(44), "audit_head": strings.Repeat("9", 64),
	} {
		r := rebase(t)
		r.draft.set(key, value)
		check(t, key, "anchor_mismatch", submitRebased(t, r))
	}
	r := rebase(t)
	r.Witness = 44
	check(t, "a counter that moved", "anchor_mismatch", submitRebased(t, r))
	r = rebase(t)
	r.countErr = errs.New(errs.Unavailable, "the TPM does not answer").WithClass("anchor_unavailable")
	check(t, "a counter that cannot be read", "anchor_unavailable", submitRebased(t, r))
	r = rebase(t)
	must[record.Request](t)(r.Request(name, text))
	check(t, "a stale head", "anchor_mismatch", submitRebased(t, r))
	r = rebase(t)
	r.Clock.Pass(10 * time.Minute)
	check(t, "expired", "r_time", submitRebased(t, r))

	r = rebase(t)
	file := r.draft.sign(t)
	a, d := Rebaseline(t.Context(), r.world, file)
	if d != nil {
		t.Fatal(d)
	}
	if err := r.S.Rebaseline(file, a, r.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	check(t, "the same file again", "r_floor", submitRebased(t, r))
	r.Clock.Pass(time.Second)
	next, _ := r.Rebaseline(artifact.ReasonCounterUsed)
	next.Nonce = a.Nonce
	r.draft = of(t, next, artifacttest.KeyR())
	check(t, "its nonce again", "r_consumed", submitRebased(t, r))
}

func TestReview22APoisonedClockIsAcceptedAsSuchAlone(t *testing.T) {
	w := newWorld(t)
	// A boot under a wrong clock stores a time of another year.
	w.Clock.Reboot()
	w.Clock.Set(10 * 365 * 24 * time.Hour)
	must[record.Request](t)(w.Request(name, text))
	w.Clock.Reboot()
	w.Clock.Set(-10 * 365 * 24 * time.Hour)
	w.quarantine = "clock_regressed"
	for reason, want := range map[string]record.Reason{artifact.ReasonRestored: "r_clock", artifact.ReasonClockPoisoned: ""} {
		a, _ := w.Rebaseline(reason)
		d := submitRebased(t, &rebased{world: w, draft: of(t, a, artifacttest.KeyR())})
		if want == "" && d != nil {
			t.Errorf("%s: %v", reason, d)
		} else if want != "" {
			check(t, reason, want, d)
		}
	}
	w = newWorld(t)
	a, _ := w.Rebaseline(artifact.ReasonClockPoisoned)
	check(t, "a sound clock", "clock_poisoned", submitRebased(t, &rebased{world: w, draft: of(t, a, artifacttest.KeyR())}))
}

func TestK2NoOwnerSignsForAnother(t *testing.T) {
	owners := map[authority.Owner]authority.Key{
		authority.Authorization:  {ID: artifacttest.AuthorizationID},
		authority.Confirmation:   {ID: artifacttest.ConfirmationID},
		authority.Reconciliation: {ID: artifacttest.ReconcileID},
	}
	keys := map[authority.Owner]byte{authority.Authorization: 0xa1, authority.Confirmation: 0xc2, authority.Reconciliation: 0xd3}
	files := []struct {
		of     authority.Owner
		stage  string
		submit func(by func(*draft)) *Denied
	}{
		{authority.Authorization, "g2", func(by func(*draft)) *Denied { a := ask(t); by(a.draft); return submitAsking(t, a) }},
		{authority.Confirmation, "c2", func(by func(*draft)) *Denied { c := confirm(t); by(c.draft); return submitConfirming(t, c) }},
		{authority.Reconciliation, "r", func(by func(*draft)) *Denied { s := applied(t); by(s.draft); return submitStating(t, s) }},
		{authority.Reconciliation, "r", func(by func(*draft)) *Denied { r := rebase(t); by(r.draft); return submitRebased(t, r) }},
		{authority.Confirmation, "b", func(by func(*draft)) *Denied { u := undo(t); by(u.confirmation); return submitUndone(t, u) }},
		{authority.Authorization, "b", func(by func(*draft)) *Denied { u := undo(t); by(u.authorization); return submitUndone(t, u) }},
	}
	tried := 0
	for _, f := range files {
		for who, k := range owners {
			if who == f.of {
				continue
			}
			tried++
			check(t, string(who)+" signs as itself", record.Reason(f.stage+"_authority"), f.submit(func(d *draft) {
				d.set("authority_id", k.ID)
				d.key = artifacttest.Seed(keys[who])
			}))
			check(t, string(who)+" signs as "+string(f.of), record.Reason(f.stage+"_signature"), f.submit(func(d *draft) { d.key = artifacttest.Seed(keys[who]) }))
		}
	}
	if tried != 12 {
		t.Errorf("%d pairs", tried)
	}
}

func TestK3ASignatureOfOneRoleIsNoneOfAnother(t *testing.T) {
	roles := []canon.Role{
		canon.RolePlanAuthorization, canon.RoleConfirmation, canon.RoleReconciliation, canon.RoleRollback, canon.RoleRollbackAuthorization, canon.RoleRebaseline,
		canon.RolePreview, canon.RolePending, canon.RoleObservation,
	}
	for _, role := range roles {
		if role != canon.RolePlanAuthorization {
			a := ask(t)
			a.draft.role = role
			check(t, string(role), "g2_signature", submitAsking(t, a))
		}
		if role != canon.RoleConfirmation {
			c := confirm(t)
			c.draft.role = role
			check(t, string(role), "c2_signature", submitConfirming(t, c))
		}
		if role != canon.RoleRebaseline {
			r := rebase(t)
			r.draft.role = role
			check(t, string(role), "r_signature", submitRebased(t, r))
		}
	}
	// Equal bytes under equal keys: one owner pinned for both, in a set that no loader
	// makes. The frame alone tells the two signatures of an undo apart.
	u := undo(t)
	both := []authority.Key{{ID: artifacttest.ConfirmationID, Public: artifacttest.Public(artifacttest.KeyC())}}
	u.owners = &authority.Set{Authorization: both, Confirmation: both, Reconciliation: u.owners.Reconciliation}
	one := u.confirmation.sign(t)
	u.files = [2][]byte{one, one}
	check(t, "one signature for both", "b_signature", submitUndone(t, u))
}
