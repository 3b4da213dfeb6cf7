package pfrest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/secretfile"
)

const (
	rules   Endpoint = "/api/v2/firewall/rules"
	aliases Endpoint = "/api/v2/firewall/aliases"
	version Endpoint = "/api/v2/system/version"

	key1 = "first-key-0123456789"
	key2 = "second-key-987654321"
)

// appliance is a TLS server that answers with handle and counts requests.
type appliance struct {
	*httptest.Server
	requests atomic.Int64
	mu       sync.Mutex
	seen     []string // method and URI of each request
}

func serve(tb testing.TB, handle http.HandlerFunc) *appliance {
	tb.Helper()
	a := new(appliance)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		a.mu.Lock()
		a.seen = append(a.seen, r.Method+" "+r.RequestURI)
		a.mu.Unlock()
		handle(w, r)
	}))
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.StartTLS()
	tb.Cleanup(a.Close)
	return a
}

// uris returns what was asked since the last call.
func (a *appliance) uris() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.seen
	a.seen = nil
	return s
}

// caFile writes the server's certificate as a CA file.
func (a *appliance) caFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// client returns a client of a; change may alter its settings.
func (a *appliance) client(tb testing.TB, change ...func(*Config)) *Client {
	tb.Helper()
	cfg := Config{BaseURL: a.URL, Key: secretfile.New([]byte(key1)), TLSMode: "auto", CAFile: a.caFile(tb), Endpoints: []Endpoint{rules, aliases, version}}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// reply answers with a status and a body as pfREST does.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func success(data string) string {
	return `{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":` + data + `}`
}

func failure(status int, id string) string {
	return fmt.Sprintf(`{"code":%d,"status":"error","response_id":%q,"message":"secret-message of the appliance","data":[]}`, status, id)
}

// list is an appliance's list whose rows tests change while it is read.
type list struct {
	mu   sync.Mutex
	rows []string
	bad  map[int]bool // a page with such a row answers 500
	hook func(offset, limit int)
}

func number(n int) *list {
	l := &list{bad: map[int]bool{}}
	for i := range n {
		l.rows = append(l.rows, fmt.Sprintf(`{"id":%d,"name":"row-%d"}`, i, i))
	}
	return l
}

func (l *list) handle(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hook != nil {
		l.hook(offset, limit)
	}
	from, to := min(offset, len(l.rows)), len(l.rows)
	if limit > 0 {
		to = min(offset+limit, len(l.rows))
	}
	for i := range l.bad {
		if i >= from && i < to {
			reply(w, 500, failure(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR"))
			return
		}
	}
	reply(w, 200, success("["+strings.Join(l.rows[from:max(from, to)], ",")+"]"))
}

// wantClass fails unless err is a coded error of the class, with a next step and
// without the appliance's words or the key.
func wantClass(t *testing.T, err error, class string) *errs.Error {
	t.Helper()
	e, ok := errors.AsType[*errs.Error](err)
	if !ok {
		t.Fatalf("got %v, want class %s", err, class)
	}
	if e.Class != class {
		t.Fatalf("class %q (%s), want %q", e.Class, e.Msg, class)
	}
	for _, secret := range []string{"secret", key1, key2} {
		if strings.Contains(e.Msg+e.Next, secret) {
			t.Fatalf("the error says %q: %s; %s", secret, e.Msg, e.Next)
		}
	}
	if e.Next == "" || e.Msg == "" {
		t.Fatalf("no message or next step: %+v", e)
	}
	return e
}

// lines is a log that tests read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// within gives a test's calls a bound, so that a hang is a failure.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// waitFor polls a condition that another goroutine makes true.
func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen in time")
		}
	}
}

// tlsListener serves TLS on ln with the certificate of s.
func tlsListener(ln net.Listener, s *httptest.Server) net.Listener {
	return tls.NewListener(ln, &tls.Config{Certificates: s.TLS.Certificates})
}
