package exchange

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
)

func TestX1AGoodExchangeIsOneRequestOnOneConnection(t *testing.T) {
	var head, body string
	var more []byte
	gone := make(chan struct{})
	r, s := play(t, func(p *peer, h, b string) {
		head, body = h, b
		p.say(done)
		more = p.rest()
		close(gone)
	})
	<-gone
	if r.Effect() != Accepted || !r.Answered || r.Status != 200 || r.ResponseID != "SUCCESS" || !r.EchoOK || r.Err != nil {
		t.Fatalf("%+v", r)
	}
	want := "PATCH /api/v2/firewall/alias HTTP/1.1\r\nHost: " + strings.TrimPrefix(s.URL, "https://") + "\r\nUser-Agent: pfsense-mcp\r\nAccept: application/json\r\n" +
		"Content-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\nX-API-Key: " + testKey + "\r\n\r\n"
	if head != want {
		t.Errorf("the request's header is\n%q, not\n%q", head, want)
	}
	if body != `{"id":7,"name":"web_servers","descr":"DMZ web servers","apply":false}` {
		t.Errorf("the body is %s", body)
	}
	if r.Sent != int64(len(head)+len(body)) {
		t.Errorf("%d bytes are counted of %d", r.Sent, len(head)+len(body))
	}
	if s.connections() != 1 || len(more) != 0 {
		t.Errorf("%d connections, %q after the request", s.connections(), more)
	}
}

func TestX2NothingIsSentWhereNobodyIsBelieved(t *testing.T) {
	heard := make(chan string, 8)
	listen := func(p *peer) { heard <- p.head() }
	good := serve(t, listen)
	other := serve(t, listen)
	old := serve(t, listen, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11; c.MinVersion = tls.VersionTLS10 })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]Config{
		"refused connection":   config(t, "https://"+closed.Addr().String(), good.CA),
		"name without address": config(t, "https://appliance.invalid", good.CA),
		"wrong name":           named(config(t, good.URL, good.CA), "https://localhost:"+port(good.URL)),
		"TLS 1.1":              config(t, old.URL, old.CA),
		"unknown authority":    strict(t, other.URL),
		"wrong pin":            pinned(t, good),
	} {
		x := exchanger(t, c)
		err := fails(t, x)
		if class(err) != "not_sent" || errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("%s: %v (%s)", name, err, class(err))
		}
	}
	time.Sleep(50 * time.Millisecond) // for the scripts to hear what came
	for {
		select {
		case h := <-heard:
			if h != "" {
				t.Errorf("application bytes were sent: %q", h)
			}
			continue
		default:
		}
		break
	}
}

func TestX3EveryBreakAfterTheFirstByteIsAmbiguous(t *testing.T) {
	for name, script := range map[string]func(*peer){
		"reset after one byte":                func(p *peer) { b := make([]byte, 1); _, _ = p.Read(b); p.reset() },
		"reset after the header":              func(p *peer) { p.head(); p.reset() },
		"reset after the body":                func(p *peer) { p.request(); p.reset() },
		"closed after the body":               func(p *peer) { p.request() },
		"closed in order after the body":      func(p *peer) { p.request(); p.Close() },
		"reset within the response's header":  func(p *peer) { p.request(); p.say(done[:30]); p.reset() },
		"closed within the response's header": func(p *peer) { p.request(); p.say(done[:30]); p.Close() },
		"reset after the response's header":   func(p *peer) { p.request(); p.say(done[:strings.Index(done, "{")]); p.reset() },
		"closed after the response's header":  func(p *peer) { p.request(); p.say(done[:strings.Index(done, "{")]); p.Close() },
		"reset within the response's body":    func(p *peer) { p.request(); p.say(done[:len(done)-1]); p.reset() },
		"closed within the response's body":   func(p *peer) { p.request(); p.say(done[:len(done)-1]); p.Close() },
		"an unfinished chunk": func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cod")
			p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, script)
			r := send(t, exchanger(t, config(t, s.URL, s.CA)))
			if r.Effect() != Ambiguous || r.Answered || r.Sent == 0 || errs.CodeOf(r.Err) != errs.UnknownOutcome || !strings.HasPrefix(class(r.Err), "ambiguous_") {
				t.Errorf("%+v", r)
			}
			if s.connections() != 1 {
				t.Errorf("%d connections", s.connections())
			}
		})
	}
}

