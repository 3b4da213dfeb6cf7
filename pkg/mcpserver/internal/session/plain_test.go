package session

import (
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestOnlyWhatIsBeyondDoubtIsAPlainCall(t *testing.T) {
	for _, tt := range []struct {
		params, name, args string
		ok                 bool
	}{
		{`{"name":"a","arguments":{"limit":18446744073709551615}}`, "a", `{"limit":18446744073709551615}`, true},
		{`{"arguments": {} ,"n\u0061me":"\u0061"}`, "a", `{}`, true},
		{`{"name":"a"}`, "a", "", true},
		{`{"name":"","arguments":{}}`, "", `{}`, true},
		{`{"name":"a","_meta":{"progressToken":1,"x":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, "a", "", true},
		{`{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, "", "", false},
		{`{"name":"a","_meta":{"io.modelcontextprotocol\/protocol\u0056ersion":1}}`, "", "", false},
		{`{"name":"a","_meta":null}`, "", "", false},
		{`{"name":"a","_meta":[]}`, "", "", false},
		{`{"name":"a","arguments":null}`, "", "", false},
		{`{"name":"a","arguments":[]}`, "", "", false},
		{`{"name":"a","arguments":"{}"}`, "", "", false},
		{`{"name":1}`, "", "", false},
		{`{"name":null,"arguments":{}}`, "", "", false},
		{`{"name":"a","requestState":"x"}`, "", "", false},
		{`{"name":"a","inputResponses":{}}`, "", "", false},
		{`{"name":"a","Name":"b"}`, "", "", false},
		{`{"arguments":{}}`, "", `{}`, false},
		{`{}`, "", "", false},
		{`[]`, "", "", false},
		{``, "", "", false},
	} {
		name, args, ok := plain([]byte(tt.params))
		if ok != tt.ok || ok && (name != tt.name || string(args) != tt.args) {
			t.Errorf("%s: %q %q %v", tt.params, name, args, ok)
		}
	}
}

func TestAPlainCallKeepsItsIDAndMayBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := open(t, NewPool())
		c.Plain = func(tool string) bool { return tool == "known" }
		p.send(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"known","arguments":{"a":1}}}`)
		r := read(t, c)
		call := CallOf(r.Extra.(*mcp.RequestExtra))
		if r.Method != PlainCall || r.Params != nil || call.Tool != "known" || string(call.Args) != `{"a":1}` || call.Method != "tools/call" {
			t.Fatalf("%s %s: %+v", r.Method, r.Params, call)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`)
		if n := read(t, c); n.Method != "notifications/cancelled" {
			t.Errorf("%s", n.Method)
		}
		if err := answer(t, c, r, `{}`); err != nil {
			t.Fatal(err)
		}
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"known"}}`)
		call = CallOf(read(t, c).Extra.(*mcp.RequestExtra))
		call.Reply([]byte(`"content":[1]`))
		if err := answer(t, c, &jsonrpc.Request{ID: call.sdkID}, `{"content":[]}`); err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","id":2,"result":{"content":[1]}}`)
		// Of a tool that the server does not want plain, and by a client.
		p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other"}}`)
		if r := read(t, c); r.Method != "tools/call" || string(r.Params) != `{"name":"other"}` {
			t.Errorf("%s %s", r.Method, r.Params)
		}
		go func() { _, _ = c.Read(t.Context()) }()
		p.send(`{"jsonrpc":"2.0","id":4,"method":"` + PlainCall + `"}`)
		p.want(`"id":4,"error":{"code":-32601`)
	})
}
