package doctor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi/contract"
	adminpb "pfsensemcp/proto/admin/v1"
	docspb "pfsensemcp/proto/docs/v1"
	executorpb "pfsensemcp/proto/executor/v1"
	nodepb "pfsensemcp/proto/node/v1"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// site is a suite and its appliance, all well until a test breaks something.
type site struct {
	adminpb.McpdClient

	suiteErr error
	members  []*adminpb.Member
	facts    *adminpb.ApplianceFactsResponse
	probe    func(privilege string) (adminpb.ProbeResponse_Verdict, string)
	probed   []string
	accounts map[string]*adminpb.AccountPrivilegesResponse
	document *contract.Contract

	checks   []*executorpb.Check
	execErr  error
	readKey  string
	writeKey string
	account  string
	backend  string
}

func healthy() *site {
	s := &site{
		facts: &adminpb.ApplianceFactsResponse{
			TlsMode: "auto", Pinned: true, Pin: "cGlu", CertificateNotAfter: now.Add(90 * 24 * time.Hour).Unix(),
			ClockSeen: true, ClockAheadMs: 300, PfsenseVersion: "2.8.1", PackageVersion: "v2.10.0", DocumentPublic: adminpb.Known_KNOWN_YES,
			Hateoas: adminpb.Known_KNOWN_NO, InterfaceNames: "descr", ReadOnly: adminpb.Known_KNOWN_NO, LoginProtection: adminpb.Known_KNOWN_YES,
			ExposesSecrets: adminpb.Known_KNOWN_NO, Carp: adminpb.Known_KNOWN_NO, CarpBackup: adminpb.Known_KNOWN_NO, CarpMaintenance: adminpb.Known_KNOWN_NO,
			Privileges: []string{"api-v2-firewall-aliases-get", "api-v2-firewall-rules-get", "api-v2-system-version-get"}, Identity: "reader",
		},
		probe: func(string) (adminpb.ProbeResponse_Verdict, string) { return adminpb.ProbeResponse_VERDICT_GRANTED, "" },
		accounts: map[string]*adminpb.AccountPrivilegesResponse{
			"":       {Found: adminpb.Known_KNOWN_YES, Privileges: []string{"api-v2-firewall-rules-get"}},
			"writer": {Found: adminpb.Known_KNOWN_YES, Privileges: catalog.ExecutorPrivileges()},
		},
		checks: []*executorpb.Check{
			{CheckId: "config.complete", Description: "complete", Status: executorpb.Check_STATUS_PASS},
			{CheckId: "store.integrity", Description: "sound", Status: executorpb.Check_STATUS_PASS, Detail: "3 rows", Next: "look"},
			{CheckId: "anchor.verified", Description: "equal", Status: executorpb.Check_STATUS_PASS, Detail: "5"},
		},
		readKey: "read", writeKey: "write", account: "writer",
	}
	for _, name := range daemons {
		s.members = append(s.members, &adminpb.Member{Name: name, Reachable: true, Status: &nodepb.StatusResponse{
			Name: name, Version: "v1", StartedAt: now.Add(-time.Hour).Unix(),
			Sandbox: &nodepb.Sandbox{Mode: "require", Enforced: []string{"seccomp", "landlock"}},
		}})
	}
	s.document = &contract.Contract{Format: contract.Format, Version: "2.10.0", DocumentHash: strings.Repeat("ab", 32), Operations: map[string]contract.Operation{}, Models: map[string]contract.Model{"M": {}}}
	for _, path := range []string{"/api/v2/firewall/aliases", "/api/v2/firewall/rules", "/api/v2/system/version"} {
		s.document.Operations[contract.Key("GET", path)] = contract.Operation{Privileges: []string{"page-all", catalog.PrivilegeFor(path, "GET")}}
	}
	for _, e := range catalog.ExecutorEndpoints() {
		s.document.Operations[contract.Key(e.Method, e.Path)] = contract.Operation{Privileges: []string{"page-all", catalog.PrivilegeFor(e.Path, e.Method)}}
	}
	return s
}