func TestX4EveryPhaseHasItsTimeLimit(t *testing.T) {
	hold := func(p *peer) { p.rest() }
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never shakes hands
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	const short, long = 150 * time.Millisecond, time.Minute
	_, ca := certificate(t)

	c := config(t, "https://"+deaf.Addr().String(), ca)
	c.Dial = short
	start := time.Now()
	if err := fails(t, exchanger(t, c)); class(err) != "not_sent" || time.Since(start) < short {
		t.Error("handshake:", err, time.Since(start))
	}

	for name, x := range map[string]struct {
		script            func(*peer)
		response, overall time.Duration
	}{
		"no response":             {hold, short, long},
		"half a header":           {func(p *peer) { p.request(); p.say("HTTP/1.1 200 OK\r\nX: "); p.rest() }, short, long},
		"half a body":             {func(p *peer) { p.request(); p.say(done[:len(done)-9]); p.rest() }, long, short},
		"a body that drips":       {func(p *peer) { p.request(); p.say(done[:len(done)-99]); drip(p, done[len(done)-99:]) }, long, 3 * short},
		"the whole before a part": {hold, long, short},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, x.script)
			c := config(t, s.URL, s.CA)
			c.Response, c.Overall = x.response, x.overall
			r := send(t, exchanger(t, c))
			if r.Effect() != Ambiguous || r.Took < short || r.Took >= long || s.connections() != 1 {
				t.Errorf("%+v", r)
			}
		})
	}

	t.Run("a request that nobody takes", func(t *testing.T) {
		pair, ca := certificate(t)
		near, far := net.Pipe() // no buffer: a write waits for its reader
		defer far.Close()
		c := config(t, "https://127.0.0.1:1", ca)
		c.Write = short
		x := exchanger(t, c)
		shaken := make(chan error, 1)
		go func() {
			srv := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{pair}, MaxVersion: tls.VersionTLS12})
			shaken <- srv.Handshake()
		}()
		silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) // a pipe has no socket to be asked
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		type asked = syscall.Conn
		raw := struct {
			net.Conn
			asked
		}{near, silent}
		conn := &Conn{x: x, raw: raw, tls: tls.Client(near, x.tls)}
		if err := conn.tls.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-shaken; err != nil {
			t.Fatal(err)
		}
		r := conn.Send(t.Context(), web)
		if r.Effect() != Ambiguous || class(r.Err) != "ambiguous_send" || r.Took < short {
			t.Errorf("%+v", r)
		}
	})
}

