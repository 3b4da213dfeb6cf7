package install

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/peek/peektest"
	"pfsensemcp/pkg/install/internal/place"
	"pfsensemcp/pkg/keyfile"
)

const (
	theKey      = "the-read-key-0123456789"
	theWriteKey = "the-write-key-987654321"
)

// site is a host below a temporary root and an appliance beside it.
type site struct {
	*Host
	appliance *peektest.Appliance
	started   []string // programs that were run
	fails     map[string]bool
	keys      string // directory with key files of the person
}

func newSite(t *testing.T, c peektest.Certificate) *site {
	t.Helper()
	s := &site{appliance: peektest.Serve(t, c), fails: map[string]bool{}, keys: t.TempDir()}
	s.Host = &Host{
		Root: t.TempDir(), UID: os.Getuid(), GID: os.Getgid(), Roots: x509.NewCertPool(), Now: time.Now,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
		},
		Run: func(_ context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
			line := name + " " + strings.Join(args, " ")
			s.started = append(s.started, line)
			if s.fails[line] {
				return nil, errors.New("exit status 1")
			}
			if name == "systemd-creds" && args[0] == "encrypt" {
				return []byte("sealed " + args[1] + " " + strings.ToUpper(string(stdin))), nil
			}
			return nil, nil
		},
	}
	s.write(t, "/etc/resolv.conf", "# x\nnameserver 192.168.1.53\nnameserver nonsense\n", 0o644)
	s.write(t, "/etc/group", "root:x:0:\ntss:x:110:\npfsense-mcp-admin:x:120:ann\n", 0o644)
	s.write(t, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n", 0o644)
	s.write(t, "/dev/tpmrm0", "", 0o660)
	s.write(t, "/run/systemd/system/.keep", "", 0o644)
	s.person(t, "read.key", theKey)
	s.person(t, "write.key", theWriteKey)
	return s
}

func (s *site) write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	at := filepath.Join(s.Root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (s *site) person(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.keys, name), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *site) read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// options are those of a site where all is well.
func (s *site) options(host string) Options {
	return Options{URL: "https://" + net.JoinHostPort(host, s.appliance.Port), Identity: "mcp-reader", KeyFile: filepath.Join(s.keys, "read.key"), Operators: []string{"ann"}}
}

// set runs setup as mcpctl does, with a person who compares.
func (s *site) set(t *testing.T, o Options) (*Plan, error) {
	t.Helper()
	if err := s.Fill(&o); err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	seen, err := s.Look(t.Context(), o)
	if err != nil {
		return nil, err
	}
	p, err := s.Plan(t.Context(), o, seen, true)
	if err != nil {
		return nil, err
	}
	return p, s.Apply(t.Context(), p)
}

func (s *site) must(t *testing.T, o Options) *Plan {
	t.Helper()
	p, err := s.set(t, o)
	if err != nil {
		t.Fatalf("%v (next: %s)", err, errs.Public(err).Next)
	}
	return p
}

// snapshot is every file below the root.
func (s *site) snapshot(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, s.Root)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var authority = peektest.Certificate{CommonName: "fw", DNS: []string{"fw.lan"}, End: time.Hour, CA: true}