func (s *site) Suite(context.Context, *adminpb.SuiteRequest, ...grpc.CallOption) (*adminpb.SuiteResponse, error) {
	return &adminpb.SuiteResponse{Members: s.members}, s.suiteErr
}

func (s *site) ApplianceFacts(context.Context, *adminpb.ApplianceFactsRequest, ...grpc.CallOption) (*adminpb.ApplianceFactsResponse, error) {
	if s.facts == nil {
		return nil, errors.New("gone")
	}
	return s.facts, nil
}

func (s *site) Probe(_ context.Context, r *adminpb.ProbeRequest, _ ...grpc.CallOption) (*adminpb.ProbeResponse, error) {
	s.probed = append(s.probed, r.GetPrivilege())
	v, class := s.probe(r.GetPrivilege())
	return &adminpb.ProbeResponse{Verdict: v, Problem: class}, nil
}

func (s *site) AccountPrivileges(_ context.Context, r *adminpb.AccountPrivilegesRequest, _ ...grpc.CallOption) (*adminpb.AccountPrivilegesResponse, error) {
	if a := s.accounts[r.GetAccount()]; a != nil {
		return a, nil
	}
	return &adminpb.AccountPrivilegesResponse{Found: adminpb.Known_KNOWN_NO}, nil
}

// chunks is a stream of a contract.
type chunks struct {
	grpc.ServerStreamingClient[docspb.ContractChunk]
	left []*docspb.ContractChunk
}

func (c *chunks) Recv() (*docspb.ContractChunk, error) {
	if len(c.left) == 0 {
		return nil, io.EOF
	}
	next := c.left[0]
	c.left = c.left[1:]
	return next, nil
}

func (s *site) ApplianceContract(context.Context, *adminpb.ApplianceContractRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[docspb.ContractChunk], error) {
	b, err := s.document.Encode()
	if err != nil {
		return nil, err
	}
	c := &chunks{}
	err = contract.Send(b, &docspb.Source{}, func(x *docspb.ContractChunk) error { c.left = append(c.left, x); return nil })
	return c, err
}

func answer(key string, challenge []byte) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write(challenge)
	return h.Sum(nil)
}

type mcpd struct{ *site }

func (m mcpd) KeyChallenge(_ context.Context, r *adminpb.KeyChallengeRequest, _ ...grpc.CallOption) (*adminpb.KeyChallengeResponse, error) {
	return &adminpb.KeyChallengeResponse{Hmac: answer(m.readKey, r.GetChallenge())}, nil
}

func (e executorOf) KeyChallenge(_ context.Context, r *executorpb.KeyChallengeRequest, _ ...grpc.CallOption) (*executorpb.KeyChallengeResponse, error) {
	if len(r.GetChallenge()) != 32 || bytes.Equal(r.GetChallenge(), make([]byte, 32)) {
		return nil, errors.New("no challenge")
	}
	return &executorpb.KeyChallengeResponse{Hmac: answer(e.s.writeKey, r.GetChallenge())}, nil
}

// executorOf is executord's side of a site.
type executorOf struct {
	executorpb.AdminClient
	s *site
}

func (e executorOf) Doctor(context.Context, *executorpb.DoctorRequest, ...grpc.CallOption) (*executorpb.DoctorResponse, error) {
	return &executorpb.DoctorResponse{Checks: e.s.checks}, e.s.execErr
}

func (e executorOf) Discover(context.Context, *executorpb.DiscoverRequest, ...grpc.CallOption) (*executorpb.DiscoverResponse, error) {
	return &executorpb.DiscoverResponse{Identity: &executorpb.Identity{ApplianceAccount: e.s.account}, Anchor: &executorpb.Anchor{Backend: e.s.backend}}, nil
}

func (s *site) run(t *testing.T, change ...func(*Config)) *Report {
	t.Helper()
	c := Config{Suite: true, Write: true, Mcpd: mcpd{s}, Executor: executorOf{s: s}, Probes: true, Version: "v1", Now: func() time.Time { return now }}
	for _, f := range change {
		f(&c)
	}
	return Run(t.Context(), c)
}

