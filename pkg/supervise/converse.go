package supervise

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/supervise/internal/process"
	"pfsensemcp/pkg/supervise/internal/talk"
)

// shownBytes is how much of an answer a step prints.
const shownBytes = 480

// step is one request of the scripted conversation and what must hold of its
// answer.
type step struct {
	say    string // what a person would say
	method string
	params string // JSON, ours
	check  func(talk.Answer) error
	before func(*suite) // done first: a daemon killed, say
}

// rows checks that the answer is a list tool's with at least n rows.
func rows(n int) func(talk.Answer) error {
	return func(a talk.Answer) error {
		t, err := a.Tool()
		if err != nil {
			return err
		}
		if t.IsError {
			return errors.New("the tool answered with an error")
		}
		var got []jsontext.Value
		if err := json.Unmarshal(t.Structured["rows"], &got); err != nil {
			return errors.New("the answer has no rows")
		}
		if len(got) < n {
			return fmt.Errorf("the answer has %d rows, at least %d were expected", len(got), n)
		}
		return nil
	}
}

// object checks that the answer is an object tool's.
func object(member string) func(talk.Answer) error {
	return func(a talk.Answer) error {
		t, err := a.Tool()
		switch {
		case err != nil:
			return err
		case t.IsError:
			return errors.New("the tool answered with an error")
		case len(t.Structured[member]) == 0:
			return errors.New("the answer has no " + member)
		}
		return nil
	}
}

// provenances checks that the answer has a record of each source.
func provenances(want ...string) func(talk.Answer) error {
	return func(a talk.Answer) error {
		t, err := a.Tool()
		if err != nil || t.IsError {
			return errors.Join(errors.New("the tool answered with an error"), err)
		}
		for _, p := range want {
			if !bytes.Contains(t.Structured["guidance"], []byte(`"`+p+`"`)) {
				return errors.New("the answer has no record of " + p)
			}
		}
		return nil
	}
}

// refused checks that the tool refused the call and named what.
func refused(naming string) func(talk.Answer) error {
	return func(a talk.Answer) error {
		t, err := a.Tool()
		switch {
		case err != nil:
			return err
		case !t.IsError:
			return errors.New("the call should have been refused")
		case len(t.Content) == 0 || !strings.Contains(t.Content[0].Text, naming):
			return errors.New("the refusal does not name " + naming)
		}
		return nil
	}
}

// script is the conversation of the demonstration.
var script = []step{
	{
		say: "Hello, which server is this?", method: "initialize",
		params: `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}`,
		check: func(a talk.Answer) error {
			if len(a.Error) > 0 || !bytes.Contains(a.Result, []byte(`"protocolVersion"`)) {
				return errors.New("initialize was refused")
			}
			return nil
		},
	},
	{
		say: "What can you do?", method: "tools/list", params: `{}`,
		check: func(a talk.Answer) error {
			var list struct {
				Tools []struct{ Name string } `json:"tools"`
			}
			if err := json.Unmarshal(a.Result, &list, json.MatchCaseInsensitiveNames(true)); err != nil || len(list.Tools) == 0 {
				return errors.New("no tools are listed")
			}
			return nil
		},
	},
	{
		say: "How is the suite?", method: "tools/call", params: `{"name":"pfsense_mcp_info","arguments":{}}`,
		check: object("object"),
	},
	{
		say: "How is the firewall?", method: "tools/call", params: `{"name":"pfsense_get_system_status","arguments":{}}`,
		check: object("object"),
	},
	{
		say: "Which rules block something?", method: "tools/call",
		params: `{"name":"pfsense_get_firewall_rules","arguments":{"where":["type = block"],"fields":["id","type","interface","descr","disabled"]}}`,
		check:  rows(1),
	},
	{
		say: "Who has a lease? (Identifying data stays hidden unless asked for.)", method: "tools/call",
		params: `{"name":"pfsense_get_dhcp_leases","arguments":{"limit":2}}`, check: rows(1),
	},
	{
		say: "Show me the addresses, please.", method: "tools/call",
		params: `{"name":"pfsense_get_dhcp_leases","arguments":{"limit":2,"include_identifying_metadata":true}}`, check: rows(1),
	},
	{
		say: "Give me 1,000 states. (Out of bounds: the bound and an example come back.)", method: "tools/call",
		params: `{"name":"pfsense_get_firewall_states","arguments":{"limit":1000}}`, check: refused("limit"),
	},
	{
		say: "What does the manual say about gateways? (Offline, from guidanced.)", method: "tools/call",
		params: `{"name":"pfsense_get_official_guidance","arguments":{"capability":"GATEWAY_READ"}}`, check: object("guidance"),
	},
	{
		say: "What is known of the aliases' endpoint? (This project, the published document, the appliance's own.)", method: "tools/call",
		params: `{"name":"pfsense_get_api_guidance","arguments":{"query_mode":"tool","tool_name":"pfsense_get_firewall_aliases"}}`,
		check:  provenances("PROJECT_AUTHORED", "PFREST_UPSTREAM", "LIVE_APPLIANCE_SCHEMA"),
	},
	{
		say: "And with guidanced, docfetchd and executord killed? (mcpctl run notices and starts them again.)", method: "tools/call",
		params: `{"name":"pfsense_get_gateway_status","arguments":{}}`, check: rows(1),
		before: func(s *suite) { s.kill("guidanced", "docfetchd", "executord") },
	},
}

