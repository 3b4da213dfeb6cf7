package mcpserver

import (
	"regexp"
	"testing"

	"pfsensemcp/test/rawmcp"
)

// The SDK reads a call whose params have a member that it does not know, and never
// sees the params of one that has none: both must be answered with the same bytes.
func TestACallIsAnsweredTheSameWhoeverReadsIt(t *testing.T) {
	cfg, _ := config(t, &appliance{})
	r := start(t, cfg)
	own := regexp.MustCompile(`[0-9a-f]{16}`) // request ids
	send := func(c *rawmcp.Client, call string) string {
		t.Helper()
		if err := c.Send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{` + call + `}}`); err != nil {
			t.Fatal(err)
		}
		line, err := c.Line()
		if err != nil {
			t.Fatal(err)
		}
		return own.ReplaceAllString(line, "ID")
	}
	for _, v := range rawmcp.HandshakeVersions {
		c := r.client(t, v)
		for _, call := range []string{
			`"name":"pfsense_mcp_info"`,
			`"name":"pfsense_mcp_info","arguments":{}`,
			`"name":"pfsense_mcp_info","arguments":{"a":1}`,
			`"name":"pfsense_get_system_version","arguments":{}`,
			`"name":"pfsense_get_firewall_rules","arguments":{"limit":1000}`,
			`"name":"pfsense_get_nothing","arguments":{}`,
			`"name":"","arguments":{}`,
			`"name":"pfsense_mcp_info","_meta":{"progressToken":"p"}`,
			`"arguments":{}`,
			`"name":"pfsense_mcp_info","arguments":null`,
		} {
			short, long := send(c, call), send(c, call+`,"unknown":1`)
			if short != long {
				t.Errorf("%s: %s is answered with\n%s\nand with another member\n%s", v, call, short, long)
			}
		}
	}
	early := func(call string) string {
		c, err := rawmcp.Dial(r.socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return send(c, call)
	}
	short, long := early(`"name":"pfsense_mcp_info"`), early(`"name":"pfsense_mcp_info","unknown":1`)
	contains(t, short, `"code":-32600`)
	if short != long {
		t.Errorf("before the handshake:\n%s\n%s", short, long)
	}
}
