package badinput

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/test/programs"
)

// A second executord on the store of one that runs, with sockets of its own, ends at
// once. The first one notices nothing.
func TestASecondExecutordOnTheSameStoreEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.serve()
	first, text := s.proc, s.text
	s.ok(os.Mkdir(s.path("run2"), 0o700))
	s.mine(s.path("run2"))
	s.set(`socket_dir = "`+s.Dir+`"`, `socket_dir = "`+s.path("run2")+`"`)
	second := s.start()
	row{exit: 1, says: []string{"another executord has this store open"}, next: []string{"stop it first"}}.hold(t, second.Wait(), second.Output(), s.secrets())
	s.proc, s.text = first, text
	s.changes()
	s.done()
}

// verify runs executord verify as executord's user.
func (s *site) verify(args ...string) (code int, out string) {
	s.t.Helper()
	s.put("executord.toml", []byte(s.text))
	cmd := exec.Command(demo, append([]string{"verify", "--config", s.path("executord.toml")}, args...)...)
	cmd.Env = []string{}
	if root() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: programs.UIDExecutord, Gid: programs.UIDExecutord}}
	}
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(b)
	}
	s.ok(err)
	return 0, string(b)
}

// The person's last resort when executord does not start any more.
func TestExecutordVerifySaysWhatIsWrongAndTouchesNothing(t *testing.T) {
	t.Parallel()
	s := founded(t)
	key := s.path("keys/root")
	secrets := s.secrets()
	try := func(w row, args ...string) {
		t.Helper()
		before := files(t, s.Dir)
		code, out := s.verify(args...)
		w.hold(t, code, out, append(secrets, s.secrets()...))
		unchanged(t, before, files(t, s.Dir))
		if t.Failed() {
			t.Fatal(args)
		}
	}
	try(row{exit: 0, says: []string{"sound"}}, "--root-key", key)
	try(row{exit: 2, says: []string{"Usage"}})
	try(row{exit: 2, says: []string{"not"}}, "--root-key", key, "--pinned-head", strings.Repeat("ab", 32))
	try(row{exit: 1, says: []string{"cannot be opened"}, next: []string{"exists"}}, "--root-key", s.path("keys/none"))
	other, err := keyfile.NewRoot("k1", 1)
	s.ok(err)
	s.put("keys/other", other)
	try(row{exit: 2, says: []string{"another store_id or root key"}, next: []string{"give the store_id and root key"}}, "--root-key", s.path("keys/other"))
	s.serve()
	try(row{exit: 1, says: []string{"another executord has this store open"}, next: []string{"stop it first"}}, "--root-key", key)
	s.proc.Stop()
	s.ok(os.Rename(s.path("store/store.db"), s.path("store/kept")))
	try(row{exit: 1, says: []string{"there is no store"}, next: []string{"made by mcpctl anchor seed"}}, "--root-key", key)
	b, err := os.ReadFile(filepath.Join(s.Dir, "store", "kept"))
	s.ok(err)
	s.put("store/store.db", b[:len(b)/4096/2*4096/8])
	try(row{exit: 2, says: []string{"the store is damaged"}, next: []string{"keep the file"}}, "--root-key", key)
}