// the finds a check, which there is once.
func (r *Report) the(t *testing.T, id string) Check {
	t.Helper()
	var found []Check
	for _, c := range r.Checks {
		if c.ID == id {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d checks are called %s", len(found), id)
	}
	return found[0]
}

func TestASiteWhereAllIsWellPassesEveryCheck(t *testing.T) {
	s := healthy()
	r := s.run(t)
	for _, c := range r.Checks {
		if c.Status != Pass || c.Description == "" || c.Next != "" {
			t.Errorf("%+v", c)
		}
	}
	if r.ExitCode(false) != ExitOK || r.ExitCode(true) != ExitOK {
		t.Errorf("exit %d, %d", r.ExitCode(false), r.ExitCode(true))
	}
	if !slices.Equal(s.probed, s.facts.Privileges) {
		t.Errorf("probed %v", s.probed)
	}
	if len(r.Tools) < 3 || slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Verdict != "allowed" }) {
		t.Errorf("tools %v", r.Tools)
	}
}

func TestEachFaultHasItsCheckItsStatusAndItsNextStep(t *testing.T) {
	yes, no, dunno := adminpb.Known_KNOWN_YES, adminpb.Known_KNOWN_NO, adminpb.Known_KNOWN_UNSPECIFIED
	for _, tt := range []struct {
		name   string
		breaks func(*site)
		id     string
		status Status
		exit   int
	}{
		{"a daemon is down", func(s *site) { s.members[1] = &adminpb.Member{Name: "guidanced", Problem: "down", Next: "start it"} }, "guidanced.reachable", Fail, 1},
		{"mcpd does not answer", func(s *site) {
			s.suiteErr, s.facts, s.members = errs.New(errs.Unavailable, "mcpd cannot be reached").WithNext("start it"), nil, nil
		}, "mcpd.reachable", Fail, 1},
		{"mcpd does not answer, and the others are not judged", func(s *site) { s.suiteErr, s.facts, s.members = errors.New("x"), nil, nil }, "docfetchd.reachable", Unknown, 1},
		{"a test build", func(s *site) { s.members[2].Status.TestBuild = true }, "docfetchd.reachable", Warn, 0},
		{"a lab", func(s *site) { s.members[3].Status.Lab = true }, "executord.reachable", Warn, 0},
		{"a wall that the kernel cannot give", func(s *site) { s.members[0].Status.Sandbox.Missing = []string{"landlock-tcp"} }, "sandbox.mcpd", Warn, 0},
		{"a daemon that runs as root", func(s *site) { s.members[0].Status.Sandbox.Missing = []string{"no_capabilities"} }, "sandbox.mcpd", Warn, 0},
		{"a sandbox that may lack walls", func(s *site) { s.members[0].Status.Sandbox.Mode = "available" }, "sandbox.mcpd", Warn, 0},
		{"no sandbox at all", func(s *site) { s.members[0].Status.Sandbox.Enforced = nil }, "sandbox.mcpd", Fail, 1},
		{"TestReview27 operators may use MCP", func(s *site) { s.members[0].Status.Notices = []string{"operators may use MCP"} }, "notice.mcpd", Warn, 0},
		{"two versions", func(s *site) { s.members[0].Status.Version = "v0" }, "versions.equal", Warn, 0},
		{"nobody is authenticated", func(s *site) { s.facts.TlsMode, s.facts.Pinned = "insecure", false }, "tls.verified", Fail, 1},
		{"the pin alone", func(s *site) { s.facts.TlsMode = "insecure" }, "tls.verified", Warn, 0},
		{"a certificate that has ended", func(s *site) { s.facts.CertificateNotAfter = now.Add(-time.Hour).Unix() }, "tls.certificate", Fail, 1},
		{"a certificate that ends soon", func(s *site) { s.facts.CertificateNotAfter = now.Add(time.Hour).Unix() }, "tls.certificate", Warn, 0},
		{"case 25: a key that is refused", func(s *site) { s.facts.KeyRefused = true }, "key.accepted", Fail, 1},
		{"case 22: a certificate that is not believed", func(s *site) { s.facts.LastClass = "tls" }, "appliance.reachable", Fail, 1},
		{"case 23: an appliance that is away", func(s *site) { s.facts.LastClass = "connection" }, "appliance.reachable", Fail, 1},
		{"case 26: an access list", func(s *site) { s.facts.LastClass = "policy" }, "appliance.reachable", Fail, 1},
		{"case 26: the API is off", func(s *site) { s.facts.LastClass = "api_disabled" }, "appliance.reachable", Fail, 1},
		{"clocks apart", func(s *site) { s.facts.ClockAheadMs = -300_000 }, "clock.appliance", Warn, 0},
		{"an old package", func(s *site) { s.facts.PackageVersion = "2.6.9" }, "appliance.package_version", Warn, 0},
		{"a new package", func(s *site) { s.facts.PackageVersion = "2.10.1" }, "appliance.package_version", Warn, 0},
		{"a package of no version", func(s *site) { s.facts.PackageVersion = "nightly" }, "appliance.package_version", Warn, 0},
		{"no document", func(s *site) { s.facts.PackageVersion, s.facts.DocumentProblem = "", "it was cut short" }, "appliance.package_version", Unknown, 0},
		{"HATEOAS", func(s *site) { s.facts.Hateoas = yes }, "appliance.hateoas", Fail, 1},
		{"settings that cannot be read", func(s *site) { s.facts.Hateoas = dunno }, "appliance.hateoas", Unknown, 0},
		{"no login protection", func(s *site) { s.facts.LoginProtection = no }, "appliance.login_protection", Warn, 0},
		{"secrets are exposed", func(s *site) { s.facts.ExposesSecrets = yes }, "appliance.sensitive_fields", Warn, 0},
		{"CARP maintenance", func(s *site) { s.facts.CarpMaintenance = yes }, "appliance.carp_maintenance", Warn, 0},
		{"interface names unknown", func(s *site) { s.facts.InterfaceNames = "" }, "appliance.interface_names", Unknown, 0},
		{"case 40: an endpoint that the version lacks", func(s *site) { delete(s.document.Operations, "GET /api/v2/firewall/rules") }, "schema.differences", Warn, 0},
		{"another privilege in the document", func(s *site) {
			s.document.Operations["GET /api/v2/firewall/rules"] = contract.Operation{Privileges: []string{"page-all", "other-get"}}
		}, "schema.differences", Warn, 0},
		{"case 32: a missing privilege", func(s *site) {
			s.probe = func(p string) (adminpb.ProbeResponse_Verdict, string) {
				if p == "api-v2-firewall-rules-get" {
					return adminpb.ProbeResponse_VERDICT_MISSING, ""
				}
				return adminpb.ProbeResponse_VERDICT_GRANTED, ""
			}
		}, "privileges.read", Fail, 1},
		{"probes without a verdict", func(s *site) {
			s.probe = func(string) (adminpb.ProbeResponse_Verdict, string) {
				return adminpb.ProbeResponse_VERDICT_UNKNOWN, "timeout"
			}
		}, "privileges.read", Unknown, 0},
		{"a READ user that may change", func(s *site) { s.accounts[""].Privileges = []string{"api-v2-firewall-alias-patch"} }, "privileges.read_only", Fail, 1},
		{"a READ user with all", func(s *site) { s.accounts[""].Privileges = []string{"page-all"} }, "privileges.read_only", Fail, 1},
		{"a READ user that is an administrator", func(s *site) { s.accounts[""].Administrator = true }, "privileges.read_only", Fail, 1},
		{"a READ user with the web interface", func(s *site) { s.accounts[""].Privileges = []string{"page-dashboard"} }, "privileges.read_only", Warn, 0},
		{"a READ user that is not there", func(s *site) { delete(s.accounts, "") }, "privileges.read_only", Unknown, 0},

		{"executord does not answer", func(s *site) { s.execErr = errs.New(errs.Unavailable, "no").WithNext("start it") }, "executor.reachable", Fail, 1},
		{"executord is of another version", func(s *site) { s.members[3].Status.Version = "v0" }, "executor.version_match", Warn, 0},
		{"a broken store", func(s *site) { s.checks[1].Status = executorpb.Check_STATUS_FAIL }, "store.integrity", Fail, 2},
		{"a counter that differs", func(s *site) { s.checks[2].Status = executorpb.Check_STATUS_FAIL }, "anchor.verified", Fail, 2},
		{"a status that is none", func(s *site) { s.checks[2].Status = 77 }, "anchor.verified", Unknown, 0},
		{"one key for both", func(s *site) { s.writeKey = s.readKey }, "privileges.read_identity_distinct", Fail, 1},
		{"a write user with too little", func(s *site) { s.accounts["writer"].Privileges = catalog.ExecutorPrivileges()[1:] }, "privileges.write_identity", Fail, 1},
		{"a write user with too much", func(s *site) {
			s.accounts["writer"].Privileges = append(catalog.ExecutorPrivileges(), "api-v2-firewall-rule-post")
		}, "privileges.write_identity", Fail, 1},
		{"a write user whose groups are hidden", func(s *site) { s.accounts["writer"].GroupsUnreadable = true }, "privileges.write_identity", Unknown, 0},
		{"a write user that is disabled", func(s *site) { s.accounts["writer"].Disabled = true }, "privileges.write_identity", Fail, 1},
		{"a write user that is not there", func(s *site) { delete(s.accounts, "writer") }, "privileges.write_identity", Unknown, 0},
		{"a write user without a name", func(s *site) { s.account = "" }, "privileges.write_identity", Unknown, 0},
		{"several users of the name", func(s *site) { s.accounts["writer"].Ambiguous = true }, "privileges.write_identity", Unknown, 0},
		{"a document that names two", func(s *site) {
			s.document.Operations["PATCH /api/v2/firewall/alias"] = contract.Operation{Privileges: []string{"api-v2-firewall-alias-patch", "x"}}
		}, "privileges.evidence", Warn, 0},
		{"a document that is none", func(s *site) { s.document.Models = nil }, "privileges.evidence", Unknown, 0},
		{"an API that takes no change", func(s *site) { s.facts.ReadOnly = yes }, "appliance.read_only", Fail, 1},
		{"case 55: the wrong node", func(s *site) { s.facts.Carp, s.facts.CarpBackup = yes, yes }, "appliance.carp", Fail, 1},
		{"case 55: the right node of two", func(s *site) { s.facts.Carp = yes }, "appliance.carp", Warn, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := healthy()
			tt.breaks(s)
			r := s.run(t)
			c := r.the(t, tt.id)
			if c.Status != tt.status || c.Detail == "" {
				t.Errorf("%+v", c)
			}
			if c.Status == Fail && c.Next == "" {
				t.Errorf("a fault without a next step: %+v", c)
			}
			if code := r.ExitCode(false); code != tt.exit {
				t.Errorf("exit %d, want %d", code, tt.exit)
			}
			if c.Part == PartWrite && c.Status == Unknown && r.ExitCode(true) != ExitFail {
				t.Errorf("write was asked for, is not known to be ready, and the exit code is %d", r.ExitCode(true))
			}
		})
	}
}

