package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/install/doctor"
	"pfsensemcp/test/fakepf"
)

// mcpctl runs one command line of the operators', as root or the caller.
func (s *Suite) mcpctl(args ...string) (code int, out string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.Bin, "mcpctl"), append(args, "--dir", s.Dir)...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	if strings.ContainsRune(o.String()+e.String(), '\x1b') {
		s.t.Errorf("an escape sequence on the terminal: %q %q", o.String(), e.String())
	}
	return code, o.String() + e.String()
}

// doctor runs the doctor and returns its findings by id.
func (s *Suite) doctor(args ...string) (code int, found map[string]doctor.Check, r doctor.Report) {
	s.t.Helper()
	code, out := s.mcpctl(append([]string{"doctor", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	found = map[string]doctor.Check{}
	for _, c := range r.Checks {
		found[c.ID] = c
	}
	return code, found, r
}

// is compares the status of some checks.
func (s *Suite) is(found map[string]doctor.Check, want map[string]doctor.Status) {
	s.t.Helper()
	for id, status := range want {
		if c := found[id]; c.Status != status {
			s.t.Errorf("%s is not %s: %+v", id, status, c)
		}
	}
}

func TestTheDoctorFindsASuiteWellAndSaysWhatATroubledApplianceLacks(t *testing.T) {
	s := New(t, Options{Appliance: fakepf.Options{Settings: calm()}})
	code, found, r := s.doctor()
	if code != doctor.ExitOK {
		t.Errorf("exit %d", code)
	}
	s.is(found, map[string]doctor.Status{
		"mcpd.reachable": doctor.Pass, "guidanced.reachable": doctor.Pass, "docfetchd.reachable": doctor.Pass, "executord.reachable": doctor.Pass,
		"key.accepted": doctor.Pass, "appliance.reachable": doctor.Pass, "tls.verified": doctor.Pass, "tls.certificate": doctor.Pass, "clock.appliance": doctor.Pass,
		"appliance.package_version": doctor.Pass, "appliance.hateoas": doctor.Pass, "appliance.interface_names": doctor.Pass,
		"schema.differences": doctor.Pass, "privileges.read": doctor.Pass, "config.complete": doctor.NotConfigured,
	})
	if len(r.Tools) < 94 || slices.ContainsFunc(r.Tools, func(t doctor.Tool) bool { return t.Verdict != "allowed" }) {
		t.Errorf("%d tools: %v", len(r.Tools), r.Tools)
	}
	probes := map[string]int{}
	for _, q := range s.Appliance.Requests() {
		if q.Method != "GET" {
			t.Errorf("the appliance saw %s %s", q.Method, q.Path)
		}
		probes[q.Path]++
	}
	for path, n := range probes {
		if n > 2 { // a probe, and a fact that is read off the same object
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	if code, _, _ := s.doctor("write"); code != doctor.ExitFail {
		t.Errorf("write was asked for and is off: exit %d", code)
	}

	kept := calm()
	kept.HATEOAS, kept.InterfacesAs = true, "descr"
	s.Appliance.SetSettings(*kept)
	code, found, _ = s.doctor("suite", "--no-probes")
	if code != doctor.ExitFail || !strings.Contains(found["appliance.interface_names"].Detail, "descr") {
		t.Errorf("exit %d, %+v", code, found["appliance.interface_names"])
	}
	s.is(found, map[string]doctor.Status{"appliance.hateoas": doctor.Fail})
}

func calm() *fakepf.Settings {
	d := fakepf.DefaultSettings()
	return &d
}

func TestCase32TheDoctorNamesThePrivilegeThatIsMissing(t *testing.T) {
	const lost = "api-v2-firewall-rules-get"
	all := slices.DeleteFunc(fakepf.ReadPrivileges(), func(p string) bool { return p == lost })
	s := New(t, Options{Appliance: fakepf.Options{Keys: []fakepf.Key{{Secret: fakepf.ReadKey, User: "api-reader", Privileges: all}}}})
	code, found, r := s.doctor("suite")
	if code != doctor.ExitFail || !strings.Contains(found["privileges.read"].Detail, lost) {
		t.Errorf("exit %d: %+v", code, found["privileges.read"])
	}
	i := slices.IndexFunc(r.Tools, func(t doctor.Tool) bool { return t.Name == "pfsense_get_firewall_rules" })
	if i < 0 || r.Tools[i].Verdict != "missing" || !slices.Equal(r.Tools[i].Missing, []string{lost}) {
		t.Errorf("%v", r.Tools)
	}
}

func TestCase25ADoctorWithABadKeyFailsToLogInOnce(t *testing.T) {
	s := New(t, Options{Appliance: fakepf.Options{Keys: []fakepf.Key{}, BlockAfter: 2}})
	for range 2 { // the second run does not try again
		code, found, _ := s.doctor("suite")
		if code != doctor.ExitFail {
			t.Errorf("exit %d", code)
		}
		s.is(found, map[string]doctor.Status{"key.accepted": doctor.Fail, "privileges.read": doctor.Unknown})
	}
	refused := 0
	for _, q := range s.Appliance.Requests() {
		if q.Path != "/api/v2/schema/openapi" {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d requests with a bad key", refused)
	}
}

func TestCase26And23TheDoctorTellsWhyAnApplianceDoesNotAnswer(t *testing.T) {
	off := calm()
	off.Enabled = false
	s := New(t, Options{Appliance: fakepf.Options{Settings: off}})
	_, found, _ := s.doctor("suite")
	s.is(found, map[string]doctor.Status{"appliance.reachable": doctor.Fail})
	if !strings.Contains(found["appliance.reachable"].Next, "switch the REST API on") {
		t.Errorf("%+v", found["appliance.reachable"])
	}
	listed := calm()
	listed.ClientAllowed = false
	s.Appliance.SetSettings(*listed)
	_, found, _ = s.doctor("suite")
	if !strings.Contains(found["appliance.reachable"].Next, "access list") {
		t.Errorf("%+v", found["appliance.reachable"])
	}
	s.Appliance.Close()
	code, found, _ := s.doctor("suite")
	s.is(found, map[string]doctor.Status{"appliance.reachable": doctor.Fail, "mcpd.reachable": doctor.Pass})
	if code != doctor.ExitFail || !strings.Contains(found["appliance.reachable"].Next, "IPAddressAllow") {
		t.Errorf("exit %d: %+v", code, found["appliance.reachable"])
	}
}

func TestADoctorReadsHostileAnswersAndShowsNoneOfThem(t *testing.T) {
	s := New(t, Options{})
	const evil = `"canary\u001b[2J"`
	for _, f := range []fakepf.Fault{
		{Kind: fakepf.Field, Path: "/api/v2/system/restapi/settings", Field: "represent_interfaces_as", Value: evil, Count: -1},
		{Kind: fakepf.Field, Path: "/api/v2/system/version", Field: "base", Value: evil, Count: -1},
		{Kind: fakepf.DataKind, Path: "/api/v2/status/carp", Value: evil, Count: -1},
		{Kind: fakepf.DataKind, Path: "/api/v2/firewall/virtual_ips", Value: `[` + evil + `,null,7]`, Count: -1},
		{Kind: fakepf.WholeBody, Path: "/api/v2/users", Value: evil, Count: -1},
	} {
		s.Appliance.AddFault(f)
	}
	code, out := s.mcpctl("doctor", "--json", "--no-probes")
	if code > doctor.ExitFail || strings.Contains(out, "canary") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestADaemonThatIsDownIsAFindingAndTheOthersAreLookedAt(t *testing.T) {
	s := New(t, Options{})
	s.Kill("guidanced")
	s.Kill("executord")
	code, found, _ := s.doctor("--no-probes")
	if code != doctor.ExitFail {
		t.Errorf("exit %d", code)
	}
	s.is(found, map[string]doctor.Status{
		"guidanced.reachable": doctor.Fail, "docfetchd.reachable": doctor.Pass, "executor.reachable": doctor.Fail, "appliance.reachable": doctor.Pass,
	})
	s.Start("guidanced")
	s.Start("executord")
	s.Kill("mcpd")
	code, found, _ = s.doctor("--no-probes")
	if code != doctor.ExitFail {
		t.Errorf("exit %d", code)
	}
	s.is(found, map[string]doctor.Status{"mcpd.reachable": doctor.Fail, "guidanced.reachable": doctor.Unknown, "config.complete": doctor.NotConfigured})
	s.Start("mcpd")
}

func TestTheMetricsOfARunningSuiteCountCallsOfAllFour(t *testing.T) {
	s := New(t, Options{})
	c := s.Shim()
	begin(t, c)
	if _, err := c.Tool("pfsense_get_system_version", map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if code, out := s.mcpctl("status"); code != 0 {
		t.Errorf("status: %d %s", code, out)
	}
	code, out := s.mcpctl("metrics")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, name := range []string{"mcpd", "guidanced", "docfetchd", "executord"} {
		if !strings.Contains(out, `goroutines{daemon="`+name+`"} `) {
			t.Errorf("%s has no gauge", name)
		}
	}
	if !strings.Contains(out, `rpc_calls_total{daemon="mcpd",socket="mcpd-admin",`) || !strings.Contains(out, `rpc_call_seconds_count{daemon="mcpd",socket="mcpd-admin"} `) {
		t.Errorf("the operator's call is not counted:\n%s", out)
	}
	if !strings.Contains(out, `pfsense_mcp_calls_total{daemon="mcpd",tool="pfsense_get_system_version",outcome="succeeded",class=""} 1`) ||
		!strings.Contains(out, `appliance_requests_total{daemon="mcpd"} `) || strings.Count(out, "# EOF") != 1 {
		t.Errorf("\n%s", out)
	}
	if n := strings.Count(out, "\n"); n > 2000 {
		t.Errorf("%d lines", n)
	}
}
