package gate

import (
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/pfrest"
)

// asking is a valid authorization that can be spoiled.
type asking struct {
	*world
	r     record.Request
	draft *draft
	file  []byte // instead of the draft
}

func ask(t *testing.T) *asking {
	t.Helper()
	w := newWorld(t)
	r := must[record.Request](t)(w.Request(name, text))
	w.Clock.Pass(10 * time.Second)
	return &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())}
}

func (a *asking) submit(t *testing.T) (*Authorized, *Denied) {
	t.Helper()
	file := a.file
	if file == nil {
		file = a.draft.sign(t)
	}
	a.calls = nil
	a.appliance.Forget()
	return Authorization(t.Context(), a.world, file)
}

// reach lists what may have been asked when a gate denies.
func reach(t *testing.T, w *world, d *Denied) {
	t.Helper()
	what := string(d.Reason)
	gate, sub, _ := strings.Cut(what, "_")
	allowed := []string{}
	switch {
	case what == "g1_size" || what == "g1_form" || what == "g1_version":
	case gate == "g1":
		allowed = []string{"quarantine", "view"}
	case gate == "g2":
		allowed = []string{"quarantine", "view", "authorities"}
	case gate == "g3" || gate == "g4":
		allowed = []string{"quarantine", "view", "authorities", "policy"}
	case gate == "g5a" || what == "g5b_rate" || what == "g5b_policy":
		allowed = []string{"quarantine", "view", "authorities", "policy", "plan", "counter"}
	case gate == "g5b":
		allowed = []string{"quarantine", "view", "authorities", "policy", "plan", "counter", "survey", "names"}
	}
	asked(t, w, what+" "+sub, allowed...)
}

func submitAsking(t *testing.T, a *asking) *Denied {
	t.Helper()
	_, d := a.submit(t)
	if d != nil {
		reach(t, a.world, d)
	}
	return d
}

