package admin

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/proto/admin/v1"
)

// appliance answers every question with err.
type appliance struct {
	err   error
	asked []pfrest.Endpoint
	pages []pfrest.Page
	reset bool
}

func (a *appliance) Get(_ context.Context, _ pfrest.Caller, e pfrest.Endpoint, p pfrest.Page) (pfrest.Answer, error) {
	a.asked, a.pages = append(a.asked, e), append(a.pages, p)
	return pfrest.Answer{}, a.err
}

func (a *appliance) State() pfrest.State {
	return pfrest.State{KeyRefused: true, Paths: []pfrest.PathState{{Endpoint: "/api/v2/x", Open: true}, {Endpoint: "/api/v2/y"}}}
}
func (a *appliance) ResetBreakers() { a.reset = true }

func TestEveryRPCHasARow(t *testing.T) {
	if err := rpc.CheckTable(Methods(), &adminpb.Mcpd_ServiceDesc); err != nil {
		t.Error(err)
	}
	if err := rpc.CheckTable(Methods()[1:], &adminpb.Mcpd_ServiceDesc); err == nil {
		t.Error("a missing row is not found")
	}
	for _, m := range Methods() {
		if m.Callers != rpc.Operators {
			t.Errorf("%s is open to others than operators", m.Full)
		}
	}
}

func TestAProbeAsksOneThingAndReadsTheAnswerAsAVerdict(t *testing.T) {
	classed := func(class string) error { return errs.New(errs.Unavailable, "x").WithClass(class) }
	for _, tt := range []struct {
		err     error
		verdict adminpb.ProbeResponse_Verdict
		problem string
	}{
		{nil, adminpb.ProbeResponse_VERDICT_GRANTED, ""},
		{classed(pfrest.ClassAuthorization), adminpb.ProbeResponse_VERDICT_MISSING, ""},
		{classed(pfrest.ClassPackageAbsent), adminpb.ProbeResponse_VERDICT_GRANTED, ""},
		{classed(pfrest.ClassAuthentication), adminpb.ProbeResponse_VERDICT_UNKNOWN, "authentication"},
		{classed(pfrest.ClassTimeout), adminpb.ProbeResponse_VERDICT_UNKNOWN, "timeout"},
	} {
		a := &appliance{err: tt.err}
		got, err := New(nil, a, nil, nil, About{}).Probe(t.Context(), &adminpb.ProbeRequest{Privilege: "api-v2-firewall-rules-get"})
		if err != nil || got.GetVerdict() != tt.verdict || got.GetProblem() != tt.problem {
			t.Errorf("%v: %v %v", tt.err, got, err)
		}
		if len(a.asked) != 1 || a.asked[0] != "/api/v2/firewall/rules" || a.pages[0].Limit != 1 || !slices.Contains(got.GetTools(), "pfsense_get_firewall_rules") {
			t.Errorf("asked %v %v, tools %v", a.asked, a.pages, got.GetTools())
		}
	}
	if _, err := New(nil, &appliance{}, nil, nil, About{}).Probe(t.Context(), &adminpb.ProbeRequest{Privilege: "page-all"}); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("a privilege that no tool needs: %v", err)
	}
}

func TestEveryPrivilegeCanBeProbedAndProbesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &appliance{}
		s := New(nil, a, nil, nil, About{})
		began := time.Now()
		n := 0
		for _, row := range catalog.Tools() {
			if row.Path == "" {
				continue
			}
			n++
			if _, err := s.Probe(t.Context(), &adminpb.ProbeRequest{Privilege: catalog.Privilege(row)}); err != nil {
				t.Errorf("%s: %v", row.Name, err)
			}
		}
		if w := time.Since(began); len(a.asked) != n || w < time.Duration(n-1)*probeEvery {
			t.Errorf("%d probes in %v", len(a.asked), w)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Probe(ctx, &adminpb.ProbeRequest{Privilege: "api-v2-firewall-rules-get"}); errs.CodeOf(err) != errs.Expired || len(a.asked) != n {
			t.Errorf("a probe out of time: %v", err)
		}
	})
}