func TestWriteThatIsOffIsOneLine(t *testing.T) {
	s := healthy()
	s.checks = []*executorpb.Check{{CheckId: "config.complete", Status: executorpb.Check_STATUS_NOT_CONFIGURED}}
	r := s.run(t, func(c *Config) { c.Suite = false })
	if len(r.Checks) != 1 || r.Checks[0].Status != NotConfigured || r.ExitCode(false) != ExitOK || r.ExitCode(true) != ExitFail {
		t.Errorf("%+v, exit %d and %d", r.Checks, r.ExitCode(false), r.ExitCode(true))
	}
}

func TestATPMIsLookedForOnThisHostUnlessAWitnessHostHasIt(t *testing.T) {
	for backend, looked := range map[string]bool{"tpm-local": true, "tpm-remote": false} {
		s := healthy()
		s.backend = backend
		r := s.run(t, func(c *Config) { c.Host = &Host{Root: t.TempDir()} })
		if got := slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == "tpm.device" }); got != looked {
			t.Errorf("%s: looked for: %t", backend, got)
		}
	}
}

func TestAnApplianceThatRefusesIsAskedOnce(t *testing.T) {
	for _, class := range closed {
		s := healthy()
		s.probe = func(string) (adminpb.ProbeResponse_Verdict, string) {
			return adminpb.ProbeResponse_VERDICT_UNKNOWN, class
		}
		r := s.run(t)
		if len(s.probed) != 1 || r.the(t, "privileges.read").Status != Unknown {
			t.Errorf("%s: probed %v", class, s.probed)
		}
	}
	s := healthy()
	s.facts.KeyRefused = true
	if s.run(t); len(s.probed) != 0 {
		t.Errorf("a refused key is probed: %v", s.probed)
	}
	s = healthy()
	s.probe = func(string) (adminpb.ProbeResponse_Verdict, string) {
		return adminpb.ProbeResponse_VERDICT_UNKNOWN, "timeout"
	}
	if s.run(t); len(s.probed) != maxSilent {
		t.Errorf("a silent appliance is probed %d times", len(s.probed))
	}
	s = healthy()
	if s.run(t, func(c *Config) { c.Probes = false }); len(s.probed) != 0 {
		t.Errorf("probed although nobody asked: %v", s.probed)
	}
}

