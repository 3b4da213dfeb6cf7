package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pfsensemcp/pkg/jsonline"
)

// daemon is a pretend mcpd: each connection is a session that answers by
// script, and everything it reads is kept.
type daemon struct {
	mu      sync.Mutex
	down    bool
	conns   []net.Conn
	got     []string                               // every line read, all connections
	version string                                 // answered to initialize
	reply   func(m jsonline.Message) (line string) // "" for no answer
	greet   string                                 // sent on accept, then closed, when not ""
}

func (d *daemon) dial(context.Context, string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	d.conns = append(d.conns, ours)
	go d.serve(ours)
	return theirs, nil
}

func (d *daemon) serve(c net.Conn) {
	if d.greet != "" {
		_, _ = io.WriteString(c, d.greet+"\n")
		_ = c.Close()
		return
	}
	in := jsonline.NewReader(c)
	in.Whole = true
	for {
		line, err := in.Next()
		if err != nil {
			return
		}
		m, err := jsonline.Parse(line)
		if err != nil {
			panic("the shim let through: " + string(line))
		}
		d.mu.Lock()
		d.got = append(d.got, string(line))
		reply := d.reply
		d.mu.Unlock()
		var out string
		switch {
		case m.Method == methodInitialize:
			out = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q}}`, m.ID.Raw(), d.version)
		case reply != nil && m.Kind == jsonline.Request:
			out = reply(m)
		}
		if out != "" {
			if _, err := io.WriteString(c, out+"\n"); err != nil {
				return
			}
		}
	}
}

// stop ends the daemon with all its sessions.
func (d *daemon) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = true
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

func (d *daemon) start() { d.mu.Lock(); d.down = false; d.mu.Unlock() }

func (d *daemon) count(sub string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.got {
		if strings.Contains(l, sub) {
			n++
		}
	}
	return n
}

func echo(m jsonline.Message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"m":%q}}`, m.ID.Raw(), m.Method)
}

// client is the MCP client's side of a shim under test.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  chan string
	done chan error
}

func (c *client) Write(p []byte) (int, error) {
	if p[len(p)-1] != '\n' || strings.Count(string(p), "\n") != 1 {
		c.t.Errorf("not one line: %q", p)
	}
	c.out <- string(p[:len(p)-1])
	return len(p), nil
}

func run(t *testing.T, d *daemon) *client {
	pr, pw := io.Pipe()
	c := &client{t: t, in: pw, out: make(chan string, 10000), done: make(chan error, 1)}
	s := New(Config{In: pr, Out: c, Sockets: []string{"/x"}, Dial: d.dial})
	go func() { c.done <- s.Run(t.Context()) }()
	t.Cleanup(func() { d.stop(); _ = pr.Close() })
	return c
}

func (c *client) send(lines ...string) {
	for _, l := range lines {
		_, _ = io.WriteString(c.in, l+"\n")
	}
}

// next returns the next line, after everything else has come to rest.
func (c *client) next() string {
	c.t.Helper()
	select {
	case l := <-c.out:
		return l
	case <-time.After(time.Minute):
		c.t.Fatal("no answer")
		return ""
	}
}

func (c *client) want(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if got := c.next(); got != l {
			c.t.Fatalf("got  %s\nwant %s", got, l)
		}
	}
}

func (c *client) wantIn(subs ...string) {
	c.t.Helper()
	got := c.next()
	for _, s := range subs {
		if !strings.Contains(got, s) {
			c.t.Fatalf("%s is not in %s", s, got)
		}
	}
}

func (c *client) end() error {
	c.t.Helper()
	_ = c.in.Close()
	err := <-c.done
	select {
	case l := <-c.out:
		c.t.Errorf("one line too many: %s", l)
	default:
	}
	return err
}

const (
	hello    = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","x":"y"}}`
	helloOK  = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`
	readyMsg = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func request(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
}

func TestIDsComeBackByteForByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, &daemon{version: "2025-06-18", reply: echo})
		c.send(hello, readyMsg)
		c.want(helloOK)
		for _, id := range []string{"1", "9007199254740993", "-0", `"a"`, `"\u0061\n"`, `"1"`} {
			c.send(request(id, "tools/list"))
			c.want(`{"jsonrpc":"2.0","id":` + id + `,"result":{"m":"tools/list"}}`)
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestABadLineIsAnsweredAndTheSessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18", reply: echo}
		c := run(t, d)
		c.send("\xef\xbb\xbf"+hello, readyMsg)
		c.want(helloOK)
		c.send("hello")
		c.wantIn(`"id":null`, "-32700")
		c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x","name":"y"}}`)
		c.wantIn(`"id":3`, "-32600", "duplicate key")
		c.send(`{"jsonrpc":"2.0","id":4,"method":"x","params":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`)
		c.wantIn(`"id":4`, "-32600", "32 levels")
		c.send(request("1.5", "ping"))
		c.wantIn(`"id":null`, "-32600")
		c.send(`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", jsonline.MaxLine) + `"}`)
		c.wantIn(`"id":null`, "-32600", "too_long")
		c.send(`[]`)
		c.wantIn(`"id":null`, "-32600")
		c.send("", request("5", "tools/list"))
		c.want(`{"jsonrpc":"2.0","id":5,"result":{"m":"tools/list"}}`)
		synctest.Wait()
		if n := d.count(""); n != 3 {
			t.Errorf("mcpd got %d lines", n)
		}
		_ = c.end()
	})
}

func TestTheEndOfInputLetsOutstandingCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18", reply: func(m jsonline.Message) string {
			time.Sleep(40 * time.Second)
			return echo(m)
		}}
		c := run(t, d)
		c.send(hello, readyMsg, request("2", "tools/call"))
		_ = c.in.Close()
		c.want(helloOK, `{"jsonrpc":"2.0","id":2,"result":{"m":"tools/call"}}`)
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnAnswerThatNeverComesDoesNotHoldTheEndForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, &daemon{version: "2025-06-18"})
		c.send(hello, readyMsg, request("2", "tools/call"))
		c.want(helloOK)
		began := time.Now()
		if err := c.end(); err != nil || time.Since(began) != 50*time.Second {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
	})
}

func TestARestartOfMcpdIsSurvivedAndNothingIsSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18"}
		c := run(t, d)
		c.send(hello, readyMsg)
		c.want(helloOK)
		c.send(request("2", "tools/call"))
		synctest.Wait()
		d.stop()
		c.wantIn(`"id":2,`, "-32050", `"class":"restarting"`, `"outcome":"unknown"`)
		c.send(request("3", "tools/call"))
		c.wantIn(`"id":3,`, `"class":"restarting"`, `"outcome":"not_sent"`)
		c.send(request("4", "ping"))
		c.want(`{"jsonrpc":"2.0","id":4,"result":{}}`)
		d.mu.Lock()
		d.reply = echo
		d.mu.Unlock()
		d.start()
		c.send(request("5", "tools/call"))
		c.want(`{"jsonrpc":"2.0","id":5,"result":{"m":"tools/call"}}`)
		if a, b, i, h := d.count(`"id":2,`), d.count(`"id":3,`), d.count(methodInitialized), d.count(`"x":"y"`); a != 1 || b != 0 || i != 2 || h != 2 {
			t.Errorf("call 2 was sent %d times, call 3 %d, initialized %d, initialize %d", a, b, i, h)
		}
		// A second restart while nothing is asked: the session is there before the
		// next request.
		d.stop()
		time.Sleep(10 * time.Second)
		d.start()
		time.Sleep(5 * time.Second)
		if n := d.count(methodInitialized); n != 3 {
			t.Errorf("initialized was sent %d times", n)
		}
		_ = c.end()
	})
}

func TestMcpdMayComeALittleLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18", reply: echo, down: true}
		c := run(t, d)
		c.send(hello, readyMsg, request("1", "tools/list"))
		time.Sleep(2 * time.Second)
		d.start()
		c.want(helloOK, `{"jsonrpc":"2.0","id":1,"result":{"m":"tools/list"}}`)
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAMissingMcpdIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{down: true}
		c := run(t, d)
		began := time.Now()
		c.send(hello)
		c.wantIn(`"id":0,`, "-32050", "unreachable", "nobody listens at /x")
		if w := time.Since(began); w != 5*time.Second {
			t.Errorf("after %v", w)
		}
		// The client may try again, and then mcpd is there.
		d.version = "2025-06-18"
		d.start()
		c.send(hello)
		c.want(helloOK)
		d.stop()
		if err := c.end(); err != nil {
			t.Errorf("reached, and still %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := run(t, &daemon{down: true})
		c.send(hello)
		_ = c.next()
		if err := c.end(); err == nil || !strings.Contains(err.Error(), "nobody listens") {
			t.Errorf("%v", err)
		}
	})
}

func TestARefusedSessionIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := run(t, &daemon{greet: `{"jsonrpc":"2.0","id":null,"error":{"code":-32050,"message":"an operator\u0007","data":{"session":"refused"}}}`})
		began := time.Now()
		c.send(hello)
		c.wantIn(`"id":0,`, "unreachable", "mcpd refused the session: an operator?")
		if w := time.Since(began); w > time.Second {
			t.Errorf("after %v", w)
		}
		if err := c.end(); err == nil {
			t.Error("no error")
		}
	})
}

func TestAnotherProtocolVersionAfterARestartIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18", reply: echo}
		c := run(t, d)
		c.send(hello, readyMsg)
		c.want(helloOK)
		d.stop()
		d.version = "2025-03-26"
		d.start()
		synctest.Wait()
		c.send(request("1", "tools/list"))
		c.wantIn(`"id":1,`, "another protocol version", "not_sent")
		_ = c.end()
	})
}

