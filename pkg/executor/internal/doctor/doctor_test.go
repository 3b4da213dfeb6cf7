package doctor

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/proto/executor/v1"
)

// patient is an executord in good health, to be made ill.
type patient struct {
	*storetest.Play
	facts     Facts
	found     ceremony.Discovery
	report    *store.Report
	verify    error
	appliance *aliastest.Appliance
}

func (p *patient) Discover(context.Context) ceremony.Discovery { return p.found }

func (p *patient) View(f func(*store.View) error) error { return p.S.View(f) }

func (p *patient) Verify(context.Context, string) (store.Report, error) {
	if p.report != nil || p.verify != nil {
		if p.report == nil {
			return store.Report{}, p.verify
		}
		return *p.report, p.verify
	}
	return p.S.Verify("")
}

func healthy(t *testing.T) *patient {
	t.Helper()
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	c.Seam = storetest.Unsynced()
	s := storetest.Create(t, c)
	t.Cleanup(func() { _ = s.Close() })
	p := &patient{Play: &storetest.Play{T: t, S: s, Clock: clock, Witness: storetest.Seed().Value}, appliance: aliastest.New()}
	p.facts = Facts{
		Version: "1.0.0", Enabled: true, TLSMode: "auto", Sealed: true, Authorities: artifacttest.Owners(),
		Permissions: func() error { _, err := store.Exists(c); return err },
		Appliance:   p.appliance.Reader(t, nil),
	}
	p.found = ceremony.Discovery{
		Status: ceremony.Status{Constructible: true}, Evidence: artifacttest.Plan().Evidence,
		Facts:       anchor.Facts{Backend: anchor.TPMLocal, Index: 0x01500000, Assurance: anchor.HardwareWitness, Defined: true, Written: true},
		StoreExists: true, Seeded: true, Complete: true, Endpoints: 1,
	}
	return p
}

// run returns the checks by id.
func run(t *testing.T, p *patient) map[string]*executorpb.Check {
	t.Helper()
	out := map[string]*executorpb.Check{}
	for _, c := range Run(t.Context(), p.facts, p) {
		out[c.GetCheckId()] = c
		if len(c.GetDescription()) > 200 || len(c.GetDetail()) > 300 || len(c.GetNext()) > 300 || c.GetDescription() == "" || c.GetStatus() == 0 {
			t.Errorf("%v", c)
		}
		if c.GetStatus() != executorpb.Check_STATUS_PASS && c.GetDetail() == "" {
			t.Errorf("%s is not well and says nothing", c.GetCheckId())
		}
		if bad := regexp.MustCompile(`/|https|\d+\.\d+\.\d+\.\d+`).FindString(c.GetDetail() + c.GetNext()); bad != "" {
			t.Errorf("%s names %q: %v", c.GetCheckId(), bad, c)
		}
	}
	return out
}