// kill ends daemons the hard way, for the demonstration that the others go on.
func (s *suite) kill(names ...string) {
	for _, p := range s.running {
		for _, n := range names {
			if p.Name == n && p.PID() > 0 {
				_ = syscall.Kill(p.PID(), syscall.SIGKILL) // a daemon that just ended needs no kill
			}
		}
	}
}

// converse runs the script through the real shim and prints it.
func (s *suite) converse(ctx context.Context) error {
	path, err := process.Find(s.BinDir, "mcpd")
	if err != nil {
		return err
	}
	c, err := talk.Dial(ctx, path, s.layout.socket("mcp"), s.Err)
	if err != nil {
		return err
	}
	defer c.Close()
	for i, st := range script {
		if st.before != nil {
			st.before(s)
		}
		fmt.Fprintf(s.Out, "\n%d. %s\n   -> %s %s\n", i+1, st.say, st.method, st.params)
		begun := time.Now()
		a, size, err := c.Call(i+1, st.method, st.params)
		if err == nil {
			fmt.Fprintf(s.Out, "   <- %d bytes in %.1f ms: %s\n", size, float64(time.Since(begun).Microseconds())/1000, excerpt(a))
			err = st.check(a)
		}
		if err != nil {
			return errs.Wrap(err, errs.Internal, fmt.Sprintf("step %d of the demonstration failed: %v", i+1, err)).
				WithNext("the daemons' logs are in " + s.layout.root + "/log (run with --dir to keep them)")
		}
		if st.method == "initialize" {
			if err := c.Notify("notifications/initialized"); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(s.Out, "\nall %d steps held\n", len(script))
	return nil
}

// excerpt returns the part of an answer that a step prints: the text of a tool,
// the result of anything else.
func excerpt(a talk.Answer) string {
	text := string(a.Result)
	if t, err := a.Tool(); err == nil && len(t.Content) > 0 {
		text = t.Content[0].Text
	}
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + " …"
	}
	return text
}

// printClientSettings prints what to paste into an MCP client.
func (s *suite) printClientSettings() {
	path, err := process.Find(s.BinDir, "mcpd")
	if err != nil {
		return
	}
	socket := s.layout.socket("mcp")
	fmt.Fprintf(s.Out, `
the suite stays up; Ctrl-C ends it. To use it from an MCP client, paste:

{
  "mcpServers": {
    "pf": {
      "command": %q,
      "args": ["stdio", "--socket", %q]
    }
  }
}

or, for Claude Code: claude mcp add pf -- %s stdio --socket %s
`, path, socket, path, socket)
}