// authorizationFaults are everything that can be wrong, in the order of the gates.
func authorizationFaults() []fault[*asking] {
	return []fault[*asking]{
		{"an empty file", "g1_size", func(_ *testing.T, a *asking) { a.file = []byte{} }},
		{"a member too many", "g1_form", func(_ *testing.T, a *asking) { a.draft.set("comment", "x") }},
		{"quarantine", "g1_quarantine", func(_ *testing.T, a *asking) { a.quarantine = "anchor_mismatch" }},
		{"a cancelled request", "g1_request", func(t *testing.T, a *asking) {
			if err := a.S.CancelRequest(a.r.RequestID, record.Cancelled, "operator:0"); err != nil {
				t.Fatal(err)
			}
		}},
		{"an authority of another role", "g2_authority", func(_ *testing.T, a *asking) { a.draft.set("authority_id", artifacttest.ConfirmationID) }},
		{"another key", "g2_signature", func(_ *testing.T, a *asking) { a.draft.key = artifacttest.Seed(0x77) }},
		{"a clock that jumped", "g3_clock", func(_ *testing.T, a *asking) { a.Clock.Set(2 * time.Minute) }},
		{"issued in the future", "g3_not_yet", func(_ *testing.T, a *asking) {
			a.draft.at("issued_at", a.Clock.Read().Wall.Add(3*time.Minute+31*time.Second))
		}},
		{"a life longer than the site allows", "g3_lifetime", func(_ *testing.T, a *asking) { a.policy.AuthorizationMax = 5 * time.Minute }},
		{"another plan", "g4_plan", func(_ *testing.T, a *asking) { a.draft.set("plan_digest", strings.Repeat("9", 64)) }},
		{"another change", "g4_intent", func(_ *testing.T, a *asking) {
			a.draft.set("authorized_executions", canon.Array{canon.Object{"step_id": change.StepID, "execution_intent_digest": strings.Repeat("9", 64)}})
		}},
		{"other evidence", "g4_evidence", func(_ *testing.T, a *asking) {
			a.draft.payload["evidence_fingerprint"].(canon.Object)["anchor_baseline"] = int64(40)
		}},
		{"a later preview of the same change", "g4_age", func(_ *testing.T, a *asking) {
			a.Clock.Pass(31 * time.Second)
			_, _ = a.Preview(a.r, name, text) // refused where the request is not open
		}},
		{"a counter that cannot be read", "g5a_unavailable", func(_ *testing.T, a *asking) {
			a.planErr = errs.New(errs.Unavailable, "the TPM does not answer").WithClass("anchor_unavailable")
		}},
		{"another policy", "g5a_digest", func(_ *testing.T, a *asking) { a.executor.PolicyDigest = strings.Repeat("9", 64) }},
		{"a counter apart from the plan", "g5a_counter", func(_ *testing.T, a *asking) { a.counted = new(int64) }},
		{"four prepared contracts", "g5b_rate", func(_ *testing.T, a *asking) {
			for _, other := range []string{"a0", "a1", "a2", "a3"} {
				_, _ = a.Play.Authorize(other, "x") // refused where an earlier fault stops the store too
			}
		}},
		{"write switched off", "g5b_policy", func(_ *testing.T, a *asking) { a.policy.Enabled = false }},
		{"an appliance that does not answer", "g5b_read", func(_ *testing.T, a *asking) {
			a.appliance.Change(func(s *aliastest.State) {
				s.Fail = map[pfrest.Endpoint]error{pfrest.SchemaEndpoint: errs.New(errs.Unavailable, "no answer").WithClass("connection")}
			})
		}},
		{"another version", "g5b_version", func(_ *testing.T, a *asking) { a.appliance.Change(func(s *aliastest.State) { s.Version = "v2.10.1" }) }},
		{"links in answers", "g5b_settings", func(_ *testing.T, a *asking) { a.appliance.Change(func(s *aliastest.State) { s.Links = true }) }},
		{"another appliance", "g5b_identity", func(_ *testing.T, a *asking) {
			a.appliance.Change(func(s *aliastest.State) { s.NetgateID = "ffffffffffffffffffff" })
		}},
		{"another representation of interfaces", "g5b_settings", func(_ *testing.T, a *asking) { a.names = "descr" }},
		{"somebody's pending change", "g5b_busy", func(_ *testing.T, a *asking) {
			a.appliance.Change(func(s *aliastest.State) { s.Pending = []string{"aliases"} })
		}},
		{"no such alias", "g5b_target", func(_ *testing.T, a *asking) { a.drop(name) }},
		{"the text is there already", "g5b_no_op", func(_ *testing.T, a *asking) { a.appliance.SetDescr(name, text) }},
		{"another member of the alias", "g5b_intent", func(_ *testing.T, a *asking) {
			a.row(func(r *aliastest.Row) { r.Address = []string{"192.0.2.10", "192.0.2.99"} })
		}},
		{"another position", "g5b_locator", func(_ *testing.T, a *asking) { a.drop("a3") }},
	}
}

func TestA12EveryFaultOfAnAuthorizationIsDeniedAtItsGate(t *testing.T) {
	single(t, authorizationFaults(), ask, submitAsking)
}

func TestA12TheFirstGateThatFailsGivesTheReasonAndNothingBehindItIsTouched(t *testing.T) {
	pairs(t, authorizationFaults(), ask, submitAsking)
}

func TestAValidAuthorizationIsReadyForTheStoreAndAsksForEachFactOnce(t *testing.T) {
	a := ask(t)
	ok, d := a.submit(t)
	if d != nil {
		t.Fatal(d)
	}
	asked(t, a.world, "a valid authorization", "view", "quarantine", "authorities", "policy", "plan", "counter", "survey", "names")
	list, err := a.reader.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := list.Find(name)
	if err != nil || ok.Collection != now.Collection || ok.Locator != locator || ok.PreviewSeq != 1 || ok.Preview.RequestID != a.r.RequestID {
		t.Errorf("%+v, %v", ok, err)
	}
	c := must[record.Contract](t)(a.S.Authorize(ok.Store("operator:0")))
	if c.State != record.Prepared || c.Collection != now.Collection {
		t.Errorf("%+v", c)
	}
	if _, d := a.submit(t); d == nil || d.Reason != "g1_request" {
		t.Errorf("again: %v", d)
	}
}

