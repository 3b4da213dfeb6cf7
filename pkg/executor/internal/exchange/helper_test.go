package exchange

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
)

const testKey = "canary-write-key-0123456789abcdef"

var web = Change{Locator: 7, Name: "web_servers", Descr: "DMZ web servers"}

// peer is one accepted connection after its handshake.
type peer struct {
	*tls.Conn
	raw *net.TCPConn
	t   testing.TB
}

// head reads the request's header, byte by byte so that nothing behind it is taken.
func (p *peer) head() string {
	var b []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
		if _, err := p.Read(one); err != nil {
			return string(b)
		}
		b = append(b, one[0])
	}
	return string(b)
}

// request reads the whole request.
func (p *peer) request() (head, body string) {
	head = p.head()
	_, rest, _ := strings.Cut(head, "Content-Length: ")
	digits, _, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.Atoi(digits)
	b := make([]byte, n)
	_, _ = io.ReadFull(p, b)
	return head, string(b)
}

// say writes raw bytes.
func (p *peer) say(s string) { _, _ = io.WriteString(p, s) }

// reset ends the connection so that the other side sees a reset.
func (p *peer) reset() { _ = p.raw.SetLinger(0); p.raw.Close() }

// rest waits until the client has gone and returns what it sent meanwhile.
func (p *peer) rest() []byte {
	b, _ := io.ReadAll(p)
	return b
}

// server is a TLS server that plays a script once a connection.
type server struct {
	URL, CA string

	mu    sync.Mutex
	conns int
}

// certificate returns a key pair for 127.0.0.1 and the file of its authority.
func certificate(t testing.TB) (tls.Certificate, string) {
	t.Helper()
	h := httptest.NewTLSServer(nil)
	defer h.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return h.TLS.Certificates[0], path
}

// serve starts a server; change changes its TLS settings.
func serve(t testing.TB, script func(*peer), change ...func(*tls.Config)) *server {
	t.Helper()
	pair, ca := certificate(t)
	conf := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	for _, f := range change {
		f(conf)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{URL: "https://" + ln.Addr().String(), CA: ca}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			running.Go(func() {
				defer raw.Close()
				_ = raw.SetDeadline(time.Now().Add(2 * time.Minute))
				c := tls.Server(raw, conf)
				if c.Handshake() != nil {
					return
				}
				tcp := raw.(*net.TCPConn)
				script(&peer{Conn: c, raw: tcp, t: t})
			})
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return s
}

// connections returns how many there were.
func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// config returns what a good Config for the server is.
func config(t testing.TB, url, ca string) Config {
	t.Helper()
	c, err := pfrest.ClientTLS(pfrest.Config{BaseURL: url, TLSMode: "auto", CAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	return Config{BaseURL: url, TLS: c, Key: secretfile.New([]byte(testKey))}
}

func exchanger(t testing.TB, c Config) *Exchanger {
	t.Helper()
	x, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// send connects and sends web.
func send(t testing.TB, x *Exchanger) Result {
	t.Helper()
	c, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Send(t.Context(), web)
}

// play is serve, and one exchange with it; the script gets the read request.
func play(t testing.TB, script func(p *peer, head, body string)) (Result, *server) {
	t.Helper()
	s := serve(t, func(p *peer) {
		head, body := p.request()
		script(p, head, body)
	})
	return send(t, exchanger(t, config(t, s.URL, s.CA))), s
}

// class returns the class of an error of ours.
func class(err error) string {
	if err == nil {
		return ""
	}
	return errs.Public(err).Class
}

// answer is a whole response with pfREST's envelope.
func answer(status, code int, id, data string) string {
	body := `{"code":` + strconv.Itoa(code) + `,"status":"text","response_id":"` + id + `","message":"canary-upstream-message","data":` + data + `}`
	return response(status, "Content-Type: application/json\r\n", body)
}

func response(status int, header, body string) string {
	return "HTTP/1.1 " + strconv.Itoa(status) + " Text\r\nServer: nginx\r\n" + header + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

const echo = `{"id":7,"name":"web_servers","type":"host","descr":"DMZ web servers","address":["192.0.2.10"],"detail":["a"]}`

var done = answer(200, 200, "SUCCESS", echo)

// fails runs f and wants an error of Connect.
func fails(t *testing.T, x *Exchanger) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := x.Connect(ctx)
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	return err
}