func TestSetupOfAReaderWritesSettingsKeyAndDropIn(t *testing.T) {
	s := newSite(t, authority)
	p := s.must(t, s.options("fw.lan"))
	toml := s.read(t, layout.McpdTOML)
	for _, want := range []string{
		`api_url = "https://fw.lan:` + s.appliance.Port + `"`, `identity = "mcp-reader"`, `tls_mode = "auto"`, `tls_ca_file = "/etc/pfsense-mcp/appliance-ca.pem"`,
		`tls_pin = "` + p.Seen.Pin + `"`, `operators = ["ann"]`,
	} {
		if !strings.Contains(toml, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, toml)
		}
	}
	if got := s.read(t, layout.CAPEM); got != string(s.appliance.CAPEM) {
		t.Error("another authority was written")
	}
	if got := s.read(t, layout.ReadKey); got != theKey+"\n" {
		t.Errorf("key file: %q", got)
	}
	if fi, err := os.Stat(filepath.Join(s.Root, layout.ReadKey)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if got := s.read(t, layout.McpdDropIn); !strings.Contains(got, "IPAddressAllow=192.0.2.7\nIPAddressAllow=192.168.1.53\n") {
		t.Errorf("drop-in:\n%s", got)
	}
	for path, text := range s.snapshot(t) {
		if path != layout.ReadKey && strings.Contains(text, theKey) {
			t.Errorf("the key stands in %s", path)
		}
	}
	if n, said := s.appliance.Saw(); n > 1 || len(said) > 0 {
		t.Errorf("%d handshakes, %q said", n, said)
	}
	if err := s.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"systemctl daemon-reload", "systemctl enable pfsense-mcp.target", "systemctl reset-failed pfsense-*",
		"systemctl restart pfsense-docfetchd.service", "systemctl restart pfsense-executord.service", "systemctl restart pfsense-mcpd.service",
		"systemctl start pfsense-mcp.target",
	}
	if diff := cmp.Diff(want, s.started); diff != "" {
		t.Error(diff)
	}
}

func TestASecondSetupWithoutAnAnswerChangesNothing(t *testing.T) {
	s := newSite(t, authority)
	o := s.options("fw.lan")
	o.Toolsets = []string{"core", "firewall"}
	s.must(t, o)
	first := s.snapshot(t)
	p := s.must(t, Options{})
	if p.Changes() {
		t.Errorf("%v", p.Steps)
	}
	if diff := cmp.Diff(first, s.snapshot(t)); diff != "" {
		t.Errorf("a second run changed something:\n%s", diff)
	}
	s.started = nil
	if err := s.Start(t.Context(), p); err != nil || slices.ContainsFunc(s.started, func(l string) bool { return strings.Contains(l, "restart") }) {
		t.Errorf("%v %v", s.started, err)
	}
	p = s.must(t, Options{Identity: "other"})
	if !p.Changes() || !strings.Contains(s.read(t, layout.McpdTOML), `identity = "other"`) {
		t.Error("a changed answer changes nothing")
	}
}

func TestSetupNeverOverwritesAnEdit(t *testing.T) {
	s := newSite(t, authority)
	s.must(t, s.options("fw.lan"))
	s.write(t, layout.McpdTOML, "# mine\n", 0o644)
	s.write(t, layout.ReadKey, "another-key\n", 0o600)
	p := s.must(t, Options{Identity: "other", KeyFile: filepath.Join(s.keys, "write.key")})
	if s.read(t, layout.McpdTOML) != "# mine\n" || s.read(t, layout.ReadKey) != "another-key\n" {
		t.Error("an edit is gone")
	}
	var got []Action
	for _, st := range p.Steps {
		if st.Path == layout.McpdTOML || st.Path == layout.ReadKey {
			got = append(got, st.Action)
		}
	}
	if !slices.Equal(got, []Action{Left, Kept}) || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "rotate-key") }) {
		t.Errorf("%v, notes %q", got, p.Notes)
	}
}

func TestAFileAsThePackageShipsItIsNobodysEdit(t *testing.T) {
	for _, name := range []string{"mcpd.toml", "executord.toml", "docfetchd.toml"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if path := "/etc/pfsense-mcp/" + name; !layout.Shipped(path, place.Digest(b)) {
			t.Errorf("deploy/systemd/examples/%s has changed: add its digest %s to layout.Shipped", name, place.Digest(b))
		}
	}
	if layout.Shipped(layout.McpdTOML, place.Digest([]byte("x"))) {
		t.Error("any file passes")
	}
}

