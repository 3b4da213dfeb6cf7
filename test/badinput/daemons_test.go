package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
)

// host is one shipped daemon that nothing is wrong with yet.
type host struct {
	t    *testing.T
	name string
	dir  string
	text string // its settings
}

func newHost(t *testing.T, name string) *host {
	t.Helper()
	h := &host{t: t, name: name, dir: daemontest.Dir(t)}
	h.ok(os.Chmod(h.dir, 0o755))
	h.ok(os.Mkdir(h.path("run"), 0o755))
	h.mine("run")
	h.text = fmt.Sprintf("socket_dir = %q\nsandbox = \"available\"\n", h.path("run"))
	if name == "mcpd" {
		h.text += fmt.Sprintf("api_url = \"https://127.0.0.1:9\"\nidentity = \"reader\"\napi_key_file = %q\n", h.path("key"))
		h.put("key", fakepf.ReadKey+"\n")
	} else {
		h.text += fmt.Sprintf("mcpd_user = \"%d\"\n", h.uid())
	}
	return h
}

func (h *host) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) uid() int {
	if root() {
		return programs.Named(h.name).UID
	}
	return os.Geteuid()
}

// mine gives a file to the daemon's user.
func (h *host) mine(name string) {
	h.t.Helper()
	if root() {
		h.ok(os.Lchown(h.path(name), h.uid(), h.uid()))
	}
}

func (h *host) put(name, text string) {
	h.t.Helper()
	h.ok(os.WriteFile(h.path(name), []byte(text), 0o600))
	h.mine(name)
}

// own is the directory of the daemon's first socket, made for it.
func (h *host) own(mode os.FileMode) string {
	h.t.Helper()
	name := filepath.Join("run", h.socket())
	h.ok(os.Mkdir(h.path(name), 0o700))
	h.ok(os.Chmod(h.path(name), mode))
	h.mine(name)
	return h.path(name)
}

// socket is the name of the daemon's first socket: where it starts to bind.
func (h *host) socket() string {
	return map[string]string{"guidanced": "guidance", "docfetchd": "docs", "executord": "exec", "mcpd": "mcp"}[h.name]
}

func (h *host) start() *daemontest.Proc {
	h.t.Helper()
	bin, err := shipped()
	h.ok(err)
	h.put("settings.toml", h.text)
	o := daemontest.Options{
		Exe:  filepath.Join(bin, h.name),
		Args: append(append([]string{}, programs.Named(h.name).Args...), "--config", h.path("settings.toml")),
	}
	if root() {
		o.User = &syscall.Credential{Uid: uint32(h.uid()), Gid: uint32(h.uid())}
	}
	return daemontest.Start(h.t, o)
}

// wrong is one thing that is wrong with a host.
type wrong struct {
	row
	only  string // of the daemons; "": all
	root  bool
	spoil func(*host)
}