func TestAHealthyExecutordPassesEveryCheckInItsOrder(t *testing.T) {
	p := healthy(t)
	var ids []string
	for _, c := range Run(t.Context(), p.facts, p) {
		ids = append(ids, c.GetCheckId())
		if c.GetStatus() != executorpb.Check_STATUS_PASS || c.GetNext() != "" {
			t.Errorf("%v", c)
		}
	}
	want := strings.Fields(`executor.version config.complete authorities.disjoint authorities.pinned tls.not_insecure appliance.identity
appliance.package_version store.permissions store.space store.integrity anchor.provisioned anchor.verified anchor.assurance anchor.lockout keys.sealed
clock.sane rate.lockout_clear requests.none_stuck endpoints.single_entry lab test_build`)
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsIllIsNamedAndSaysWhatToDo(t *testing.T) {
	coded := func(class string) error { return errs.New(errs.Unavailable, "outside /etc https://x").WithClass(class) }
	const (
		warned    = executorpb.Check_STATUS_WARN
		failed    = executorpb.Check_STATUS_FAIL
		isUnknown = executorpb.Check_STATUS_UNKNOWN
		notThere  = executorpb.Check_STATUS_NOT_CONFIGURED
	)
	for _, row := range []struct {
		name, id string
		status   executorpb.Check_Status
		part     string // of detail or next
		ill      func(*patient)
	}{
		{"switched off", "config.complete", notThere, "write.enabled", func(p *patient) { p.facts.Enabled = false }},
		{"quarantine", "config.complete", failed, "anchor_mismatch", func(p *patient) { p.found.Status = ceremony.Status{Quarantine: "anchor_mismatch"} }},
		{"not ready", "config.complete", failed, "unprovisioned", func(p *patient) { p.found.Status = ceremony.Status{Why: "unprovisioned"} }},
		{"one key for two", "authorities.disjoint", failed, "share", func(p *patient) {
			p.facts.Authorities.Confirmation = p.facts.Authorities.Authorization
		}},
		{"no owner", "authorities.pinned", failed, "no key", func(p *patient) { p.facts.Authorities = &authority.Set{} }},
		{"no authorities", "authorities.pinned", isUnknown, "", func(p *patient) { p.facts.Authorities = nil }},
		{"no TLS mode", "tls.not_insecure", failed, "certificate", func(p *patient) { p.facts.TLSMode = "off" }},
		{"another appliance", "appliance.identity", failed, "another one", func(p *patient) {
			if _, err := p.Authorize("web", "x"); err != nil {
				p.T.Fatal(err)
			}
			if c := Run(p.T.Context(), p.facts, p)[5]; c.GetStatus() != executorpb.Check_STATUS_PASS {
				p.T.Errorf("the same one: %v", c)
			}
			p.appliance.Change(func(s *aliastest.State) { s.NetgateID = "3210fedcba9876543210" })
		}},
		{"no appliance", "appliance.identity", isUnknown, "read", func(p *patient) {
			p.appliance.Change(func(s *aliastest.State) { s.NetgateID, s.HostID = "", "" })
		}},
		{"another version", "appliance.package_version", failed, "proven", func(p *patient) { p.appliance.Change(func(s *aliastest.State) { s.Version = "v2.7.7" }) }},
		{"links", "appliance.package_version", failed, "setting", func(p *patient) { p.appliance.Change(func(s *aliastest.State) { s.Links = true }) }},
		{"nobody asked", "appliance.package_version", isUnknown, "not asked", func(p *patient) { p.facts.Appliance = nil }},
		{"open directory", "store.permissions", failed, "0700", func(p *patient) { p.facts.Permissions = func() error { return coded("store_permissions") } }},
		{"full disk", "store.space", failed, "make room", func(p *patient) { p.facts.Permissions = func() error { return coded("disk_full") } }},
		{"cannot look", "store.permissions", isUnknown, "", func(p *patient) { p.facts.Permissions = func() error { return errors.New("outside /etc") } }},
		{"damage", "store.integrity", failed, "chain_row at audit row 3", func(p *patient) {
			p.report, p.verify = &store.Report{Finding: &store.Finding{Class: "chain_row", Seq: 3}}, coded("store_integrity")
		}},
		{"damaged pages", "store.integrity", failed, "pages", func(p *patient) { p.report = &store.Report{Finding: &store.Finding{Class: "pages"}} }},
		{"unreadable", "store.integrity", isUnknown, "store_read", func(p *patient) { p.verify = coded("store_read") }},
		{"a backup", "store.integrity", failed, "rebaseline", func(p *patient) { p.report = &store.Report{Restored: true} }},
		{"one root", "store.integrity", warned, "disk", func(p *patient) { p.report = &store.Report{Fallback: true} }},
		{"no store", "store.integrity", notThere, "mcpctl anchor status", func(p *patient) { p.found.StoreExists = false }},
		{"no record", "anchor.provisioned", notThere, "mcpctl anchor status", func(p *patient) { p.found.Complete = false }},
		{"mismatch", "anchor.verified", failed, "rebaseline", func(p *patient) { p.found.Evidence.Anchor = change.EvidenceMismatch }},
		{"unreachable", "anchor.verified", failed, "TPM", func(p *patient) { p.found.Evidence.Anchor = change.EvidenceUnreachable }},
		{"unprovisioned", "anchor.verified", notThere, "", func(p *patient) { p.found.Evidence.Anchor = change.EvidenceUnprovisioned }},
		{"software", "anchor.assurance", failed, "snapshot", func(p *patient) { p.found.Facts.Assurance = anchor.Software }},
		{"software in a lab", "anchor.assurance", warned, "laboratory", func(p *patient) { p.found.Facts.Assurance, p.found.Status.Lab = anchor.Software, true }},
		{"not known", "anchor.assurance", isUnknown, "", func(p *patient) { p.found.Facts.Assurance = anchor.Unknown }},
		{"lockout", "anchor.lockout", failed, "lockout", func(p *patient) { p.found.Facts.Lockout = true }},
		{"no TPM", "anchor.lockout", isUnknown, "", func(p *patient) { p.found.Facts = anchor.Facts{} }},
		{"plain files", "keys.sealed", warned, "LoadCredentialEncrypted", func(p *patient) { p.facts.Sealed = false }},
		{"a little behind", "clock.sane", warned, "behind", func(p *patient) { p.Clock.Set(-10 * time.Second) }},
		{"far behind", "clock.sane", failed, "clock_poisoned", func(p *patient) { p.Clock.Reboot(); p.Clock.Set(-10 * time.Minute) }},
		{"jump", "clock.sane", failed, "jumped", func(p *patient) { p.Clock.Set(10 * time.Minute) }},
		{"landing", "rate.lockout_clear", warned, "may still land", func(p *patient) { uncertain(p, "web") }},
		{"open outcome", "requests.none_stuck", warned, "reconcile", func(p *patient) { uncertain(p, "web") }},
		{"under way", "rate.lockout_clear", warned, "under way", func(p *patient) {
			if _, err := p.Sent("web", "x"); err != nil {
				p.T.Fatal(err)
			}
		}},
		{"hanging", "requests.none_stuck", failed, "under way", func(p *patient) {
			if _, err := p.Sent("web", "x"); err != nil {
				p.T.Fatal(err)
			}
			p.Clock.Pass(11 * time.Minute)
		}},
		{"not begun", "requests.none_stuck", warned, "mcpctl write resume", func(p *patient) {
			c, err := p.Authorize("web", "x")
			if err == nil {
				_, err = p.Confirm(c)
			}
			if err != nil {
				p.T.Fatal(err)
			}
			p.Clock.Pass(11 * time.Minute)
		}},
		{"laboratory", "lab", warned, "software", func(p *patient) { p.found.Status.Lab = true }},
		{"test build", "test_build", failed, "shortened", func(p *patient) { p.found.Status.TestBuild = true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := healthy(t)
			row.ill(p)
			c := run(t, p)[row.id]
			if c.GetStatus() != row.status || !strings.Contains(c.GetDetail()+" "+c.GetNext(), row.part) {
				t.Errorf("%v", c)
			}
			if row.status != isUnknown && c.GetNext() == "" {
				t.Errorf("%s says not what to do", row.id)
			}
		})
	}
}

// uncertain leaves a change whose outcome nobody knows.
func uncertain(p *patient, name string) {
	c, err := p.Sent(name, "x")
	if err == nil {
		_, err = p.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{})
	}
	if err != nil {
		p.T.Fatal(err)
	}
}