func TestTheStrictestWayThatHoldsIsTaken(t *testing.T) {
	selfSigned := peektest.Certificate{DNS: []string{"fw.lan"}, End: time.Hour}
	elsewhere := peektest.Certificate{DNS: []string{"other.lan"}, End: time.Hour}
	for _, tt := range []struct {
		name    string
		cert    peektest.Certificate
		root    bool
		change  func(*Options, *site)
		mode    string
		pinned  bool
		refused string // "" or a part of the error
	}{
		{"this host's authorities", authority, true, func(*Options, *site) {}, "strict", false, ""},
		{"and a pin", authority, true, func(o *Options, s *site) { o.Pin = s.pin(t) }, "strict", true, ""},
		{"a pin in hex", authority, false, func(o *Options, s *site) { o.Pin = s.pin(t) }, "auto", true, ""},
		{"a CA file", authority, false, func(o *Options, s *site) { o.CAFile = s.ca(t) }, "auto", false, ""},
		{"a CA file of somebody else", selfSigned, false, func(o *Options, s *site) { o.CAFile = newSite(t, authority).ca(t) }, "", false, "the CA file"},
		{"self-signed for its name", selfSigned, false, func(*Options, *site) {}, "auto", true, ""},
		{"self-signed for another name", elsewhere, false, func(*Options, *site) {}, "insecure", true, ""},
		{"another pin", authority, true, func(o *Options, _ *site) { o.Pin = strings.Repeat("ab", 32) }, "", false, "pin"},
		{"strict is asked for", selfSigned, false, func(o *Options, _ *site) { o.TLS = TLSStrict }, "", false, "this host's authorities"},
		{"auto is asked for", elsewhere, false, func(o *Options, _ *site) { o.TLS = TLSAuto }, "", false, "the certificate itself"},
		{"the pin alone is asked for", selfSigned, false, func(o *Options, _ *site) { o.TLS = TLSPin }, "insecure", true, ""},
		{"writing needs more than a pin", elsewhere, false, func(o *Options, _ *site) {
			o.Write, o.StoreID, o.Account, o.WriteKeyFile = true, "office", "mcp-writer", "x"
		}, "", false, "the certificate itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.cert)
			if tt.root {
				s.Roots.AddCert(s.appliance.CA)
			}
			o := s.options("fw.lan")
			tt.change(&o, s)
			_, err := s.set(t, o)
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) || errs.Public(err).Next == "" {
					t.Errorf("%v", err)
				}
				if len(s.snapshot(t)) != 5 {
					t.Error("something was written")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			toml := s.read(t, layout.McpdTOML)
			if !strings.Contains(toml, `tls_mode = "`+tt.mode+`"`) || strings.Contains(toml, "tls_pin") != tt.pinned || strings.Contains(toml, "tls_ca_file") != (tt.mode == "auto") {
				t.Errorf("\n%s", toml)
			}
		})
	}
}

// pin is what a person reads off the appliance's console, in hex with colons.
func (s *site) pin(t *testing.T) string {
	t.Helper()
	seen, err := s.Look(t.Context(), s.options("fw.lan"))
	if err != nil {
		t.Fatal(err)
	}
	return seen.Pin
}

