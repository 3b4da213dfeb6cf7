package opctl

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/supervise"
)

// serverKey names the server in a client's settings. Clients put it before every
// tool's name and have a bound for both together, so it is short.
const serverKey = "pf"

// launch is how a client starts the shim.
type launch struct {
	command string
	args    []string
}

// mcpClient is one MCP client: where its settings are and what they look like.
type mcpClient struct {
	name, title string
	places      []string              // where the settings go
	language    string                // of the settings
	settings    func(l launch) string // ends in a line end
	command     func(l launch) string // a command that writes the same; nil for none
	after       string                // what a person does then
}

// mcpClients is the table; the pages of docs/clients are made from it.
func mcpClients() []mcpClient {
	return []mcpClient{
		{
			name: "claude-desktop", title: "Claude Desktop", language: "json",
			places: []string{
				"macOS: ~/Library/Application Support/Claude/claude_desktop_config.json",
				`Windows: %APPDATA%\Claude\claude_desktop_config.json`,
			},
			settings: jsonSettings("mcpServers", false),
			after:    "Quit Claude Desktop and start it again; closing its window is not enough. It runs on macOS and Windows, so the form over ssh is the usual one.",
		},
		{
			name: "claude-code", title: "Claude Code", language: "json",
			places:   []string{"one project: .mcp.json in its folder", "every project: the command below writes it"},
			settings: jsonSettings("mcpServers", true),
			command:  func(l launch) string { return "claude mcp add --scope user " + serverKey + " -- " + l.shell() },
			after:    "Start a new session; /mcp shows the server and its tools, and each prompt is a command of its own.",
		},
		{
			name: "codex", title: "Codex", language: "toml",
			places: []string{"~/.codex/config.toml"},
			settings: func(l launch) string {
				return "[mcp_servers." + serverKey + "]\ncommand = " + quoted(l.command) + "\nargs = " + l.list() + "\n"
			},
			command: func(l launch) string { return "codex mcp add " + serverKey + " -- " + l.shell() },
			after:   "Start a new session; /mcp shows the server.",
		},
		{
			name: "cursor", title: "Cursor", language: "json",
			places:   []string{"every project: ~/.cursor/mcp.json", "one project: .cursor/mcp.json in its folder"},
			settings: jsonSettings("mcpServers", false),
			after:    "The settings page about tools shows the server; switch it on there. Cursor leaves out a tool whose name and server key have more than 60 characters together: keep the key " + serverKey + ".",
		},
		{
			name: "vscode", title: "VS Code", language: "json",
			places:   []string{"one workspace: .vscode/mcp.json", "every workspace: the command MCP: Open User Configuration"},
			settings: jsonSettings("servers", true),
			after:    "Start the server from the line that the editor shows above its name. It takes at most 128 tools a request from all servers together: with others beside this one set toolsets in mcpd's settings.",
		},
		{
			name: "continue", title: "Continue", language: "yaml",
			places: []string{"one workspace: .continue/mcpServers/" + serverKey + ".yaml", "every workspace: the list mcpServers of ~/.continue/config.yaml takes the same entry"},
			settings: func(l launch) string {
				return "name: pfSense\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: " + serverKey +
					"\n    type: stdio\n    command: " + quoted(l.command) + "\n    args: " + l.list() + "\n"
			},
			after: "Reload the window. Tools work in agent mode alone.",
		},
	}
}

// jsonSettings renders an object of servers; typed says that an entry names its
// transport.
func jsonSettings(member string, typed bool) func(launch) string {
	return func(l launch) string {
		kind := ""
		if typed {
			kind = "\n      \"type\": \"stdio\","
		}
		return "{\n  " + quoted(member) + ": {\n    " + quoted(serverKey) + ": {" + kind +
			"\n      \"command\": " + quoted(l.command) + ",\n      \"args\": " + l.list() + "\n    }\n  }\n}\n"
	}
}

// quoted is a text in JSON, TOML and YAML alike: what may be in it is checked.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // not possible for a string
	}
	return string(b)
}

// list is the arguments as an array of JSON, TOML and YAML alike.
func (l launch) list() string {
	parts := make([]string, len(l.args))
	for i, a := range l.args {
		parts[i] = quoted(a)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// shell is the start as a command line; no word of it needs quotes.
func (l launch) shell() string { return strings.Join(append([]string{l.command}, l.args...), " ") }

// localLaunch starts mcpd here; socket "" leaves it to the shim to find.
func localLaunch(mcpd, socket string) launch {
	l := launch{command: mcpd, args: []string{"stdio"}}
	if socket != "" {
		l.args = append(l.args, "--socket", socket)
	}
	return l
}

// sshLaunch starts mcpd on another host. There is no terminal and nobody to ask,
// so ssh must not wait for a password.
func sshLaunch(host, socket string) launch {
	remote := localLaunch("mcpd", socket)
	return launch{command: "ssh", args: append([]string{"-T", "-o", "BatchMode=yes", host, remote.command}, remote.args...)}
}

// plainWord says whether a text is one word to every shell and no option.
func plainWord(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._@:/-", r)
	})
}

// clientConfig is `mcpctl client-config`: the settings on standard output, and
// where they belong on standard error.
func clientConfig(_ context.Context, e Env, fs *flag.FlagSet, args []string) error {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	host := fs.String("ssh", "", "start mcpd on `HOST` (or USER@HOST) over ssh")
	socket := fs.String("socket", "", "mcpd's socket `PATH`, where the shim would not find it by itself")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	var known []string
	for _, c := range mcpClients() {
		known = append(known, c.name)
		if c.name == name {
			l, err := chooseLaunch(*host, *socket)
			if err != nil {
				return err
			}
			printClient(e, c, l)
			return nil
		}
	}
	err := errs.New(errs.Invalid, "the clients are "+strings.Join(known, ", "))
	if near := catalog.Nearest(name, known); name != "" && near != "" {
		return err.WithNext("mcpctl client-config " + near)
	}
	return err.WithNext("mcpctl client-config " + known[0])
}

func chooseLaunch(host, socket string) (launch, error) {
	if socket != "" && (!plainWord(socket) || !filepath.IsAbs(socket)) {
		return launch{}, errs.New(errs.Invalid, "a socket is an absolute path of letters, digits and . _ @ : / -").WithNext("leave --socket out, or name another path")
	}
	if host != "" {
		if !plainWord(host) {
			return launch{}, errs.New(errs.Invalid, "a host is a name or user@name of letters, digits and . _ @ : / -").WithNext("give the host a name in ~/.ssh/config")
		}
		return sshLaunch(host, socket), nil
	}
	// A client has a search path of its own: the whole path always works.
	dir, err := supervise.Programs()
	if err != nil {
		return launch{}, err
	}
	mcpd := filepath.Join(dir, "mcpd")
	if !plainWord(mcpd) {
		mcpd = "mcpd"
	}
	return localLaunch(mcpd, socket), nil
}

// printClient prints the settings, which can be piped, and the way there.
func printClient(e Env, c mcpClient, l launch) {
	fmt.Fprintf(e.Err, "%s: put this into\n", c.title)
	for _, p := range c.places {
		fmt.Fprintf(e.Err, "  %s\n", p)
	}
	fmt.Fprint(e.Out, c.settings(l))
	if c.command != nil {
		fmt.Fprintf(e.Err, "or run: %s\n", c.command(l))
	}
	fmt.Fprintln(e.Err, c.after)
}