func TestA7EveryMemberOfAnAuthorizationIsSigned(t *testing.T) {
	base := ask(t)
	whole := must[any](t)(canon.Decode(base.draft.sign(t)))
	n := 0
	leaves(whole, "", func(path string, v any, set func(any)) {
		if v == nil {
			v = "x"
		}
		set(other(v))
		file := must[[]byte](t)(canon.Encode(whole))
		set(v)
		n++
		want := record.Reason("g2_signature")
		if _, err := artifact.ParseAuthorization(file); err != nil {
			want = "g1_form"
		}
		switch path {
		case "/schema_version":
			want = "g1_version"
		case "/request_id":
			want = "g1_request"
		case "/authority_id":
			want = "g2_authority"
		}
		base.file = file
		check(t, path, want, submitAsking(t, base))
	})
	if n != 18 {
		t.Errorf("%d members were changed", n)
	}
	for _, cut := range []string{"AAAA", "", strings.Repeat("A", 92) + "="} {
		o := must[any](t)(canon.Decode(base.draft.sign(t))).(canon.Object)
		o["proof"] = cut
		base.file = must[[]byte](t)(canon.Encode(o))
		check(t, "a proof of another length", "g1_form", submitAsking(t, base))
	}
}

func TestA8FormerAndForeignFormsAreStructure(t *testing.T) {
	base := ask(t)
	for what, row := range map[string]struct {
		change func(canon.Object)
		want   record.Reason
	}{
		"version 1": {func(o canon.Object) {
			o["schema_version"], o["authorized_step_ids"] = int64(1), canon.Array{change.StepID}
			delete(o, "authorized_executions")
		}, "g1_version"},
		"version 3": {func(o canon.Object) { o["schema_version"] = int64(3) }, "g1_version"},
		"a deprovision authorization": {func(o canon.Object) {
			o["target_identity_digest"] = strings.Repeat("1", 64)
			delete(o, "authorized_executions")
		}, "g1_form"},
		"a step that no owner decides": {func(o canon.Object) { o["risk_class"] = change.LevelDeprovision }, "g1_form"},
		"no step":                      {func(o canon.Object) { o["authorized_executions"] = canon.Array{} }, "g1_form"},
		"another step": {func(o canon.Object) {
			o["authorized_executions"].(canon.Array)[0].(canon.Object)["step_id"] = "anchor_assurance.no_change"
		}, "g1_form"},
		"two steps": {func(o canon.Object) {
			l := o["authorized_executions"].(canon.Array)
			o["authorized_executions"] = append(l, l[0])
		}, "g1_form"},
		"a life beyond the format's":   {func(o canon.Object) { o["expires_at"] = "2026-03-14T09:40:11Z" }, "g1_form"},
		"an end before the beginning":  {func(o canon.Object) { o["expires_at"] = "2026-03-14T09:00:00Z" }, "g1_form"},
		"an algorithm of another name": {func(o canon.Object) { o["algorithm"] = "ed25519-v2" }, "g1_form"},
	} {
		d := of(t, base.Authorization(base.r, name, text).Artifact, artifacttest.KeyA())
		row.change(d.payload)
		base.file = d.sign(t)
		check(t, what, row.want, submitAsking(t, base))
	}
	good := base.draft.sign(t)
	for what, file := range map[string][]byte{
		"a blank before it":  append([]byte(" "), good...),
		"a byte behind it":   append(good, '\n'),
		"more than it holds": append(good, make([]byte, artifact.MaxSigned)...),
		"no JSON":            []byte("-----BEGIN"),
	} {
		base.file = file
		want := record.Reason("g1_form")
		if len(file) > artifact.MaxSigned {
			want = "g1_size"
		}
		check(t, what, want, submitAsking(t, base))
	}
}

func TestA3AnAuthorizationHasSharpEnds(t *testing.T) {
	for what, row := range map[string]struct {
		issued, expires time.Duration // from now
		want            record.Reason
	}{
		"30 s ahead":           {30 * time.Second, 10 * time.Minute, ""},
		"31 s ahead":           {31 * time.Second, 10 * time.Minute, "g3_not_yet"},
		"expires in a second":  {-time.Second, time.Second, ""},
		"expires now":          {-time.Second, 0, "g3_expired"},
		"expired":              {-10 * time.Second, -time.Second, "g3_expired"},
		"30 s before its time": {-40 * time.Second, 10 * time.Minute, ""},
		"31 s before its time": {-41 * time.Second, 10 * time.Minute, "g4_age"},
	} {
		a := ask(t)
		now := a.Clock.Read().Wall
		a.draft.at("issued_at", now.Add(row.issued))
		a.draft.at("expires_at", now.Add(row.expires))
		_, d := a.submit(t)
		switch {
		case row.want == "" && d != nil:
			t.Errorf("%s: %v", what, d)
		case row.want != "":
			check(t, what, row.want, d)
		}
	}
}