var wrongs = []wrong{
	{
		row:   row{what: "a socket directory that another user made", exit: 1, says: []string{"belongs to another user or is open to others"}, next: []string{"chown it to the user of the daemon"}},
		root:  true,
		spoil: func(h *host) { h.ok(os.Chown(h.own(0o750), programs.UIDNobody, programs.UIDNobody)) },
	},
	{
		row:   row{what: "a socket directory that is open to all", exit: 1, says: []string{"belongs to another user or is open to others"}, next: []string{"0750"}},
		spoil: func(h *host) { h.own(0o777) },
	},
	{
		row:   row{what: "a link in the socket directory's place", exit: 1, says: []string{"is a link or cannot be opened"}, next: []string{"look what stands there"}},
		spoil: func(h *host) { h.ok(os.Symlink("/tmp", h.path("run/"+h.socket()))); h.mine("run/" + h.socket()) },
	},
	{
		row:   row{what: "a directory above the sockets that all may change", exit: 1, says: []string{"would not be safe", "writable by others"}, next: []string{"another directory"}},
		spoil: func(h *host) { h.ok(os.Chmod(h.path("run"), 0o777)) },
	},
	{
		row:  row{what: "a directory above the sockets that is another user's", exit: 1, says: []string{"cannot be made"}, next: []string{"owned by the user of the daemon"}},
		root: true, spoil: func(h *host) { h.ok(os.Chown(h.path("run"), 0, 0)) },
	},
	{
		row: row{what: "a file in the socket's place", exit: 1, says: []string{"not a socket of this user stands at"}, next: []string{"remove it by hand"}},
		spoil: func(h *host) {
			h.own(0o750)
			h.put("run/"+h.socket()+"/"+h.socket()+".sock", canary)
		},
	},
	{
		row: row{what: "a link in the socket's place", exit: 1, says: []string{"not a socket of this user stands at"}, next: []string{"remove it by hand"}},
		spoil: func(h *host) {
			h.ok(os.Symlink("/etc/passwd", filepath.Join(h.own(0o750), h.socket()+".sock")))
		},
	},
	{
		row: row{what: "a socket on which another one serves", exit: 1, says: []string{"socket"}, next: []string{"stop", "already"}},
		spoil: func(h *host) {
			p := h.start()
			p.Until("the first one serving", func() bool { return strings.Contains(p.Output(), `"msg":"serving"`) })
		},
	},
	{
		row:   row{what: "a key of the settings that nobody knows", exit: 1, says: []string{"socket_dri", "settings.toml:1"}, next: []string{"socket_dir"}},
		spoil: func(h *host) { h.text = strings.Replace(h.text, "socket_dir", "socket_dri", 1) },
	},
	{
		row:   row{what: "a value that is none of those", exit: 1, says: []string{"sandbox", "settings.toml:2"}, next: []string{"require"}},
		spoil: func(h *host) { h.text = strings.Replace(h.text, `"available"`, `"`+canary+`"`, 1) },
	},
	{
		row:   row{what: "settings of 100,000 bytes", exit: 1, says: []string{"settings file", "65536 bytes"}},
		spoil: func(h *host) { h.text += "# " + strings.Repeat("x", 100_000) + "\n" },
	},
	{
		row:   row{what: "an operator whom the host does not know", exit: 1, says: []string{"there is no user"}, next: []string{"correct operators"}},
		spoil: func(h *host) { h.text += "operators = [\"nobody-of-that-name\"]\n" },
	},

	{
		row: row{what: "a key file that all can read", exit: 1, says: []string{"api_key_file", "permissions for other users"}, next: []string{"chmod 600"}}, only: "mcpd",
		spoil: func(h *host) { h.ok(os.Chmod(h.path("key"), 0o644)) },
	},
	{
		row: row{what: "a key file that is not there", exit: 1, says: []string{"api_key_file", "cannot be opened"}, next: []string{"exists"}}, only: "mcpd",
		spoil: func(h *host) { h.ok(os.Remove(h.path("key"))) },
	},
	{
		row: row{what: "a pipe in the key file's place", exit: 1, says: []string{"api_key_file", "not a regular file"}, next: []string{"regular file"}}, only: "mcpd",
		spoil: func(h *host) {
			h.ok(os.Remove(h.path("key")))
			h.ok(syscall.Mkfifo(h.path("key"), 0o600))
			h.mine("key")
		},
	},
	{
		row: row{what: "a key with a blank", exit: 1, says: []string{"api_key_file", "a blank"}, next: []string{"in one line"}}, only: "mcpd",
		spoil: func(h *host) { h.put("key", canary+" "+canary+"\n") },
	},
	{
		row: row{what: "an appliance over http", exit: 1, says: []string{"api_url", "https://"}}, only: "mcpd",
		spoil: func(h *host) { h.text = strings.Replace(h.text, "https://", "http://", 1) },
	},
	{
		row: row{what: "half a configuration", exit: 1, says: []string{"api_url", "identity", "api_key_file"}}, only: "mcpd",
		spoil: func(h *host) { h.text, _, _ = strings.Cut(h.text, "api_url") },
	},
	{
		row: row{what: "an authority of nobody", exit: 1, says: []string{"tls_ca_file"}, next: []string{"needs the file"}}, only: "mcpd",
		spoil: func(h *host) { h.text += "tls_mode = \"auto\"\n" },
	},
}

func TestADaemonRefusesABadHostAndLeavesNothingBehind(t *testing.T) {
	for _, d := range programs.Daemons() {
		t.Run(d.Name, func(t *testing.T) {
			for _, w := range wrongs {
				if w.only != "" && w.only != d.Name {
					continue
				}
				t.Run(w.what, func(t *testing.T) {
					t.Parallel()
					if w.root {
						needsRoot(t)
					}
					h := newHost(t, d.Name)
					w.spoil(h)
					before := files(t, h.dir)
					p := h.start()
					w.hold(t, p.Wait(), p.Output(), []string{fakepf.ReadKey})
					// The directories of its sockets are made before the rest is looked at.
					for name, is := range files(t, h.dir) {
						if _, ok := before[name]; !ok && name != "settings.toml" && (filepath.Dir(name) != "run" || !strings.HasPrefix(is, "d")) {
							t.Errorf("%s was left behind", name)
						}
					}
				})
			}
		})
	}
}