func TestAResetNamesWhatItClosed(t *testing.T) {
	a := &appliance{}
	got, err := New(nil, a, nil, nil, About{}).ResetBreakers(t.Context(), nil)
	if err != nil || !a.reset || strings.Join(got.GetClosed(), " ") != "credential /api/v2/x" {
		t.Errorf("%v %v", got, err)
	}
}

// keyFile is a file whose content tests change.
type keyFile struct {
	content  string
	err      error
	redacted []string
	used     []string
	useErr   error
}

func (f *keyFile) key(t *testing.T) *Key {
	t.Helper()
	k, err := NewKey(
		func() (secretfile.Secret, error) { return secretfile.New([]byte(f.content)), f.err },
		func(b []byte) { f.redacted = append(f.redacted, string(b)) })
	if err != nil {
		t.Fatal(err)
	}
	k.OnChange(func(s secretfile.Secret) error {
		if !slices.Contains(f.redacted, string(s.Bytes())) {
			t.Error("a key is used before the log hides it")
		}
		f.used = append(f.used, string(s.Bytes()))
		return f.useErr
	})
	return k
}

func TestAReloadTakesAGoodKeyAndKeepsTheOldOneOtherwise(t *testing.T) {
	f := &keyFile{content: "old-key"}
	k := f.key(t)
	a := New(nil, &appliance{}, k, nil, About{})
	reload := func() (bool, error) {
		r, err := a.Reload(t.Context(), nil)
		return r.GetKeyChanged(), err
	}
	if changed, err := reload(); changed || err != nil {
		t.Errorf("the same key: %v %v", changed, err)
	}
	f.err = errs.New(errs.Invalid, "bad file")
	if _, err := reload(); err == nil || string(k.Secret().Bytes()) != "old-key" {
		t.Errorf("a bad file: %v", err)
	}
	f.err, f.content, f.useErr = nil, "new-key", errs.New(errs.Invalid, "unusable")
	if _, err := reload(); err == nil || string(k.Secret().Bytes()) != "old-key" {
		t.Errorf("an unusable key: %v", err)
	}
	f.useErr = nil
	if changed, err := reload(); !changed || err != nil || string(k.Secret().Bytes()) != "new-key" {
		t.Errorf("a new key: %v %v", changed, err)
	}
	f.err = errs.New(errs.Invalid, "bad file")
	if _, err := NewKey(func() (secretfile.Secret, error) { return secretfile.Secret{}, f.err }, func([]byte) {}); err == nil {
		t.Error("a start with a bad key file")
	}
}

func TestReview29AKeyAnswersSixChallengesAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(nil, &appliance{}, (&keyFile{content: "the-key"}).key(t), nil, About{})
		challenge := bytes.Repeat([]byte{7}, 32)
		h := hmac.New(sha256.New, []byte("the-key"))
		_, _ = h.Write(challenge)
		for range challengesAMinute {
			got, err := a.KeyChallenge(t.Context(), &adminpb.KeyChallengeRequest{Challenge: challenge})
			if err != nil || !hmac.Equal(got.GetHmac(), h.Sum(nil)) {
				t.Fatalf("%x %v", got.GetHmac(), err)
			}
		}
		if _, err := a.KeyChallenge(t.Context(), &adminpb.KeyChallengeRequest{Challenge: challenge}); errs.CodeOf(err) != errs.Exhausted {
			t.Errorf("the seventh: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := a.KeyChallenge(t.Context(), &adminpb.KeyChallengeRequest{Challenge: challenge}); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		if _, err := a.KeyChallenge(t.Context(), &adminpb.KeyChallengeRequest{Challenge: challenge[:31]}); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("31 bytes: %v", err)
		}
	})
}
