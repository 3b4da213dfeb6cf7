package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
)

// peer is the client's side of a session.
type peer struct {
	net.Conn
	t     *testing.T
	lines chan string // closed when the session is over
}

func open(t *testing.T, pool *Pool) (*Conn, *peer) {
	ours, theirs := net.Pipe()
	seat, err := pool.Admit(1000)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(ours, seat, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Conn: theirs, t: t, lines: make(chan string, 100)}
	go func() {
		defer close(p.lines)
		in := bufio.NewReader(theirs)
		for {
			l, err := in.ReadString('\n')
			if err != nil {
				return
			}
			p.lines <- strings.TrimSuffix(l, "\n")
		}
	}()
	t.Cleanup(func() { c.Leave(); _ = theirs.Close() })
	return c, p
}

func (p *peer) send(lines ...string) {
	go func() {
		for _, l := range lines {
			_, _ = io.WriteString(p, l+"\n")
		}
	}()
}

func (p *peer) want(subs ...string) {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the session is over")
		}
		for _, s := range subs {
			if !strings.Contains(l, s) {
				p.t.Fatalf("%q is not in %s", s, l)
			}
		}
	case <-time.After(time.Minute):
		p.t.Fatal("no line came")
	}
}

// read returns what the SDK gets next; it fails the test when that is nothing.
func read(t *testing.T, c *Conn) *jsonrpc.Request {
	t.Helper()
	m, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.(*jsonrpc.Request)
}

func answer(t *testing.T, c *Conn, r *jsonrpc.Request, result string) error {
	t.Helper()
	return c.Write(t.Context(), &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(result)})
}

func call(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"x"}}`
}

func TestEveryIDIsEchoedByteForByteAndCancelledByItsValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		for _, id := range []string{"1", "-0", "9007199254740993", "123456789012345678901234567890", `"a"`, `"\u0061b"`, `"\u0000i1"`, `""`} {
			p.send(call(id))
			r := read(t, c)
			if !r.ID.IsValid() || string(r.Params) != `{"name":"x"}` {
				t.Fatalf("%s: %+v", id, r)
			}
			if err := answer(t, c, r, `{}`); err != nil {
				t.Fatal(err)
			}
			p.want(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)

			p.send(call(id), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
			r = read(t, c)
			cancelled := read(t, c)
			var params mcp.CancelledParams
			if err := json.Unmarshal(cancelled.Params, &params); err != nil {
				t.Fatal(err)
			}
			// What the SDK makes of it must be the id it was given.
			if got, err := jsonrpc.MakeID(params.RequestID); err != nil || got != r.ID {
				t.Errorf("%s: cancels %v, not %v", id, got.Raw(), r.ID.Raw())
			}
			if err := answer(t, c, r, `{}`); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(p.lines) != 0 {
				t.Errorf("%s: a cancelled call was answered: %s", id, <-p.lines)
			}
		}
	})
}

func TestNeighboursBeyondTheReachOfAFloatAreTwoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		ids := []string{"9007199254740992", "9007199254740993", `"9007199254740993"`, "9007199254740994"}
		for range 20 { // what is found by chance is not found twenty times
			var held []*jsonrpc.Request
			for _, id := range ids {
				p.send(call(id))
				held = append(held, read(t, c))
			}
			for i := len(ids) - 1; i >= 0; i-- {
				if err := answer(t, c, held[i], fmt.Sprintf(`{"n":%d}`, i)); err != nil {
					t.Fatal(err)
				}
				p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"n":%d}}`, ids[i], i))
			}
		}
	})
}

func TestACancellationIsPassedOnOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		p.send(call("1"), cancel, cancel, cancel, call("2"))
		for _, want := range []string{"tools/call", "notifications/cancelled", "tools/call"} {
			if r := read(t, c); r.Method != want {
				t.Errorf("%s, not %s", r.Method, want)
			}
		}
	})
}

