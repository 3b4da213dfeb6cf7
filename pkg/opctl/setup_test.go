package opctl

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// interview runs mcpctl setup --dry-run at a terminal: it writes nothing on any host.
func interview(t *testing.T, person func(*person), args ...string) (code int, shown, out string) {
	t.Helper()
	for _, path := range []string{"/etc/pfsense-mcp", "/var/lib/pfsense-mcp", "/etc/credstore.encrypted/pfsense-mcpd.read-api-key"} {
		if _, err := os.Lstat(path); err == nil {
			t.Skipf("this host is set up: %s would answer in the person's place", path)
		}
	}
	x := newTerminal(t)
	var o bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- Run(context.Background(), Env{In: x.Slave, Out: &o, Err: x.Slave}, append([]string{"setup", "--dry-run"}, args...))
	}()
	person(x)
	select {
	case code = <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("setup does not end:\n%s", x.Text())
	}
	return code, x.all(), o.String()
}

// firewall is an appliance that nobody vouches for; what is asked of it fails the test.
func firewall(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the appliance was asked %s %s", r.Method, r.URL)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it finds a client that hangs up odd
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestSetupAsksAPersonForWhatNoFlagSaysAndForTheCertificate(t *testing.T) {
	s := firewall(t)
	key := filepath.Join(t.TempDir(), "read.key")
	if err := os.WriteFile(key, []byte("the-key-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := func(last string) func(*person) {
		return func(x *person) {
			x.asks("URL (https://HOST[:PORT]): ")
			x.types("\n")
			for strings.Count(x.Text(), "URL (https://HOST[:PORT]): ") < 2 { // an empty line is asked again
				time.Sleep(time.Millisecond)
			}
			x.types(s.URL + "\n")
			x.asks("user for reading: ")
			x.types("mcp-reader\n")
			x.asks("mode 600): ")
			x.types(key + "\n")
			x.asks(question)
			x.types(last)
		}
	}
	code, shown, out := interview(t, answers("yes\n"))
	if code != ExitOK || !strings.Contains(out, "pin") || !strings.Contains(out, `identity = "mcp-reader"`) || !strings.Contains(out, "Nothing was written.") {
		t.Errorf("%d\n%s\n%s", code, shown, out)
	}
	if strings.Contains(shown+out, "the-key-0123456789") {
		t.Error("the key is shown")
	}
	code, shown, out = interview(t, answers("no\n"))
	if code == ExitOK || !strings.Contains(shown, "nothing was done") || strings.Contains(out, "mcpd.toml") {
		t.Errorf("%d\n%s\n%s", code, shown, out)
	}
}

func TestSetupWithYesStillWantsThePinOfAnUnknownCertificate(t *testing.T) {
	s := firewall(t)
	key := filepath.Join(t.TempDir(), "read.key")
	if err := os.WriteFile(key, []byte("the-key-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, shown, out := interview(t, func(*person) {}, "--url", s.URL, "--identity", "mcp-reader", "--key-file", key, "--yes")
	_, pin, found := strings.Cut(out, "  pin      ")
	pin, _, _ = strings.Cut(pin, " ")
	if code != ExitFail || !found || !strings.Contains(shown, "--pin "+pin) {
		t.Fatalf("%d\n%s\n%s", code, shown, out)
	}
	if code, shown, out = interview(t, func(*person) {}, "--url", s.URL, "--identity", "mcp-reader", "--key-file", key, "--yes", "--pin", pin); code != ExitOK {
		t.Errorf("%d\n%s\n%s", code, shown, out)
	}
}