func drip(p *peer, s string) {
	for i := range len(s) {
		if _, err := p.Write([]byte{s[i]}); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// untold keeps a server from saying anything unasked.
func untold(c *tls.Config) { c.SessionTicketsDisabled = true }

// arrived waits until the loopback has carried something of an untold server's.
func arrived(t *testing.T, c *Conn) {
	t.Helper()
	for {
		if unread, err := c.unread(); err != nil {
			t.Fatal(err)
		} else if unread {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestX7NothingIsFollowedReusedOrRepeated(t *testing.T) {
	t.Run("a redirect is not followed", func(t *testing.T) {
		other := serve(t, func(p *peer) { p.request(); p.say(done) })
		for _, status := range []int{301, 302, 303, 307, 308} {
			r, s := play(t, func(p *peer, _, _ string) {
				p.say(response(status, "Content-Type: application/json\r\nLocation: "+other.URL+"/api/v2/firewall/alias\r\n", ""))
			})
			if r.Effect() != Ambiguous || r.Status != status || s.connections() != 1 {
				t.Errorf("%d: %+v", status, r)
			}
		}
		if other.connections() != 0 {
			t.Error("followed")
		}
	})
	t.Run("HTTP/2 is not negotiated", func(t *testing.T) {
		var proto string
		s := serve(t, func(p *peer) { proto = p.ConnectionState().NegotiatedProtocol; p.request(); p.say(done) },
			func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} })
		if r := send(t, exchanger(t, config(t, s.URL, s.CA))); r.Effect() != Accepted || proto != "http/1.1" {
			t.Errorf("%q %+v", proto, r)
		}
		only := serve(t, func(p *peer) { p.head() }, func(c *tls.Config) { c.NextProtos = []string{"spdy/3"} })
		if err := fails(t, exchanger(t, config(t, only.URL, only.CA))); class(err) != "not_sent" {
			t.Error(err)
		}
	})
	t.Run("the proxy of the environment is ignored", func(t *testing.T) {
		proxy := serve(t, func(*peer) {})
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
			t.Setenv(name, proxy.URL)
		}
		if r, _ := play(t, func(p *peer, _, _ string) { p.say(done) }); r.Effect() != Accepted || proxy.connections() != 0 {
			t.Errorf("%+v, %d connections to the proxy", r, proxy.connections())
		}
	})
	t.Run("a connection is used once", func(t *testing.T) {
		s := serve(t, func(p *peer) {
			for {
				if h, _ := p.request(); h == "" {
					return
				}
				p.say(done) // and it stays open
			}
		})
		x := exchanger(t, config(t, s.URL, s.CA))
		c, err := x.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first := c.Send(t.Context(), web)
		again := c.Send(t.Context(), web)
		if first.Effect() != Accepted || again.Effect() != Ambiguous || again.Sent != first.Sent || again.Answered || class(again.Err) != "ambiguous_send" {
			t.Errorf("%+v\n%+v", first, again)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if r := send(t, x); r.Effect() != Accepted || s.connections() != 2 {
			t.Errorf("%+v, %d connections", r, s.connections())
		}
	})
	t.Run("a connection that the server closed while idle is not written to", func(t *testing.T) {
		for name, end := range map[string]func(*peer){
			"in order": func(p *peer) { p.Close() }, "without a goodbye": func(p *peer) { p.raw.Close() }, "with a reset": func(p *peer) { p.reset() },
			"after words of its own": func(p *peer) { p.say(done) },
		} {
			s := serve(t, func(p *peer) { end(p); p.rest() }, untold)
			c, err := exchanger(t, config(t, s.URL, s.CA)).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			arrived(t, c)
			r := c.Send(t.Context(), web)
			if r.Effect() != None || r.Sent != 0 || class(r.Err) != "not_sent" || s.connections() != 1 {
				t.Errorf("%s: %+v, %d connections", name, r, s.connections())
			}
		}
	})
	t.Run("a look that comes too late to read still sees what came", func(t *testing.T) {
		for name, first := range map[string]func(*peer){
			"in order": func(p *peer) { p.Close() }, "without a goodbye": func(p *peer) { p.raw.Close() },
			"with a reset": func(p *peer) { p.reset() }, "after words of its own": func(p *peer) { p.say(done) },
			"silence": nil,
		} {
			s := serve(t, func(p *peer) {
				if first != nil {
					first(p)
				}
				p.rest()
			}, untold)
			c, err := exchanger(t, config(t, s.URL, s.CA)).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if first != nil {
				arrived(t, c)
			}
			if err := c.quiet(-time.Second); (err == nil) != (first == nil) || err != nil && class(err) != "not_sent" {
				t.Errorf("%s: %v", name, err)
			}
			c.Close()
		}
	})
	t.Run("a closed connection is not written to", func(t *testing.T) {
		s := serve(t, func(p *peer) { p.rest() })
		c, err := exchanger(t, config(t, s.URL, s.CA)).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if r := c.Send(t.Context(), web); r.Effect() != None || class(r.Err) != "not_sent" {
			t.Errorf("%+v", r)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestACallerWhoLeavesCannotCutAnExchange(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := serve(t, func(p *peer) {
		p.request()
		cancel()
		time.Sleep(100 * time.Millisecond)
		p.say(done)
	})
	c, err := exchanger(t, config(t, slow.URL, slow.CA)).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() { <-ctx.Done(); c.Close(); close(closed) }() // nor can one who closes
	r := c.Send(ctx, web)
	<-closed
	if r.Effect() != Accepted || ctx.Err() == nil {
		t.Errorf("%+v", r)
	}
	// Before the first byte he can.
	s := serve(t, func(p *peer) { p.rest() })
	x := exchanger(t, config(t, s.URL, s.CA))
	c, err = x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Send(ctx, web); r.Effect() != None || class(r.Err) != "not_sent" {
		t.Errorf("%+v", r)
	}
	if _, err := x.Connect(ctx); class(err) != "not_sent" {
		t.Error(err)
	}
}

func TestReview06NothingIsDialledOrShakenAfterConnect(t *testing.T) {
	heard := make(chan int, 1)
	s := serve(t, func(p *peer) {
		_ = p.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		b := make([]byte, 1)
		n, _ := p.Read(b)
		heard <- n // the handshake is over, and nothing came with it
		_ = p.SetReadDeadline(time.Now().Add(time.Minute))
		p.request()
		p.say(done)
	})
	x := exchanger(t, config(t, s.URL, s.CA))
	c, err := x.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !c.tls.ConnectionState().HandshakeComplete || c.sent != 0 {
		t.Error("Connect returned before the handshake was over")
	}
	if n := <-heard; n != 0 {
		t.Error("Connect sent application bytes")
	}
	if r := c.Send(t.Context(), web); r.Effect() != Accepted || s.connections() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestReview30TheTimeLimitsAreThoseThatTheAnswerNeeds(t *testing.T) {
	_, ca := certificate(t)
	x := exchanger(t, config(t, "https://127.0.0.1:1", ca))
	if x.dial != 10*time.Second || x.write != 10*time.Second || x.response != 200*time.Second || x.overall != 215*time.Second {
		t.Errorf("%v %v %v %v", x.dial, x.write, x.response, x.overall)
	}
	if e := (Result{Sent: 1, Answered: true, Status: http.StatusNotAcceptable, ResponseID: "X"}).Effect(); e != Ambiguous {
		t.Error("406 counts as refused:", e)
	}
	// A minute for the lock, and the web server's 180 s, are waited for.
	if !(Result{Took: 1501 * time.Millisecond}).Contended() || (Result{Took: 1500 * time.Millisecond}).Contended() {
		t.Error("contention is not what takes more than 1.5 s")
	}
}