func TestNoTextOfADaemonReachesTheTerminalAsItIs(t *testing.T) {
	const evil = "\x1b[2J\u202eevil\r\n"
	s := healthy()
	s.members[1] = &adminpb.Member{Name: "guidanced", Problem: evil, Next: evil}
	s.members[0].Status.Version, s.members[0].Status.Notices = evil, []string{evil}
	s.members[2].Status.Sandbox = &nodepb.Sandbox{Mode: evil, Enforced: []string{evil}, Missing: []string{evil}}
	f := s.facts
	f.TlsMode, f.Pin, f.LastClass, f.PfsenseVersion, f.PackageVersion, f.DocumentProblem, f.InterfaceNames = evil, evil, evil, evil, evil, evil, evil
	s.accounts[""].Privileges = []string{evil}
	s.accounts["writer"].Privileges = []string{evil}
	s.checks = append(s.checks, &executorpb.Check{CheckId: evil, Description: evil, Status: executorpb.Check_STATUS_FAIL, Detail: evil, Next: evil})
	s.execErr = nil
	for _, c := range s.run(t).Checks {
		all := fmt.Sprintf("%s %s %s %s %s", c.Part, c.ID, c.Description, c.Detail, c.Next)
		if strings.ContainsAny(all, "\x1b\r\n\u202e") || len(all) > 2000 {
			t.Errorf("%q", all)
		}
	}
}