func (s *site) ca(t *testing.T) string {
	t.Helper()
	path := filepath.Join(s.keys, "ca.pem")
	if err := os.WriteFile(path, s.appliance.CAPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNothingIsWrittenBeforeSomebodyHasComparedTheCertificate(t *testing.T) {
	s := newSite(t, authority)
	o := s.options("fw.lan")
	seen, err := s.Look(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !o.NeedsComparing(seen) {
		t.Error("a person is not asked")
	}
	if _, err := s.Plan(t.Context(), o, seen, false); err == nil || !strings.Contains(errs.Public(err).Next, seen.Pin) {
		t.Errorf("%v", err)
	}
	o.Pin = seen.Pin
	if o.NeedsComparing(seen) {
		t.Error("a pin that was given is not believed")
	}
	s.Roots.AddCert(s.appliance.CA)
	o.Pin = ""
	if seen, err = s.Look(t.Context(), o); err != nil || o.NeedsComparing(seen) {
		t.Errorf("what this host's authorities believe is asked about: %v", err)
	}
}

// writing are the options of a site that writes.
func (s *site) writing() Options {
	o := s.options("fw.lan")
	o.Write, o.StoreID, o.Account, o.WriteKeyFile = true, "office", "mcp-writer", filepath.Join(s.keys, "write.key")
	return o
}

func TestSetupOfAWriterMakesKeysThatExecutordReads(t *testing.T) {
	s := newSite(t, authority)
	o := s.writing()
	o.Plain = true
	s.must(t, o)
	at := func(name string) []byte {
		return []byte(s.read(t, layout.Credential{Name: name}.Path(false)))
	}
	if _, err := keyfile.ParseRoot(at(layout.RootKey)); err != nil {
		t.Error(err)
	}
	if _, err := keyfile.ParseAttestation(at(layout.AttestationKey)); err != nil {
		t.Error(err)
	}
	if _, err := keyfile.ParseCounterAuth(at(layout.NVAuth)); err != nil {
		t.Error(err)
	}
	if string(at(layout.WriteAPIKey)) != theWriteKey+"\n" {
		t.Error("another write key")
	}
	unit := s.read(t, layout.WriteDropIn)
	for _, want := range []string{
		"Wants=dev-tpmrm0.device", "RestrictAddressFamilies=AF_INET AF_INET6", "IPAddressAllow=192.0.2.7", "SupplementaryGroups=tss", "StateDirectory=pfsense-executord",
		"LoadCredential=root-key:/etc/pfsense-mcp/credentials/executord-root-key", "LoadCredential=write-api-key:/etc/pfsense-mcp/credentials/executord-write-api-key",
	} {
		if !strings.Contains(unit, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, unit)
		}
	}
	first := s.snapshot(t)
	p := s.must(t, Options{Write: true})
	if diff := cmp.Diff(first, s.snapshot(t)); diff != "" {
		t.Errorf("a second run changed something:\n%s", diff)
	}
	s.started = nil
	if err := s.Start(t.Context(), p); err != nil || slices.ContainsFunc(s.started, func(l string) bool { return strings.Contains(l, "executord") }) {
		t.Errorf("an executord without authorities is started: %v %v", s.started, err)
	}
	if s.must(t, Options{}); s.read(t, layout.ExecutordTOML) != first[layout.ExecutordTOML] {
		t.Error("a run for reading switches writing off")
	}
}

func TestSetupOfAWriterSaysWhenNoToolWillBeOffered(t *testing.T) {
	s := newSite(t, authority)
	for _, c := range []struct {
		profile string
		says    bool
	}{{"", true}, {"auditor", true}, {"write_protected", false}, {"", false}} { // the last run's answer stands
		o := s.writing()
		o.Plain, o.Profile = true, c.profile
		p, err := s.set(t, o)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(p.Notes, "\n")
		if said := strings.Contains(notes, "mcpd offers no tool for a change until setup is given --profile write_protected"); said != c.says {
			t.Errorf("profile %q: the notes say %q", c.profile, notes)
		}
	}
}

func TestExecutordsKeysAreEncryptedAtRestUnlessAPersonSaysOtherwise(t *testing.T) {
	s := newSite(t, authority)
	s.must(t, s.writing())
	for _, c := range layout.WriteCredentials(false) {
		got := s.read(t, c.Path(true))
		if !strings.HasPrefix(got, "sealed --name="+c.Name+" ") {
			t.Errorf("%s: %q", c.Name, got)
		}
	}
	for path, text := range s.snapshot(t) {
		if strings.Contains(text, theWriteKey) || strings.Contains(text, "material_hex") {
			t.Errorf("a key lies open in %s", path)
		}
	}
	if !strings.Contains(s.read(t, layout.WriteDropIn), "LoadCredentialEncrypted=nv-auth:/etc/credstore.encrypted/pfsense-executord.nv-auth\n") {
		t.Error("the unit loads another file")
	}
	s = newSite(t, authority)
	s.fails["systemd-creds --version"] = true
	if _, err := s.set(t, s.writing()); err == nil || !strings.Contains(errs.Public(err).Next, "--plain") {
		t.Errorf("%v", err)
	}
	s = newSite(t, authority)
	s.fails["systemd-creds encrypt --name=nv-auth - -"] = true
	before := s.snapshot(t)
	if _, err := s.set(t, s.writing()); err == nil {
		t.Error("a key that could not be encrypted")
	}
	if diff := cmp.Diff(before, s.snapshot(t)); diff != "" {
		t.Errorf("half of it was done:\n%s", diff)
	}
}

func TestNewKeysAreNotMadeForAStoreThatIsThere(t *testing.T) {
	s := newSite(t, authority)
	s.write(t, layout.StoreDir+"/store.db", "x", 0o600)
	if _, err := s.set(t, s.writing()); errs.CodeOf(err) != errs.Conflict || errs.Public(err).Next == "" {
		t.Errorf("%v", err)
	}
}

func TestADryRunMakesNoKeyAndWritesNothing(t *testing.T) {
	s := newSite(t, authority)
	o := s.writing()
	before := s.snapshot(t)
	seen, err := s.Look(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(t.Context(), o, seen, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range p.Steps {
		if st.Secret && len(st.Data) > 0 {
			t.Errorf("%s: a key was made", st.Path)
		}
		if st.Action != Write {
			t.Errorf("%s: %s", st.Path, st.Action)
		}
	}
	if diff := cmp.Diff(before, s.snapshot(t)); diff != "" || slices.ContainsFunc(s.started, func(l string) bool { return l != "systemd-creds --version" }) {
		t.Errorf("%s\n%v", diff, s.started)
	}
}

func TestBadAnswersAreRefusedBeforeAnythingIsAsked(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"a URL that is none":           func(o *Options) { o.URL = "fw" },
		"no name of the READ user":     func(o *Options) { o.Identity = "" },
		"a name with a quote":          func(o *Options) { o.Identity = "a\"\nb" },
		"an operator that is no user":  func(o *Options) { o.Operators = []string{`ann", "eve`} },
		"an operator that is a flag":   func(o *Options) { o.Operators = []string{"-x"} },
		"a TLS mode that is none":      func(o *Options) { o.TLS = "insecure" },
		"a CA file that is not used":   func(o *Options) { o.CAFile, o.TLS = "x", TLSPin },
		"a profile that is none":       func(o *Options) { o.Profile = "root" },
		"a toolset that is none":       func(o *Options) { o.Toolsets = []string{"everything"} },
		"a store without a name":       func(o *Options) { o.Write, o.Account = true, "w" },
		"a lab store without a lab":    func(o *Options) { o.Write, o.Account, o.StoreID = true, "w", "lab-1" },
		"a store of a lab without lab": func(o *Options) { o.Write, o.Account, o.StoreID, o.Lab = true, "w", "office", true },
		"no write user":                func(o *Options) { o.Write, o.StoreID = true, "office" },
		"one user for both":            func(o *Options) { o.Write, o.StoreID, o.Account = true, "office", o.Identity },
		"writing by the pin alone":     func(o *Options) { o.Write, o.StoreID, o.Account, o.TLS = true, "office", "w", TLSPin },
		"a TPM that is none":           func(o *Options) { o.Write, o.StoreID, o.Account, o.TPM = true, "office", "w", "tcp:1" },
		"a software TPM without a lab": func(o *Options) { o.Write, o.StoreID, o.Account, o.TPM = true, "office", "w", "unix:/run/x" },
	} {
		o := Options{URL: "https://fw.lan", Identity: "reader"}
		change(&o)
		if err := o.Check(); err == nil || errs.Public(err).Next == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHalfAConfigurationIsRefused(t *testing.T) {
	for name, breaks := range map[string]func(*site, *Options){
		"no key at all":                   func(_ *site, o *Options) { o.KeyFile = "" },
		"a key file that is not there":    func(s *site, o *Options) { o.KeyFile = filepath.Join(s.keys, "none") },
		"a key file that others can read": func(s *site, o *Options) { _ = os.Chmod(o.KeyFile, 0o644) },
		"an empty key":                    func(s *site, _ *Options) { s.person(t, "read.key", "") },
		"a key of two words":              func(s *site, _ *Options) { s.person(t, "read.key", "a b") },
	} {
		s := newSite(t, authority)
		o := s.options("fw.lan")
		breaks(s, &o)
		before := s.snapshot(t)
		if _, err := s.set(t, o); err == nil || errs.Public(err).Next == "" {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, s.snapshot(t)); diff != "" {
			t.Errorf("%s: something was written:\n%s", name, diff)
		}
	}
}