func TestA4A5A6TheStoredPreviewDecidesWhatWasApproved(t *testing.T) {
	// An authorization for the plan of now, where the preview holds a former one.
	a := ask(t)
	a.Witness = 42
	a.draft = of(t, a.Authorization(a.r, name, text).Artifact, artifacttest.KeyA())
	check(t, "the plan of now", "g4_plan", submitAsking(t, a))

	// One of another request of the same owner.
	a = ask(t)
	other := must[record.Request](t)(a.Request("a0", "x"))
	a.draft.set("request_id", other.RequestID)
	check(t, "another request", "g4_intent", submitAsking(t, a))
	a = ask(t)
	must[record.Request](t)(a.Request("a0", "x"))
	in := of(t, a.Authorization(a.r, "a0", "x").Artifact, artifacttest.KeyA())
	a.draft = in
	check(t, "another request's change", "g4_intent", submitAsking(t, a))

	// Requests that are not open, or that nobody has a preview of.
	a = ask(t)
	must[record.Contract](t)(a.S.Authorize(a.Authorization(a.r, name, text)))
	check(t, "an authorized request", "g1_request", submitAsking(t, a))
	a = ask(t)
	a.draft.set("request_id", change.NewID(change.PrefixRequest))
	check(t, "an unknown request", "g1_request", submitAsking(t, a))
	a = ask(t)
	unseen := must[record.Request](t)(a.S.OpenRequest(store.NewRequest{AliasName: "a1", Description: "y", By: "operator:0"}))
	a.draft.set("request_id", unseen.RequestID)
	check(t, "a request without a preview", "g1_preview", submitAsking(t, a))
	a = ask(t)
	a.Clock.Pass(25 * time.Hour)
	check(t, "a request of yesterday", "g1_request", submitAsking(t, a))
}

func TestA5AStoredPlanWithoutTheStepOnceAtItsLevelIsDenied(t *testing.T) {
	for what, spoil := range map[string]func(*change.Plan){
		"absent":        func(p *change.Plan) { p.Steps = p.Steps[:2] },
		"another level": func(p *change.Plan) { p.Steps[2].Level = change.LevelConfigure },
	} {
		a := ask(t)
		a.preview(t, spoil)
		check(t, what, "g4_step", submitAsking(t, a))
	}
}

// preview makes another preview and an authorization under a spoiled plan.
func (a *asking) preview(t *testing.T, spoil func(*change.Plan)) {
	t.Helper()
	p := artifacttest.Plan()
	spoil(&p)
	pre := &artifact.Preview{
		RequestID: a.r.RequestID, Origin: artifact.OriginOperator, Intent: artifacttest.Intent(), Plan: p, GeneratedAt: a.Clock.Read().Wall, KeyID: artifacttest.ExecutorID,
	}
	a.r = must[record.Request](t)(a.S.IssuePreview(pre, artifacttest.File(t, pre, artifacttest.KeyX()), locator, a.r.PreviewSeq, "operator:0"))
	auth := artifacttest.Authorization(t, artifacttest.Intent(), p)
	auth.RequestID, auth.IssuedAt = a.r.RequestID, a.Clock.Read().Wall
	auth.ExpiresAt = auth.IssuedAt.Add(15 * time.Minute)
	a.draft = of(t, auth, artifacttest.KeyA())
	a.spoil = spoil
}

func TestA9WhatTheApprovalWasBoundToHasChanged(t *testing.T) {
	nine := strings.Repeat("9", 64)
	for what, spoil := range map[string]func(*asking){
		"counter":        func(a *asking) { a.Witness = 42 },
		"policy":         func(a *asking) { a.executor.PolicyDigest = nine },
		"restart":        func(a *asking) { a.executor.PolicyDigest = strings.Repeat("8", 64) }, // the digest covers run_id
		"authority set":  func(a *asking) { a.executor.AuthoritySet = nine },
		"binary":         func(a *asking) { a.executor.BuildID = "sha256:" + nine },
		"appliance":      func(a *asking) { a.executor.ApplianceTarget = nine },
		"store":          func(a *asking) { a.executor.StoreID = "prod-write-store-2" },
		"counter's name": func(a *asking) { a.executor.NVIndexName = "000b" + nine },
		"write off":      func(a *asking) { a.spoil = func(p *change.Plan) { p.Evidence.Posture = change.PostureReadOnly } },
		"provisioning": func(a *asking) {
			a.spoil = func(p *change.Plan) { p.Evidence.ProvisionedAt = artifacttest.At("01:00:00") }
		},
	} {
		a := ask(t)
		spoil(a)
		check(t, what, "g5a_digest", submitAsking(t, a))
	}
	// The appliance's certificate authority is in the binding: 5b sees it too.
	a := ask(t)
	a.reader = otherAuthority(t, a.world)
	check(t, "certificate authority", "g5b_identity", submitAsking(t, a))
}