func TestReview20WhatIsWrongIsAnsweredAndDoesNotReachTheSDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		for _, tt := range []struct{ line, id, sub string }{
			{`hello`, "null", "-32700"},
			{`[` + call("1") + `]`, "null", "-32600"},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","name":"y"}}`, "7", "duplicate key"},
			{`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`, "7", "32 levels"},
			{call("1.5"), "null", "-32600"},
			{call("null"), "null", "-32600"},
			{`{"jsonrpc":"2.0","id":8,"method":"tools/nothing"}`, "8", "-32601"},
			{`{"jsonrpc":"2.0","id":8,"method":""}`, "8", "-32601"},
			{`{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"debug"}}`, "8", "-32601"},
			{strings.Repeat("x", jsonline.MaxLine+1), "null", "4 MiB"},
			{`{"jsonrpc":"2.0","id":8,"method":"tools/call"}`, "8", "-32602"},
			{`{"jsonrpc":"2.0","id":8,"method":"completion/complete","params":null}`, "8", "-32602"},
			// Not answered: what they say is nothing that we act on.
			{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "", ""},
			{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, "", ""},
			{`{"jsonrpc":"2.0","id":99,"result":{}}`, "", ""},
		} {
			p.send(tt.line, call(`"next"`))
			r := read(t, c)
			if tt.id != "" {
				p.want(`"id":`+tt.id+`,"error"`, tt.sub)
			}
			if err := answer(t, c, r, `{}`); err != nil {
				t.Fatal(err)
			}
			p.want(`"id":"next"`)
		}
	})
}

func TestASessionThatCannotBeginKeepsNoSeat(t *testing.T) {
	pool := NewPool()
	seat, err := pool.Admit(1)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	_, _ = ours.Close(), theirs.Close()
	if _, err := New(ours, seat, slog.New(slog.DiscardHandler)); err == nil || pool.Count() != 0 {
		t.Errorf("%v, %d seats", err, pool.Count())
	}
}

func TestReview20TheNinthCallIsToldSoAndAnEndedOneMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		var first *jsonrpc.Request
		for i := range MaxCalls {
			p.send(call(fmt.Sprint(i)))
			if r := read(t, c); i == 0 {
				first = r
			}
		}
		p.send(call("8"), `{"jsonrpc":"2.0","id":9,"method":"ping"}`, call("1"), `{"jsonrpc":"2.0","id":10,"method":"nothing"}`)
		go func() { _, _ = c.Read(t.Context()) }()
		p.want(`"id":8,"result"`, `"isError":true`, `busy`) // a model can read it
		p.want(`"id":9,"error"`, "-32050", `"class":"busy"`)
		p.want(`"id":null,"error"`, "-32600") // an id in use
		p.want(`"id":10,"error"`, "-32601")
		if err := answer(t, c, first, `{}`); err != nil {
			t.Fatal(err)
		}
		p.want(`"id":0`)
		p.send(call("11"))
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.calls); n != MaxCalls {
			t.Errorf("%d calls", n)
		}
	})
}

func TestReview20ASilentPeerLosesItsSession(t *testing.T) {
	for _, tt := range []struct {
		name  string
		send  string
		after time.Duration
	}{
		{"that says nothing", "", 30 * time.Second},
		{"that drips", `{"jsonrpc":`, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, p := open(t, NewPool())
			if tt.send != "" {
				go func() { _, _ = io.WriteString(p, tt.send) }()
			}
			began := time.Now()
			if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) || time.Since(began) != tt.after {
				t.Errorf("%s: %v after %v", tt.name, err, time.Since(began))
			}
			p.want(`"class":"timeout"`)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		p.send(call("1"))
		_ = read(t, c)
		go func() { // long silence is fine, half a line is not
			time.Sleep(time.Hour)
			_, _ = io.WriteString(p, `{"json`)
		}()
		began := time.Now()
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) || time.Since(began) != time.Hour+30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestReview20APeerThatDoesNotReadLosesItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		seat, _ := NewPool().Admit(1)
		c, err := New(ours, seat, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Leave()
		go func() { _, _ = io.WriteString(theirs, call("1")+"\n") }()
		r := read(t, c)
		began := time.Now()
		if err := answer(t, c, r, `{}`); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("the session goes on: %v", err)
		}
	})
}