func TestTheExecutorCannotNameAFindingThatIsNotItsOwn(t *testing.T) {
	s := healthy()
	s.writeKey = s.readKey
	s.checks = append(s.checks, &executorpb.Check{CheckId: "privileges.read_identity_distinct", Description: "all well", Status: executorpb.Check_STATUS_PASS})
	if c := s.run(t).the(t, "privileges.read_identity_distinct"); c.Status != Fail {
		t.Errorf("%+v", c)
	}
}

func TestP3DriftIsMissingThenExtraEachSortedAndCleanOnlyWhenEqual(t *testing.T) {
	missing, extra := Drift([]string{"c", "a", "b"}, []string{"b", "z", "page-all", "z"})
	if !slices.Equal(missing, []string{"a", "c"}) || !slices.Equal(extra, []string{"page-all", "z"}) {
		t.Errorf("missing %v, extra %v", missing, extra)
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "page-all"}))
		want, got := some.Draw(t, "want"), some.Draw(t, "got")
		missing, extra := Drift(want, got)
		set := func(l []string) string { l = slices.Clone(l); slices.Sort(l); return fmt.Sprint(slices.Compact(l)) }
		if clean := len(missing)+len(extra) == 0; clean != (set(want) == set(got)) {
			t.Errorf("%v against %v: clean %v", want, got, clean)
		}
		if !slices.IsSorted(missing) || !slices.IsSorted(extra) {
			t.Errorf("%v, %v", missing, extra)
		}
	})
}
