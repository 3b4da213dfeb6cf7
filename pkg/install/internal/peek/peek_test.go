package peek

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/peek/peektest"
)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1)}

// look looks at an appliance under a name that resolves to the loopback address.
func look(t *testing.T, a *peektest.Appliance, host string, change ...func(*Options)) (*Seen, error) {
	t.Helper()
	target, err := Parse("https://" + net.JoinHostPort(host, a.Port))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
		},
		Roots: x509.NewCertPool(), Now: time.Now(),
	}
	for _, f := range change {
		f(&o)
	}
	return Look(t.Context(), target, o)
}

func TestOneHandshakeIsMadeAndNotAByteSaid(t *testing.T) {
	a := peektest.Serve(t, peektest.Certificate{CommonName: "fw\x1b[31m", DNS: []string{"fw.example.com"}, IP: loopback, End: time.Hour})
	s, err := look(t, a, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Ended:
	case <-time.After(time.Minute):
		t.Fatal("the connection is left open")
	}
	if n, said := a.Saw(); n != 1 || len(said) != 0 {
		t.Errorf("%d handshakes, and then %q", n, said)
	}
	if strings.ContainsRune(s.Subject+s.Issuer+strings.Join(s.Names, ""), '\x1b') {
		t.Errorf("%q %q %q", s.Subject, s.Issuer, s.Names)
	}
	if len(s.Pin) != 44 || len(s.SHA256) != 95 || !s.SamePin(s.Pin) || s.SamePin("") || !s.NotAfter.After(time.Now()) {
		t.Errorf("%+v", s)
	}
}

func TestEachWayToBelieveACertificateIsJudgedAlone(t *testing.T) {
	hour := time.Hour
	for _, tt := range []struct {
		name               string
		cert               peektest.Certificate
		host               string
		asRoot             bool
		system, itself, ca Trust
	}{
		{"an authority of this host", peektest.Certificate{DNS: []string{"fw.lan"}, End: hour, CA: true}, "fw.lan", true, Believed, Believed, Believed},
		{"an authority of its own", peektest.Certificate{DNS: []string{"fw.lan"}, End: hour, CA: true}, "fw.lan", false, Unknown, Believed, Believed},
		{"self-signed, for its address", peektest.Certificate{IP: loopback, End: hour}, "127.0.0.1", false, Unknown, Believed, Believed},
		{"self-signed, for another name", peektest.Certificate{DNS: []string{"other.lan"}, End: hour}, "fw.lan", false, Unknown, WrongName, WrongName},
		{"believed, but for another name", peektest.Certificate{DNS: []string{"other.lan"}, End: hour, CA: true}, "fw.lan", true, WrongName, WrongName, WrongName},
		{"ended", peektest.Certificate{DNS: []string{"fw.lan"}, End: -hour, CA: true}, "fw.lan", true, NotValid, NotValid, NotValid},
		{"not begun", peektest.Certificate{DNS: []string{"fw.lan"}, End: 100 * hour, CA: true}, "fw.lan", true, NotValid, NotValid, NotValid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := peektest.Serve(t, tt.cert)
			s, err := look(t, a, tt.host, func(o *Options) {
				o.CAFile = a.CAPEM
				if tt.asRoot {
					o.Roots.AddCert(a.CA)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if s.System != tt.system || s.Itself != tt.itself || s.File != tt.ca || string(s.Anchor) != string(a.CAPEM) {
				t.Errorf("system %s, itself %s, file %s", s.System, s.Itself, s.File)
			}
		})
	}
}

func TestWhatIsNoApplianceIsSaidToBeThat(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.0 400 marker\r\n\r\n"))
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	plain := &peektest.Appliance{Port: port}
	if _, err := look(t, plain, "127.0.0.1"); errs.Public(err).Class != "tls" || strings.Contains(err.Error(), "marker") {
		t.Errorf("plain HTTP: %v", err)
	}
	_ = l.Close()
	if _, err := look(t, plain, "127.0.0.1"); errs.Public(err).Class != "connection" {
		t.Errorf("nobody there: %v", err)
	}
	gone := func(o *Options) {
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("x") }
	}
	if _, err := look(t, plain, "fw.lan", gone); errs.Public(err).Class != "connection" {
		t.Errorf("no such name: %v", err)
	}
	if _, err := look(t, plain, "127.0.0.1", func(o *Options) { o.CAFile = []byte("x") }); errs.CodeOf(err) != errs.Invalid {
		t.Errorf("a CA file that is none: %v", err)
	}
}

func TestAURLIsSchemeHostAndPort(t *testing.T) {
	for in, want := range map[string]string{
		"https://192.0.2.1": "https://192.0.2.1", "https://192.0.2.1:443/": "https://192.0.2.1", "https://[2001:db8::1]": "https://[2001:db8::1]",
		"https://[2001:DB8::1]:8443": "https://[2001:db8::1]:8443", "https://FW.example.com:8443": "https://fw.example.com:8443",
	} {
		got, err := Parse(in)
		if err != nil || got.URL() != want {
			t.Errorf("%q: %q, %v", in, got.URL(), err)
		}
	}
	for _, in := range []string{
		"", "192.0.2.1", "http://192.0.2.1", "https://", "https://u:p@fw", "https://fw/api", "https://fw?x", "https://fw#x", "https://fw:0", "https://fw:65536",
		"https://fw:", "https://fw lan", "https://fw\"\n", "https://[fe80::1%25eth0]", "https://-fw", "https://.fw", "https://f_w", "https://" + strings.Repeat("a", 254),
	} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q is taken as %q", in, got.URL())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("https://[2001:db8::1]:8443")
	f.Add("https://fw.example.com/")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			return
		}
		if strings.ContainsAny(got.URL(), "\"'\\\n\r\t #?@%") {
			t.Errorf("%q becomes %q, which ends between quotes in a file", s, got.URL())
		}
		if again, err := Parse(got.URL()); err != nil || again != got {
			t.Errorf("%q does not come back: %v", got.URL(), err)
		}
	})
}