func TestReview20SeatsAreBoundedByUidAndInAll(t *testing.T) {
	p := NewPool()
	var seats []*Seat
	for i := range MaxPerUID {
		s, err := p.Admit(7)
		if err != nil {
			t.Fatalf("seat %d: %v", i, err)
		}
		seats = append(seats, s)
	}
	if _, err := p.Admit(7); errs.CodeOf(err) != errs.Exhausted {
		t.Errorf("one more of a uid: %v", err)
	}
	for uid := uint32(8); p.Count() < MaxSessions; uid += 1 {
		for range MaxPerUID {
			if _, err := p.Admit(uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := p.Admit(5000); errs.CodeOf(err) != errs.Exhausted {
		t.Errorf("one more in all: %v", err)
	}
	seats[0].leave()
	seats[0].leave() // once only
	if p.Count() != MaxSessions-1 {
		t.Errorf("%d sessions", p.Count())
	}
	if _, err := p.Admit(7); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

func TestReview20BigLinesAreBoundedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := NewPool()
		big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 2*jsonline.BigLine) + `"}}`
		var held []*jsonrpc.Request
		var conns []*Conn
		for range maxBigPerUID {
			c, p := open(t, pool)
			p.send(big)
			held = append(held, read(t, c))
			conns = append(conns, c)
		}
		c, p := open(t, pool)
		p.send(big, call("2"))
		r := read(t, c)
		p.want(`"id":null,"error"`, "-32050", "busy")
		if err := answer(t, c, r, `{}`); err != nil {
			t.Fatal(err)
		}
		p.want(`"id":2`)
		// A slot comes back with the answer, and with the end of a session.
		if err := answer(t, conns[0], held[0], `{}`); err != nil {
			t.Fatal(err)
		}
		conns[1].Leave()
		p.send(big)
		_ = read(t, c)
		for _, c := range append(conns, c) {
			c.Leave()
		}
		pool.mu.Lock()
		defer pool.mu.Unlock()
		if pool.big != 0 || pool.all != 0 || len(pool.users) != 0 {
			t.Errorf("%d big lines, %d sessions, %d users are left", pool.big, pool.all, len(pool.users))
		}
	})
}

func TestNoTextOfTheSDKGetsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		for _, tt := range []struct {
			err error
			sub string
		}{
			{errors.New("secret text"), "-32600"},
			{fmt.Errorf("secret text: %w", &jsonrpc.Error{Code: -32602, Message: "secret text", Data: json.RawMessage(`"secret"`)}), "-32602"},
			{&jsonrpc.Error{Code: -32603, Message: "secret text"}, `"internal error","data":{"class":"internal","request_id":"`},
			{&jsonrpc.Error{Code: -31999, Message: "secret text"}, "internal error"},
			{&jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "secret text", Data: json.RawMessage(`{"supported":["a"]}`)}, `"data":{"supported":["a"]}`},
			{&Error{Code: -32602, Text: "ours"}, `"ours"`},
		} {
			p.send(call("1"))
			r := read(t, c)
			if err := c.Write(context.Background(), &jsonrpc.Response{ID: r.ID, Error: tt.err}); err != nil {
				t.Fatal(err)
			}
			l := <-p.lines
			if !strings.Contains(l, tt.sub) || strings.Contains(l, "secret") {
				t.Errorf("%v: %s", tt.err, l)
			}
		}
	})
}

func TestAReplyTakesThePlaceOfTheEmptyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		p.send(call("1"))
		r := read(t, c)
		CallOf(r.Extra.(*mcp.RequestExtra)).Reply([]byte(`"content":[1],"structuredContent":{"n":18446744073709551615}`))
		if err := answer(t, c, r, `{"_meta":{"a":1},"content":[],"resultType":"complete"}`); err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},"content":[1],"structuredContent":{"n":18446744073709551615},"resultType":"complete"}}`)
		p.send(call("2"))
		r = read(t, c)
		CallOf(r.Extra.(*mcp.RequestExtra)).Reply([]byte(`x`))
		if err := answer(t, c, r, `{"other":[]}`); err != nil {
			t.Fatal(err)
		}
		p.want(`"id":2,"error"`)
	})
}

func TestADrainingSessionAnswersWhatRunsAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		p.send(call("1"))
		r := read(t, c)
		c.Drain(2 * time.Second)
		p.send(call("2"))
		go func() { _, _ = c.Read(t.Context()) }()
		p.want(`"id":2`, "restarting")
		if err := answer(t, c, r, `{}`); err != nil {
			t.Fatal(err)
		}
		p.want(`"id":1`)
		if _, ok := <-p.lines; ok {
			t.Error("the session goes on")
		}
	})
	synctest.Test(t, func(t *testing.T) { // idle: at once; a call that does not end: after the time
		idle, p := open(t, NewPool())
		idle.Drain(2 * time.Second)
		if _, ok := <-p.lines; ok {
			t.Error("the session goes on")
		}
		stuck, p := open(t, NewPool())
		p.send(call("1"))
		_ = read(t, stuck)
		began := time.Now()
		stuck.Drain(2 * time.Second)
		if _, ok := <-p.lines; ok || time.Since(began) != 2*time.Second {
			t.Errorf("ended after %v", time.Since(began))
		}
	})
}

func TestARefusalIsOneLineThatSaysWhy(t *testing.T) {
	ours, theirs := net.Pipe()
	go Refuse(ours, errs.New(errs.Denied, "no").WithClass("operator").WithNext("so"))
	b, _ := io.ReadAll(theirs)
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32050,"message":"no; so","data":{"class":"operator","session":"refused"}}}` + "\n"
	if string(b) != want {
		t.Errorf("%s", b)
	}
}