func TestA10AnUnhealthyPlanIsDeniedEvenWithAnEqualDigest(t *testing.T) {
	for what, row := range map[string]struct {
		spoil func(*change.Plan)
		want  record.Reason
	}{
		"unsafe":      {func(p *change.Plan) { p.SafeToProceed = false }, "g5a_unsafe"},
		"unreachable": {func(p *change.Plan) { p.Evidence.Anchor, p.Evidence.Witness = change.EvidenceUnreachable, nil }, "g5a_evidence"},
		"unverified":  {func(p *change.Plan) { p.Evidence.Anchor = change.EvidenceUnverified }, "g5a_evidence"},
		"mismatch":    {func(p *change.Plan) { p.Evidence.Anchor, *p.Evidence.Witness = change.EvidenceMismatch, 42 }, "g5a_evidence"},
		"read only":   {func(p *change.Plan) { p.Evidence.Posture = change.PostureReadOnly }, "g5a_evidence"},
		"software":    {func(p *change.Plan) { p.Evidence.Assurance = change.AssuranceSoftware }, "g5a_evidence"},
		"anomaly":     {func(p *change.Plan) { p.Status = "blocked_anomaly_detected" }, "g5a_evidence"},
	} {
		a := ask(t)
		a.preview(t, row.spoil)
		check(t, what, row.want, submitAsking(t, a))
	}
}

func TestA11TheTargetHasChangedSinceThePreview(t *testing.T) {
	for what, row := range map[string]struct {
		spoil func(*asking)
		want  record.Reason
	}{
		"description":    {func(a *asking) { a.appliance.SetDescr(name, "Older text") }, "g5b_intent"},
		"address order":  {func(a *asking) { a.row(func(r *aliastest.Row) { r.Address = []string{"192.0.2.11", "192.0.2.10"} }) }, "g5b_intent"},
		"details":        {func(a *asking) { a.row(func(r *aliastest.Row) { r.Detail = []string{"a"} }) }, "g5b_intent"},
		"type":           {func(a *asking) { a.row(func(r *aliastest.Row) { r.Type = "network" }) }, "g5b_intent"},
		"a foreign type": {func(a *asking) { a.row(func(r *aliastest.Row) { r.Type = "url" }) }, "g5b_target"},
		"position":       {func(a *asking) { a.drop("a0") }, "g5b_locator"},
		"gone":           {func(a *asking) { a.drop(name) }, "g5b_target"},
		"twice": {func(a *asking) {
			a.appliance.Change(func(s *aliastest.State) { s.Rows = append(s.Rows, aliastest.Row{Name: name, Type: "host"}) })
		}, "g5b_target"},
		"500 rows": {func(a *asking) {
			a.appliance.Change(func(s *aliastest.State) {
				for len(s.Rows) < 500 {
					s.Rows = append(s.Rows, aliastest.Row{Name: "n" + change.NewID("")[:8], Type: "port"})
				}
			})
		}, "g5b_read"},
		"a row that cannot be read": {func(a *asking) { a.appliance.Change(func(s *aliastest.State) { s.Rows[0].Raw = "{}" }) }, "g5b_read"},
		"the new text by somebody":  {func(a *asking) { a.appliance.SetDescr(name, text) }, "g5b_no_op"},
		"a change of a second ago": {func(a *asking) {
			a.appliance.Change(func(s *aliastest.State) { s.History = []time.Time{a.Clock.Read().Wall} })
		}, "g5b_busy"},
		"representation never seen":    {func(a *asking) { a.names = "" }, "g5b_settings"},
		"the representation of before": {func(a *asking) { a.appliance.Change(func(s *aliastest.State) { s.InterfaceNames = "if" }) }, "g5b_settings"},
	} {
		a := ask(t)
		row.spoil(a)
		check(t, what, row.want, submitAsking(t, a))
	}
}

