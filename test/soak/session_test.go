package soak

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/test/rawmcp"
)

// depth is how many requests a session leaves open at a time; mcpd takes 8.
const depth = 3

// gate lets a test hold all sessions between two of their calls.
type gate struct {
	mu     sync.Mutex
	change *sync.Cond
	shut   bool
	idle   int
}

func newGate() *gate {
	g := &gate{}
	g.change = sync.NewCond(&g.mu)
	return g
}

// hold shuts the gate and waits until n sessions stand before it.
func (g *gate) hold(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for g.idle < n {
		g.change.Wait()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	g.change.Broadcast()
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// pass waits while the gate is shut; the session has nothing open. gone says
// that it will not come again.
func (g *gate) pass(gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle++
	g.change.Broadcast()
	for g.shut && !gone {
		g.change.Wait()
	}
	if !gone {
		g.idle--
	}
}

// tally counts over all sessions.
type tally struct {
	good  atomic.Int64 // tool calls that were answered as they should
	other atomic.Int64 // requests of other methods, likewise
	away  atomic.Int64 // answered that mcpd is restarting
}

// caller is one session that calls and checks.
type caller struct {
	number int
	c      *rawmcp.Client
	rules  int
	gate   *gate
	count  *tally
	open   map[string]request
	seq    int
}

// request is one that waits for its answer.
type request struct {
	line  string
	tool  bool
	check func(rawmcp.Reply) error
}

// run makes calls until quota of them were answered well. Each answer belongs
// to one open request, and each request gets one; at the end nothing is open
// and nothing comes.
func (s *caller) run(quota int) error {
	defer s.gate.pass(true)
	s.open = map[string]request{}
	for good := 0; good < quota || len(s.open) > 0; {
		shut := s.gate.isShut()
		if shut && len(s.open) == 0 {
			s.gate.pass(false)
			continue
		}
		for !shut && len(s.open) < depth && good+len(s.open) < quota {
			if err := s.ask(); err != nil {
				return err
			}
		}
		r, err := s.c.Next()
		if err != nil {
			return fmt.Errorf("session %d with %d open: %w", s.number, len(s.open), err)
		}
		if r.Method != "" {
			return fmt.Errorf("session %d was told %s, which it did not ask for", s.number, r.Line)
		}
		q, ok := s.open[string(r.ID)]
		if !ok {
			return fmt.Errorf("session %d: an answer to nothing that is open: %.300s", s.number, r.Line)
		}
		delete(s.open, string(r.ID))
		switch {
		case away(r):
			s.count.away.Add(1)
			time.Sleep(20 * time.Millisecond) // as a host does that was told to come back
		default:
			if err := q.check(r); err != nil {
				return fmt.Errorf("session %d: %s: %w: %.300s", s.number, q.line, err, r.Line)
			}
			if !q.tool {
				s.count.other.Add(1)
				continue
			}
			good++
			s.count.good.Add(1)
		}
	}
	return nil
}

// away says whether an answer is the shim's, or a leaving mcpd's, that the call
// was not carried out or may not have been.
func away(r rawmcp.Reply) bool {
	return strings.Contains(r.Line, `"class":"restarting"`) || strings.Contains(r.Line, `\"class\":\"restarting\"`)
}

// ask sends the next request of the mix.
func (s *caller) ask() error {
	s.seq++
	id := fmt.Sprint(s.seq)
	if s.seq%2 == 0 {
		id = fmt.Sprintf(`"%d-%d"`, s.number, s.seq)
	}
	method, params, q := s.mix()
	q.line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	s.open[id] = q
	return s.c.Send(q.line)
}

// mix returns what the seq-th request is. Tool calls name what their answer must
// hold, so that an answer to another call is noticed.
func (s *caller) mix() (method, params string, q request) {
	tool := func(name, args string, check func(rawmcp.ToolResult) error) (string, string, request) {
		return "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args), request{tool: true, check: func(r rawmcp.Reply) error {
			var res rawmcp.ToolResult
			if r.Error != nil {
				return r.Error
			}
			if err := json.Unmarshal(r.Result, &res); err != nil {
				return err
			}
			return check(res)
		}}
	}
	other := func(method, params, sub string) (string, string, request) {
		return method, params, request{check: func(r rawmcp.Reply) error {
			if r.Error != nil || !strings.Contains(r.Line, sub) {
				return fmt.Errorf("%q is not in it", sub)
			}
			return nil
		}}
	}
	holds := func(sub string) func(rawmcp.ToolResult) error {
		return func(r rawmcp.ToolResult) error {
			if r.IsError || !strings.Contains(r.Text(), sub) {
				return fmt.Errorf("%q is not in it", sub)
			}
			return nil
		}
	}
	n := (s.number*7919 + s.seq*31) % s.rules
	switch s.seq % 100 {
	case 7:
		return other("ping", `{}`, `"result":{}`)
	case 23:
		return other("tools/list", `{}`, `"name":"pfsense_mcp_info"`)
	case 41:
		return other("resources/read", `{"uri":"pfsense://guidance/GATEWAY_READ"}`, "## Official pages")
	case 59:
		return other("prompts/get", fmt.Sprintf(`{"name":"what_is_about_to_expire","arguments":{"days":"%d"}}`, n+1), fmt.Sprintf("days: %d", n+1))
	case 73:
		return other("completion/complete", `{"ref":{"type":"ref/prompt","name":"how_to_read"},"argument":{"name":"topic","value":"sw"}}`, "SWAGGER_AND_OPENAPI")
	case 11, 61:
		return tool("pfsense_mcp_info", `{}`, holds(`"name":"guidanced"`))
	case 31, 81:
		return tool("pfsense_get_official_guidance", `{"capability":"GATEWAY_READ"}`, holds(`"requested_capability":"GATEWAY_READ"`))
	case 17, 37, 57, 77, 97:
		return tool("pfsense_get_firewall_rules", fmt.Sprintf(`{"limit":%d}`, 1000+n), func(r rawmcp.ToolResult) error {
			if !r.IsError || !strings.Contains(r.Text(), fmt.Sprint("got ", 1000+n)) {
				return fmt.Errorf("it is not refused as it should")
			}
			return nil
		})
	case 3, 28, 53, 78:
		return tool("pfsense_get_system_version", `{}`, holds(`"base":"2.8.1"`))
	default:
		return tool("pfsense_get_firewall_rules", fmt.Sprintf(`{"limit":1,"offset":%d,"fields":["id"]}`, n), holds(fmt.Sprintf(`{"rows":[{"id":%d}]`, n)))
	}
}