// Whatever a peer sends, each line that comes back is a message, and the
// session neither panics nor hands the SDK a request without an id it can
// answer.
func FuzzSession(f *testing.F) {
	f.Add([]byte(call("1") + "\n" + call("1") + "\nx\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"))
	f.Add([]byte("\xef\xbb\xbf[]\n{}\n" + call(`"\ud800"`) + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := &sink{}
		seat, _ := NewPool().Admit(1)
		c, err := New(&fixed{in: in, out: out}, seat, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c.Plain = func(tool string) bool { return len(tool)%2 == 0 }
		for {
			m, err := c.Read(context.Background())
			if err != nil {
				break
			}
			r := m.(*jsonrpc.Request)
			if r.ID.IsValid() && len(r.Params)%2 == 0 { // half of the calls are answered
				_ = c.Write(context.Background(), &jsonrpc.Response{ID: r.ID, Result: json.RawMessage(`{}`)})
			}
		}
		c.Leave()
		for _, l := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if l == "" {
				continue
			}
			if _, err := jsonline.Parse([]byte(l)); err != nil {
				t.Fatalf("%v: %s", err, l)
			}
		}
	})
}

type sink struct{ strings.Builder }

// fixed is a connection that has sent all it will.
type fixed struct {
	net.Conn
	in  []byte
	out *sink
}

func (f *fixed) Read(p []byte) (int, error) {
	if len(f.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.in)
	f.in = f.in[n:]
	return n, nil
}
func (f *fixed) Write(p []byte) (int, error)      { return f.out.Write(p) }
func (f *fixed) Close() error                     { return nil }
func (f *fixed) SetReadDeadline(time.Time) error  { return nil }
func (f *fixed) SetWriteDeadline(time.Time) error { return nil }

func TestTheNewsOfAChangedListReachesWhoExpectsItAndWaitsForNobody(t *testing.T) {
	const note = "notifications/tools/list_changed"
	tell := func(c *Conn) {
		t.Helper()
		if err := c.Write(t.Context(), &jsonrpc.Request{Method: note, Params: json.RawMessage(`{}`)}); err != nil {
			t.Error(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		tell(c) // before the handshake ended: nobody expects it
		synctest.Wait()
		if len(p.lines) != 0 {
			t.Errorf("told too early: %s", <-p.lines)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		_ = read(t, c)
		tell(c)
		p.want(note)
		// Without a handshake: while a subscription is open.
		c, p = open(t, NewPool())
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`)
		r := read(t, c)
		tell(c)
		p.want(note)
		if err := answer(t, c, r, `{}`); err != nil {
			t.Fatal(err)
		}
		p.want(`"id":1`)
		tell(c)
		synctest.Wait()
		if len(p.lines) != 0 {
			t.Errorf("told after the subscription: %s", <-p.lines)
		}
	})
	// No bubble: one who waits for the turn to write is not idle to it.
	ours, theirs := net.Pipe()
	seat, err := NewPool().Admit(1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(ours, seat, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Leave()
	go func() { _, _ = io.WriteString(theirs, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n") }()
	_ = read(t, c)
	for range 100 { // to a peer that reads nothing: who waited for it would lose the connection
		tell(c)
	}
	heard := make(chan []string)
	go func() {
		var lines []string
		in := bufio.NewReader(theirs)
		for l, err := in.ReadString('\n'); err == nil; l, err = in.ReadString('\n') {
			lines = append(lines, l)
		}
		heard <- lines
	}()
	waits := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.telling
	}
	for end := time.Now().Add(time.Minute); waits() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	c.wmu.Lock() // the last one had its turn; here it has ended too
	_ = c.Close()
	c.wmu.Unlock()
	lines := <-heard
	if n := len(lines); n < 1 || n > 2 { // one that is being written, one that waits
		t.Errorf("%d were kept for one who does not read", n)
	}
	for _, l := range lines {
		if !strings.Contains(l, note) {
			t.Errorf("%q", l)
		}
	}
}