// otherAuthority is a reader that trusts another authority.
func otherAuthority(t *testing.T, w *world) *alias.Reader {
	t.Helper()
	return must[*alias.Reader](t)(alias.New(alias.Config{
		Client: w.appliance, BaseURL: aliastest.BaseURL, TLSMode: "auto", CADigest: strings.Repeat("cd", 32), Now: func() time.Time { return w.Clock.Read().Wall },
	}))
}

func TestAPolicyThatBecameStricterRefusesTheText(t *testing.T) {
	const hidden = "zero\u200bwidth"
	for charset, want := range map[change.Charset]record.Reason{change.Stored: "", change.Printable: "g5b_policy", "": "g5b_policy"} {
		w := newWorld(t)
		w.policy.Charset = charset
		r := must[record.Request](t)(w.Request(name, hidden))
		a := &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, hidden).Artifact, artifacttest.KeyA())}
		if d := submitAsking(t, a); want != "" {
			check(t, string(charset), want, d)
		} else if d != nil {
			t.Errorf("%q: %v", charset, d)
		}
	}
}

// reconciling plays a contract of another alias into reconciliation.
func (w *world) reconciling(t *testing.T, alias string, x store.Exchange) record.Contract {
	t.Helper()
	wish := "x"
	if alias == name {
		wish = text
	}
	c := must[record.Contract](t)(w.Sent(alias, wish))
	return must[record.Contract](t)(w.S.Settle(c.At(), record.Reconciliation, "ambiguous_response", x))
}

func TestR4ThreeUnknownOutcomesLockEverythingNewOut(t *testing.T) {
	w := newWorld(t)
	for i, other := range []string{"a0", "a1", "a2"} {
		w.reconciling(t, other, store.Exchange{Answered: true, Took: time.Second})
		r := must[record.Request](t)(w.Request(name, text))
		a := &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())}
		d := submitAsking(t, a)
		if i < 2 && d != nil {
			t.Errorf("%d unknown: %v", i+1, d)
		}
		if i == 2 {
			check(t, "three unknown", "g5a_lockout", d)
		}
		if err := w.S.CancelRequest(r.RequestID, record.Cancelled, "operator:0"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReview01NothingPassesWhileAWriteMayStillLand(t *testing.T) {
	w := newWorld(t)
	w.reconciling(t, "a0", store.Exchange{})
	r := must[record.Request](t)(w.Request(name, text))
	a := &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())}
	check(t, "at once", "g5a_landing", submitAsking(t, a))
	w.Clock.Pass(899 * time.Second)
	a.draft = of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())
	check(t, "a second before", "g5a_landing", submitAsking(t, a))
	w.Clock.Pass(time.Second)
	if d := submitAsking(t, a); d != nil {
		t.Errorf("after 900 s: %v", d)
	}
}

func TestAnAttemptUnderWayIsToldFromAMovedCounter(t *testing.T) {
	a := ask(t)
	c := must[record.Contract](t)(a.Play.Authorize("a0", "x"))
	c = must[record.Contract](t)(a.Confirm(c))
	c = must[record.Contract](t)(a.S.BeginExecution(c.At(), a.Witness))
	check(t, "an increment that is pending", "g5a_counter", submitAsking(t, a))

	// The same with the increment done: the plan is that of the next value.
	if err := a.Advance(c); err != nil {
		t.Fatal(err)
	}
	check(t, "an increment that was made", "g5a_digest", submitAsking(t, a))
	a.spoil = func(p *change.Plan) { *p = artifacttest.Plan() }
	check(t, "an attempt under way", "g5a_in_flight", submitAsking(t, a))
}

func TestTheCounterIsReadBesideThePlan(t *testing.T) {
	a := ask(t)
	a.countErr = errs.New(errs.Unavailable, "the TPM does not answer").WithClass("anchor_unavailable")
	d := submitAsking(t, a)
	check(t, "no counter", "g5a_unavailable", d)
	if errs.CodeOf(d) != errs.Unavailable {
		t.Errorf("%v", d.Err)
	}
	a = ask(t)
	a.counted = artifacttest.Number(42)
	check(t, "another counter", "g5a_counter", submitAsking(t, a))
}