func TestABatchOfAnOldClientIsAnsweredByOneArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-03-26", reply: echo}
		c := run(t, d)
		c.send(hello, readyMsg)
		c.wantIn("2025-03-26")
		c.send(`[` + request("1", "a") + `,` + readyMsg + `,` + request("1.5", "b") + `,` + request("2", "c") + `]`)
		c.wantIn(`[{"jsonrpc":"2.0"`, `"id":1,"result"`, `"id":null,"error"`, `"id":2,"result"`)
		c.send(`[` + readyMsg + `]`)
		_ = c.end()
		if d.count("[") != 0 {
			t.Error("mcpd got an array")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := run(t, &daemon{version: "2025-06-18", reply: echo})
		c.send(hello, readyMsg)
		c.want(helloOK)
		c.send(`[` + request("1", "a") + `]`)
		c.wantIn(`"id":null`, "no batches")
		_ = c.end()
	})
}

func TestACancelledCallGetsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := run(t, &daemon{version: "2025-06-18", reply: func(m jsonline.Message) string { <-release; return echo(m) }})
		c.send(hello, readyMsg)
		c.want(helloOK)
		c.send(request("1", "tools/call"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		close(release)
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// slow is an output that takes its time with every line.
type slow struct{ got []string }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(3 * time.Second)
	s.got = append(s.got, string(p))
	return len(p), nil
}

// The input ends while the last answer, which nobody owes any more, is on its
// way to the client.
func TestTheLastAnswerIsWrittenBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18", reply: echo}
		out := &slow{}
		pr, pw := io.Pipe()
		s := New(Config{In: pr, Out: out, Sockets: []string{"/x"}, Dial: d.dial})
		go func() {
			_, _ = io.WriteString(pw, hello+"\n"+readyMsg+"\n"+request("1", "tools/list")+"\n")
			time.Sleep(4 * time.Second)
			_ = pw.Close()
		}()
		if err := s.Run(t.Context()); err != nil || len(out.got) != 2 {
			t.Errorf("%v %q", err, out.got)
		}
		d.stop()
	})
}

func TestTwoCallsCannotHaveOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18"}
		c := run(t, d)
		c.send(hello, readyMsg)
		c.want(helloOK)
		c.send(request(`"a"`, "x"), request(`"\u0061"`, "x"))
		c.wantIn(`"id":null`, "-32600")
		d.stop()
		c.wantIn(`"id":"a"`)
		_ = c.end()
	})
}

func TestASessionWithoutHandshakeAndItsSubscriptionSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{reply: func(m jsonline.Message) string {
			if m.Method == methodListen {
				return ""
			}
			return echo(m)
		}}
		c := run(t, d)
		c.send(request("1", "tools/list"), request("2", methodListen))
		c.wantIn(`"id":1,`)
		synctest.Wait()
		d.stop()
		time.Sleep(time.Minute)
		d.start()
		c.send(request("3", "tools/list"))
		c.wantIn(`"id":3,"result"`)
		if n := d.count(methodListen); n != 2 {
			t.Errorf("the subscription was sent %d times", n)
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatIsNoProtocolNeverReachesTheClient(t *testing.T) {
	for _, junk := range []string{"220 smtp ready", `{"a":1}`, `{"jsonrpc":"2.0","id":7,"result":1,"result":2}`, "\x00\x01"} {
		synctest.Test(t, func(t *testing.T) {
			c := run(t, &daemon{greet: junk})
			c.send(hello)
			c.wantIn(`"id":0,`, "does not speak MCP")
			_ = c.end()
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAClientThatIsGoneEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{version: "2025-06-18"}
		pr, pw := io.Pipe()
		s := New(Config{In: pr, Out: brokenPipe{}, Sockets: []string{"/x"}, Dial: d.dial})
		done := make(chan error, 1)
		go func() { done <- s.Run(t.Context()) }()
		_, _ = io.WriteString(pw, hello+"\n")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		_ = pw.Close()
		d.stop()
	})
}

func TestDoctorSaysWhatItSees(t *testing.T) {
	d := &daemon{reply: func(m jsonline.Message) string {
		res := `{"tools":[{},{}]}`
		if m.Method == "server/discover" {
			res = `{"supportedVersions":["2026-07-28","2025-11-25"],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"pfsense-mcp","version":"1\u001b"}}}`
		}
		return `{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,"result":` + res + `}`
	}}
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := Doctor(t.Context(), &out, "v1", []string{"/nowhere"}, d.dial); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"shim       v1", "/nowhere", "reachable  yes", "pfsense-mcp 1?", "2026-07-28 2025-11-25", "tools      2, 7 bytes"} {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%q is missing in\n%s", s, &out)
			}
		}
		d.down = true
		if err := Doctor(t.Context(), io.Discard, "v1", []string{"/nowhere"}, d.dial); err == nil {
			t.Error("an absent mcpd is no error")
		}
		d.stop()
	})
	if err := Doctor(t.Context(), io.Discard, "v1", []string{t.TempDir() + "/none"}, nil); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a real dial: %v", err)
	}
}
