package install

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
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
)

// identity puts a certificate that ends after a time into a file of the person, and its
// key into another, and returns its fingerprint.
func (s *site) identity(t *testing.T, name string, end time.Duration) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(end)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: at.Add(-48 * time.Hour), NotAfter: at}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s.person(t, name+".pem", strings.TrimSuffix(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "\n"))
	if name == "cert" {
		name = "key.pem"
	}
	s.person(t, name, strings.TrimSuffix(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})), "\n"))
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// witnessed are the options of a site that writes with a witness host.
func (s *site) witnessed() Options {
	o := s.writing()
	o.TPM, o.Witness = "https://192.0.2.77:7443", s.keys
	return o
}

// anyName is a certificate for a name and for the address of the loopback.
var anyName = peektest.Certificate{CommonName: "fw", DNS: []string{"fw.lan"}, IP: []net.IP{net.IPv4(127, 0, 0, 1)}, End: time.Hour, CA: true}

func nobody(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }

func (s *site) lose(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.keys, name)); err != nil {
		t.Fatal(err)
	}
}

// other is the key of another certificate.
func (s *site) other(t *testing.T) string {
	t.Helper()
	s.identity(t, "other", time.Hour)
	return s.mine(t, "other")
}

func (s *site) mine(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.keys, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSetupOfAWriterWithAWitnessHost(t *testing.T) {
	for _, plain := range []bool{true, false} {
		s := newSite(t, authority)
		s.identity(t, "ca", time.Hour)
		fingerprint := s.identity(t, "cert", time.Hour)
		o := s.witnessed()
		o.Plain = plain
		p := s.must(t, o)
		toml, unit := s.read(t, layout.ExecutordTOML), s.read(t, layout.WriteDropIn)
		key := layout.Credential{Name: layout.WitnessKey}.Path(!plain)
		load := "LoadCredential=witness-key:"
		if !plain {
			load = "LoadCredentialEncrypted=witness-key:"
		}
		for where, want := range map[string][]string{
			toml: {
				`backend = "tpm-remote"`, `url = "https://192.0.2.77:7443"`, `server_ca = "/etc/pfsense-mcp/witness-ca.pem"`,
				`client_cert = "/etc/pfsense-mcp/witness-client.pem"`, `client_key = "/run/credentials/pfsense-executord.service/witness-key"`,
			},
			unit: {"IPAddressAllow=192.0.2.7", "IPAddressAllow=192.0.2.77", load + key},
		} {
			for _, line := range want {
				if !strings.Contains(where, line+"\n") {
					t.Errorf("%s is missing in\n%s", line, where)
				}
			}
		}
		for _, not := range []string{"nv-auth", "nv_auth", "tpm = ", "tpmrm0", "tss"} { // that host's alone
			if strings.Contains(toml+unit, not) {
				t.Errorf("%s stands in\n%s%s", not, toml, unit)
			}
		}
		if got := s.read(t, layout.WitnessCert); got != s.mine(t, "cert.pem") || s.read(t, layout.WitnessCA) != s.mine(t, "ca.pem") {
			t.Error("other certificates were written")
		}
		want := s.mine(t, "key.pem")
		if !plain {
			want = "sealed --name=witness-key " + strings.ToUpper(want)
		}
		if s.read(t, key) != want {
			t.Error("another key was written")
		}
		if p.Fingerprint != fingerprint {
			t.Errorf("the witness host is to list %s, not %s", p.Fingerprint, fingerprint)
		}
		first := s.snapshot(t)
		if p := s.must(t, Options{Write: true}); p.Changes() || p.Fingerprint != fingerprint {
			t.Errorf("a second run: %v", p.Steps)
		}
		if diff := cmp.Diff(first, s.snapshot(t)); diff != "" {
			t.Errorf("a second run changed something:\n%s", diff)
		}
		// A person's edit of the settings stays, whatever is asked for.
		s.write(t, layout.ExecutordTOML, "# mine\n", 0o644)
		s.must(t, Options{Write: true, TPM: "https://192.0.2.78"})
		if s.read(t, layout.ExecutordTOML) != "# mine\n" || !strings.Contains(s.read(t, layout.WriteDropIn), "192.0.2.78") {
			t.Error("an edit is gone, or the answer")
		}
	}
}

func TestTheCounterIsInOnePlaceAndWhatIsSaidNowCounts(t *testing.T) {
	s := newSite(t, authority)
	s.identity(t, "ca", time.Hour)
	s.identity(t, "cert", time.Hour)
	o := s.writing()
	o.Plain, o.TPM = true, "device:/dev/tpmrm0"
	s.must(t, o)
	o = s.witnessed()
	o.Plain = true
	s.must(t, o)
	if toml := s.read(t, layout.ExecutordTOML); !strings.Contains(toml, "tpm-remote") {
		t.Errorf("\n%s", toml)
	}
	s.must(t, Options{Write: true, TPM: "device:/dev/tpmrm0"})
	if toml := s.read(t, layout.ExecutordTOML); !strings.Contains(toml, "tpm-local") || strings.Contains(toml, "remote") {
		t.Errorf("\n%s", toml)
	}
	s.must(t, Options{}) // a run for reading forgets nothing
	if was, err := s.tree().Answers(); err != nil || was["tpm"] != "device:/dev/tpmrm0" {
		t.Errorf("%v %v", was, err)
	}
}

func TestHalfAWitnessHostIsRefusedAndNothingIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *site, *Options)
		says   string
	}{
		{"no URL", func(_ *testing.T, _ *site, o *Options) { o.TPM = "https://192.0.2.77:7443/x" }, "witness host's URL"},
		{"a quote in it", func(_ *testing.T, _ *site, o *Options) { o.TPM = `https://a"b` }, "witness host's URL"},
		{"no directory", func(_ *testing.T, _ *site, o *Options) { o.Witness = "" }, "no certificates"},
		{"no authority", func(t *testing.T, s *site, _ *Options) { s.lose(t, "ca.pem") }, "file ca.pem"},
		{"no certificate", func(t *testing.T, s *site, _ *Options) { s.lose(t, "cert.pem") }, "file cert.pem"},
		{"no key", func(t *testing.T, s *site, _ *Options) { s.lose(t, "key.pem") }, "--witness, key.pem"},
		{"certificates and a TPM here", func(_ *testing.T, _ *site, o *Options) { o.TPM = "" }, "TPM is this host's"},
		{"another's key", func(t *testing.T, s *site, o *Options) { s.person(t, "key.pem", s.other(t)) }, "does not hold the key"},
		{"a key that others can read", func(t *testing.T, s *site, o *Options) {
			if err := os.Chmod(filepath.Join(s.keys, "key.pem"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "--witness, key.pem"},
		{"a key among the certificates", func(t *testing.T, s *site, o *Options) {
			s.person(t, "cert.pem", s.mine(t, "cert.pem")+s.mine(t, "key.pem"))
		}, "private key"},
		{"a key for a certificate", func(t *testing.T, s *site, o *Options) { s.person(t, "cert.pem", s.mine(t, "key.pem")) }, "begins with a certificate"},
		{"no PEM", func(t *testing.T, s *site, o *Options) { s.person(t, "ca.pem", "x") }, "file ca.pem"},
		{"a directory for a file", func(t *testing.T, s *site, o *Options) {
			s.lose(t, "ca.pem")
			if err := os.Mkdir(filepath.Join(s.keys, "ca.pem"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "file ca.pem"},
		{"a large file", func(t *testing.T, s *site, o *Options) {
			s.person(t, "ca.pem", s.mine(t, "ca.pem")+strings.Repeat("x", 256<<10))
		}, "file ca.pem"},
		{"one that has ended", func(t *testing.T, s *site, _ *Options) { s.identity(t, "cert", -time.Hour) }, "good from"},
		{"one that has not begun", func(t *testing.T, s *site, _ *Options) { s.identity(t, "cert", 100*time.Hour) }, "good from"},
		{"a name without an address", func(_ *testing.T, s *site, o *Options) {
			o.TPM, s.Lookup = "https://witness.lan", nobody
			o.URL = strings.Replace(o.URL, "fw.lan", "127.0.0.1", 1)
		}, "has no address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, anyName)
			s.identity(t, "ca", time.Hour)
			s.identity(t, "cert", time.Hour)
			o := s.witnessed()
			o.Plain = true
			tt.change(t, s, &o)
			before := s.snapshot(t)
			_, err := s.set(t, o)
			if err == nil || !strings.Contains(err.Error(), tt.says) || errs.Public(err).Next == "" || errs.CodeOf(err) == errs.Internal {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(before, s.snapshot(t)); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
		})
	}
}

func TestACertificateIsNotReplacedWithoutItsKey(t *testing.T) {
	s := newSite(t, authority)
	s.identity(t, "ca", time.Hour)
	s.identity(t, "cert", time.Hour)
	o := s.witnessed()
	o.Plain = true
	s.must(t, o)
	first := s.snapshot(t)
	s.identity(t, "cert", 2*time.Hour)
	_, err := s.set(t, o)
	if errs.CodeOf(err) != errs.Conflict || !strings.Contains(errs.Public(err).Next, layout.WitnessCert) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(first, s.snapshot(t)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	// As the error says.
	for _, path := range []string{layout.WitnessCert, layout.Credential{Name: layout.WitnessKey}.Path(false)} {
		if err := os.Remove(filepath.Join(s.Root, path)); err != nil {
			t.Fatal(err)
		}
	}
	s.must(t, o)
	if s.read(t, layout.WitnessCert) != s.mine(t, "cert.pem") {
		t.Error("the new certificate is not in place")
	}
}

func TestSetupSaysWhoOperatesAndRefusesAnOperatorWhoIsNoUser(t *testing.T) {
	const group = "root:x:0:\npfsense-mcp-admin:x:120:"
	for _, tt := range []struct {
		name, group string
		operators   []string
		says        string // "" for nothing
		refused     bool
	}{
		{"an operator in the group", group + "ann\n", []string{"ann"}, "", false},
		{"an operator by number", group + "ann\n", []string{"1000"}, "", false},
		{"an operator who is not in it", group + "\n", []string{"ann"}, "usermod -aG pfsense-mcp-admin ann", false},
		{"none", group + "\n", nil, "nobody but root operates", false},
		{"a member who is none", group + "bob\n", nil, "turned away: bob", false},
		{"no group", "root:x:0:\n", []string{"ann"}, "there is no group", false},
		{"no user", group + "eve\n", []string{"ann", "eve"}, "no user eve", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, authority)
			s.write(t, "/etc/group", tt.group, 0o644)
			o := s.options("fw.lan")
			o.Operators = tt.operators
			before := s.snapshot(t)
			p, err := s.set(t, o)
			if tt.refused {
				if err == nil || !strings.Contains(err.Error(), tt.says) || errs.Public(err).Next == "" || len(s.snapshot(t)) != len(before) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			about := slices.DeleteFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, "remove ") })
			if (tt.says == "") != (len(about) == 0) || !strings.Contains(strings.Join(about, "\n"), tt.says) {
				t.Errorf("it says %q", about)
			}
		})
	}
}

func TestASetupUnderAClockThatWasSetBackSaysSoAndWritesNothing(t *testing.T) {
	s := newSite(t, authority)
	now := s.Now
	s.Now = func() time.Time { return now().AddDate(-1, 0, 0) }
	o := s.options("fw.lan")
	o.CAFile = s.ca(t)
	before := s.snapshot(t)
	_, err := s.set(t, o)
	if err == nil || !strings.Contains(errs.Public(err).Next, "check the clock here") {
		t.Errorf("%v (next: %s)", err, errs.Public(err).Next)
	}
	if diff := cmp.Diff(before, s.snapshot(t)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	// Where the pin alone is believed a person is told before anything is written.
	o.CAFile = ""
	for _, right := range []bool{false, true} {
		if right {
			s.Now = now
		}
		seen, err := s.Look(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan(t.Context(), o, seen, true)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(strings.Join(p.Notes, "\n"), "see that the clock is right"); told == right {
			t.Errorf("with a clock that is right: %t, told %t: %q", right, told, p.Notes)
		}
	}
}
