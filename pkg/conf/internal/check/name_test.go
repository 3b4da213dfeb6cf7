package check

import (
	"strings"
	"testing"
)

func TestANameOfOutsideTextIsShownPlainOrQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"api_url": "api_url", "/etc/pfsense-mcp/mcpd.toml": "/etc/pfsense-mcp/mcpd.toml", "a b": `"a b"`, "a\nb": `"a\nb"`, "\u202e": `"\u202e"`, "": "",
	} {
		if got := Name(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
	if got := Name(strings.Repeat("a", 5000)); len(got) > 2*MaxName {
		t.Errorf("%d bytes", len(got))
	}
}

func TestTheNearestKnownNameIsOffered(t *testing.T) {
	known := []string{"tls_mode", "tls_ca_file", "api_url"}
	for in, want := range map[string]string{
		"tls_mod": "; did you mean tls_mode", "TLS_MODE": "; it is written tls_mode", "colour": "", strings.Repeat("tls_mode", 20): "", "ap_url": "; did you mean api_url",
	} {
		if got := Nearest(in, known); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}