func TestThreeOpenOutcomesAreALockout(t *testing.T) {
	p := healthy(t)
	for _, name := range []string{"web", "db", "mail"} {
		uncertain(p, name)
		p.Clock.Pass(901 * time.Second)
	}
	c := run(t, p)["rate.lockout_clear"]
	if c.GetStatus() != executorpb.Check_STATUS_FAIL || !strings.Contains(c.GetNext(), "reconcile") {
		t.Errorf("%v", c)
	}
}

// The doctor looks: the store is the same afterwards, the counter has not moved, and
// of the appliance only what precedes every change was asked.
func TestTheDoctorChangesNothing(t *testing.T) {
	p := healthy(t)
	if _, err := p.Verified("web", "x"); err != nil {
		t.Fatal(err)
	}
	before := state(t, p)
	for range 3 {
		run(t, p)
	}
	if after := state(t, p); after != before {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if n := len(p.appliance.Calls()); n == 0 || n > 3*8 {
		t.Errorf("%d reads of the appliance", n)
	}
}

func state(t *testing.T, p *patient) (a record.Anchor) {
	t.Helper()
	if err := p.S.View(func(v *store.View) error {
		row, err := v.Anchor()
		if err == nil {
			a = *row
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return a
}

// A store that cannot be read makes checks unknown and ends none of the others.
func TestAStoreThatCannotBeReadLeavesTheOtherChecks(t *testing.T) {
	p := healthy(t)
	all := Run(t.Context(), p.facts, blind{p})
	if len(all) != len(checks) {
		t.Fatalf("%d of %d checks", len(all), len(checks))
	}
	unknowns := 0
	for _, c := range all {
		if c.GetStatus() == executorpb.Check_STATUS_UNKNOWN {
			unknowns++
		}
	}
	if unknowns != 4 {
		t.Errorf("%d unknown", unknowns)
	}
}

type blind struct{ *patient }

func (blind) View(func(*store.View) error) error { return io.ErrUnexpectedEOF }