func TestATargetInItsCooldownOrHeldByAFailedRollbackWaits(t *testing.T) {
	w := newWorld(t)
	must[record.Contract](t)(w.Verified(name, "First text"))
	r := must[record.Request](t)(w.Request(name, text))
	a := &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())}
	check(t, "cooldown", "g5b_rate", submitAsking(t, a))
	w.Clock.Pass(90 * time.Second)
	if d := submitAsking(t, a); d != nil {
		t.Errorf("after the cooldown: %v", d)
	}

	w = newWorld(t)
	c := must[record.Contract](t)(w.Verified(name, "First text"))
	confirmation, authorization := w.Undo(c)
	c = must[record.Contract](t)(w.S.BeginRollback(c.At(), confirmation, authorization, w.Witness, "operator:0"))
	must[record.Contract](t)(w.S.AnchorRefused(c.At(), w.Witness))
	w.Clock.Pass(2 * time.Minute)
	r = must[record.Request](t)(w.Request(name, text))
	a = &asking{world: w, r: r, draft: of(t, w.Authorization(r, name, text).Artifact, artifacttest.KeyA())}
	check(t, "held", "g5b_rate", submitAsking(t, a))
}

func TestA15WhatWasSignedBeforeARebaselineIsVoid(t *testing.T) {
	a := ask(t)
	artefact, file := a.Rebaseline(artifact.ReasonCounterUsed)
	if err := a.S.Rebaseline(file, artefact, a.Witness, "operator:0"); err != nil {
		t.Fatal(err)
	}
	check(t, "at the floor", "g3_floor", submitAsking(t, a))
	a.Clock.Pass(time.Second)
	a.draft = of(t, a.Authorization(a.r, name, text).Artifact, artifacttest.KeyA())
	if d := submitAsking(t, a); d != nil {
		t.Errorf("signed after it: %v", d)
	}
}

func TestAClockBehindRegressedOrJumpedDenies(t *testing.T) {
	for what, move := range map[string]func(*asking){
		"behind":    func(a *asking) { a.Clock.Set(-16 * time.Second) },
		"jumped":    func(a *asking) { a.Clock.Set(61 * time.Second) },
		"regressed": func(a *asking) { a.Clock.Reboot(); a.Clock.Set(-10 * time.Minute) },
	} {
		a := ask(t)
		move(a)
		check(t, what, "g3_clock", submitAsking(t, a))
	}
	a := ask(t)
	a.Clock.Set(-5 * time.Second)
	if d := submitAsking(t, a); d != nil {
		t.Errorf("within the tolerance: %v", d)
	}
}

func TestAStoreThatCannotBeReadDeniesAndSaysSo(t *testing.T) {
	bare := func(a *asking) *Denied {
		_, d := a.submit(t)
		asked(t, a.world, "a store that cannot be read", "quarantine", "view")
		return d
	}
	a := ask(t)
	a.viewErr = errs.New(errs.Unavailable, "the store is damaged").WithClass(record.Class)
	check(t, "damaged", "store_integrity", bare(a))
	a = ask(t)
	a.viewErr = errs.Wrap(&artifact.Fault{Member: name, Rule: text}, errs.Unavailable, "the store cannot be read").WithClass("no_word_of_the_list")
	check(t, "a rule in the chain", "store_read", bare(a))
	a = ask(t)
	a.viewErr = &canon.Error{Rule: text}
	d := bare(a)
	if d == nil || d.Reason != "store_read" || errs.CodeOf(d) != errs.Unavailable {
		t.Errorf("%v", d)
	}
}

func TestReview30APreviewReplacesTheFormerOne(t *testing.T) {
	for after, want := range map[time.Duration]record.Reason{30 * time.Second: "", 31 * time.Second: "g4_age"} {
		a := ask(t)
		issued := a.Clock.Read().Wall
		a.Clock.Pass(after)
		must[record.Request](t)(a.Preview(a.r, name, text)) // with the same digests
		a.draft.at("issued_at", issued)
		if d := submitAsking(t, a); want != "" {
			check(t, after.String(), want, d)
		} else if d != nil {
			t.Errorf("%s: %v", after, d)
		}
	}
}

func TestA6TheChangeIsRebuiltFromWhatWasAskedFor(t *testing.T) {
	// A preview, and a signature over it, of another text than that of the request.
	a := ask(t)
	a.r = must[record.Request](t)(a.Preview(a.r, name, "Another text"))
	a.draft = of(t, a.Authorization(a.r, name, "Another text").Artifact, artifacttest.KeyA())
	check(t, "another text", "g5b_intent", submitAsking(t, a))
}
