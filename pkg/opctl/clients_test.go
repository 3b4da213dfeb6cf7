package opctl

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"pfsensemcp/pkg/catalog"
)

var update = flag.Bool("update", false, "write the pages of docs/clients")

const pages = "../../docs/clients"

// page is a client's page: what the command prints, in both forms.
func page(c mcpClient) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nMade from the table behind `mcpctl client-config %s`, which prints the same for this\nhost: `--ssh HOST` for the form over ssh, `--socket PATH` where mcpd's socket is not\nin its usual place.\n", c.title, c.name)
	b.WriteString("\nThe settings go into\n\n")
	for _, p := range c.places {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	for _, form := range []struct {
		title, before string
		l             launch
	}{
		{"On the host where mcpd runs", "The user who runs the client is a member of the group `pfsense-mcp` and no operator.", localLaunch("/usr/bin/mcpd", "")},
		{"Over ssh", "HOST is where mcpd runs. The account there is a member of `pfsense-mcp`, and ssh gets in\nwithout asking: a key in an agent, and the host's key known. The client's own machine needs\nnothing but ssh.", sshLaunch("HOST", "")},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```%s\n%s```\n", form.title, form.before, c.language, c.settings(form.l))
		if c.command != nil {
			fmt.Fprintf(&b, "\nor\n\n```\n%s\n```\n", c.command(form.l))
		}
	}
	fmt.Fprintf(&b, "\n## Then\n\n%s\n", c.after)
	b.WriteString("\nWhen no tool appears, ask the shim what it sees:\n\n```\nmcpd stdio --doctor\nssh -T -o BatchMode=yes HOST mcpd stdio --doctor\n```\n")
	return b.String()
}

func TestThePagesAreWhatTheCommandPrints(t *testing.T) {
	index := "# MCP clients\n\n"
	want := map[string]string{}
	for _, c := range mcpClients() {
		want[c.name+".md"] = page(c)
		index += fmt.Sprintf("- [%s](%s.md)\n", c.title, c.name)
	}
	want["README.md"] = index
	if *update {
		if err := os.MkdirAll(pages, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("%d pages for %d clients", len(files), len(want)-1)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(pages, name))
		if err != nil || string(got) != text {
			t.Errorf("%s is not what the table says (go test ./pkg/opctl -update): %v", name, err)
		}
	}
}

// entry is what a client reads of the settings.
type clientEntry struct {
	Command string
	Args    []string
	Type    string
}

// read takes settings apart as their own language's reader does. YAML is read
// as far as ours goes: its flow list and quoted text are JSON.
func read(t *testing.T, c mcpClient, text string) clientEntry {
	t.Helper()
	var e clientEntry
	var err error
	switch c.language {
	case "json":
		var v map[string]map[string]clientEntry
		err = json.Unmarshal([]byte(text), &v)
		for _, servers := range v {
			e = servers[serverKey]
		}
	case "toml":
		var v struct {
			Servers map[string]clientEntry `toml:"mcp_servers"`
		}
		err = toml.Unmarshal([]byte(text), &v)
		e = v.Servers[serverKey]
	case "yaml":
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "command: "); ok {
				err = json.Unmarshal([]byte(rest), &e.Command)
			}
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "args: "); ok && err == nil {
				err = json.Unmarshal([]byte(rest), &e.Args)
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.name, err, text)
	}
	return e
}

func TestEverySettingStartsTheShim(t *testing.T) {
	names := []string{"claude-desktop", "claude-code", "codex", "cursor", "vscode", "continue"}
	if len(mcpClients()) != len(names) {
		t.Errorf("%d clients", len(mcpClients()))
	}
	for i, c := range mcpClients() {
		if c.name != names[i] {
			t.Errorf("%s stands where %s should", c.name, names[i])
		}
		for _, tt := range []struct {
			args []string
			want []string
		}{
			{nil, []string{"stdio"}},
			{[]string{"--socket", "/tmp/x/mcp.sock"}, []string{"stdio", "--socket", "/tmp/x/mcp.sock"}},
			{[]string{"--ssh", "me@fw-host"}, []string{"-T", "-o", "BatchMode=yes", "me@fw-host", "mcpd", "stdio"}},
			{[]string{"--ssh", "fw", "--socket", "/run/x/mcp.sock"}, []string{"-T", "-o", "BatchMode=yes", "fw", "mcpd", "stdio", "--socket", "/run/x/mcp.sock"}},
		} {
			var out, errs bytes.Buffer
			if code := Run(t.Context(), Env{Out: &out, Err: &errs}, append([]string{"client-config", c.name}, tt.args...)); code != ExitOK {
				t.Fatalf("%s %q: %d %s", c.name, tt.args, code, errs.String())
			}
			e := read(t, c, out.String())
			if strings.Join(e.Args, " ") != strings.Join(tt.want, " ") {
				t.Errorf("%s %q: args %q", c.name, tt.args, e.Args)
			}
			if ssh := len(tt.args) > 0 && tt.args[0] == "--ssh"; ssh != (e.Command == "ssh") || !ssh && !strings.HasSuffix(e.Command, "mcpd") {
				t.Errorf("%s %q: command %q", c.name, tt.args, e.Command)
			}
			if !strings.Contains(errs.String(), c.places[0]) || c.command != nil && !strings.Contains(errs.String(), strings.Join(tt.want, " ")) {
				t.Errorf("%s: %s", c.name, errs.String())
			}
		}
	}
}

func TestWhatASshOrAShellWouldReadOtherwiseIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"cursor", "--ssh", "-oProxyCommand=x"},
		{"cursor", "--ssh", "a b"},
		{"cursor", "--ssh", "a;b"},
		{"cursor", "--ssh", "$(x)"},
		{"cursor", "--socket", "relative"},
		{"cursor", "--socket", "/a b"},
		{"cursor", "--socket", `/a"`},
		{"kursor"},
		{},
	} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), Env{Out: &out, Err: &errs}, append([]string{"client-config"}, args...)); code == ExitOK || out.Len() > 0 {
			t.Errorf("%q: %d %s", args, code, out.String())
		}
		if !strings.Contains(errs.String(), "next: ") {
			t.Errorf("%q: %s", args, errs.String())
		}
	}
	var out, errs bytes.Buffer
	Run(t.Context(), Env{Out: &out, Err: &errs}, []string{"client-config", "kursor"})
	if !strings.Contains(errs.String(), "client-config cursor") {
		t.Errorf("%s", errs.String())
	}
}

// Clients put the key before each name: mcp__pf__NAME, at most 64.
func TestTheServerKeyIsShort(t *testing.T) {
	if len(serverKey) > 10 {
		t.Errorf("the key has %d characters", len(serverKey))
	}
	for _, name := range catalog.KnownTools() {
		if n := len("mcp__" + serverKey + "__" + name); n > 64 {
			t.Errorf("%s has %d characters with what clients put before it", name, n)
		}
		// Cursor counts the key and the name.
		if n := len(serverKey) + len(name); n > 60 {
			t.Errorf("%s has %d characters with its key", name, n)
		}
	}
}
