package badinput

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
)

// place is a short directory that every user may enter.
func place(t *testing.T) string {
	t.Helper()
	dir := daemontest.Dir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs one command of a person, as a user, without a terminal.
func command(t *testing.T, uid int, dir, program string, args ...string) (code int, out string) {
	t.Helper()
	bin, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config")}
	if root() && uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, b.String()
}

// asking are the commands that ask a daemon.
var asking = []string{
	"status", "metrics", "reset", "rotate-key --reload", "discover", "anchor status", "anchor plan", "audit verify", "audit show 1",
	"write list", "write show wc-00000000000000000000000000000000", "keys pins -o pins.json", "write preview req-00000000000000000000000000000000 -o p.json --yes",
}

func TestMcpctlSaysWhichSuiteItLookedForWhenThereIsNone(t *testing.T) {
	dir := place(t)
	for _, where := range []string{filepath.Join(dir, "none"), "none", "/etc/passwd"} {
		for _, c := range asking {
			code, out := command(t, 0, dir, "mcpctl", append(strings.Fields(c), "--dir", where)...)
			row{exit: 1, says: []string{"is not reachable", "next: "}, next: []string{"needs --dir"}}.hold(t, code, out, nil)
			if t.Failed() {
				t.Fatal(c, where)
			}
		}
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A user who is in no group of the suite's, and one who may use the tools and approve
// nothing, with a suite that runs.
func TestMcpctlTellsAUserWhoIsNoOperatorSo(t *testing.T) {
	needsRoot(t)
	h := newHost(t, "executord")
	p := h.start()
	p.Until("executord serving", func() bool { return strings.Contains(p.Output(), `"msg":"serving"`) })
	dir := place(t)
	h.ok(os.Chown(dir, programs.UIDClient, programs.UIDClient))
	for _, c := range asking {
		if strings.HasPrefix(c, "status") || strings.HasPrefix(c, "metrics") || strings.HasPrefix(c, "reset") || strings.HasPrefix(c, "rotate") {
			continue // they ask mcpd
		}
		code, out := command(t, programs.UIDClient, dir, "mcpctl", append(strings.Fields(c), "--dir", h.path("run"))...)
		row{exit: 1, says: []string{"this user may not use the socket of executord"}, next: []string{"group of the socket's directory"}}.hold(t, code, out, nil)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	// The socket's group lets a user in that executord does not know as an operator.
	admin := h.path("run/exec-admin")
	for name, mode := range map[string]os.FileMode{"": 0o755, "/exec-admin.sock": 0o666} {
		h.ok(os.Chmod(admin+name, mode))
	}
	code, out := command(t, programs.UIDClient, dir, "mcpctl", "write", "list", "--dir", h.path("run"))
	row{exit: 1, says: []string{"closed the connection without a word"}, next: []string{"see operators"}}.hold(t, code, out, nil)
	p.Stop()
}

func TestMcpsignSignsNothingWithoutAPersonAKeyOrAFile(t *testing.T) {
	dir := place(t)
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"`+canary+`":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "bad.json")
	for _, w := range []struct {
		row
		args []string
	}{
		{row{what: "no command", exit: 2, says: []string{"say what to do"}}, nil},
		{row{what: "no terminal for a signature", exit: 1, says: []string{"no terminal"}, next: []string{"at a terminal"}}, []string{"sign-authorization", "-i", in, "-o", "out.json"}},
		{row{what: "no terminal for a key", exit: 1, says: []string{"terminal"}, next: []string{"next: "}}, []string{"keygen", "-owner", "authorization", "-id", "owner-1"}},
		{row{what: "an owner whom there is not", exit: 2, says: []string{"owner"}}, []string{"keygen", "-owner", canary, "-id", "owner-1"}},
	} {
		t.Run(w.what, func(t *testing.T) {
			code, out := command(t, 0, dir, "mcpsign", w.args...)
			w.hold(t, code, out, []string{fakepf.WriteKey})
			if _, err := os.Lstat(filepath.Join(dir, "out.json")); err == nil {
				t.Error("a file was written")
			}
		})
	}
}
