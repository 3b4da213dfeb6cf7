package fieldcases

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/writepath"
)

// begin starts the process and returns what it said when it ended instead of serving,
// "" when it serves.
func (h *house) begin() (said string, code int) {
	h.t.Helper()
	if h.Start("") == nil {
		return "", 0
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), writepath.Patience)
	defer cancel()
	program, err := executord()
	h.ok(err)
	cmd := exec.CommandContext(ctx, program, "--config", filepath.Join(h.Dir, "executord.toml"))
	cmd.Env = []string{}
	out, _ := cmd.CombinedOutput() // the exit code says it
	return string(out), cmd.ProcessState.ExitCode()
}

// bbolt waits for ever for the lock of a file that somebody else has open: a person's
// inspection tool is enough. The start ends within seconds, and says what is the matter.
func TestCase103AStoreThatSomebodyElseHasOpenEndsTheStartSoonAndByName(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	h.Kill()
	f, err := os.Open(filepath.Join(h.Dir, "store", "store.db"))
	h.ok(err)
	defer f.Close()
	h.ok(syscall.Flock(int(f.Fd()), syscall.LOCK_SH)) // as a reading tool takes it
	said, code := h.begin()                           // one that does not end by itself has no exit code
	if code != 1 || !strings.Contains(said, "the store cannot be opened") || !strings.Contains(said, "whether another program has the file open") {
		t.Errorf("%d: %s", code, said)
	}
	h.ok(f.Close())
	h.ok(h.Start(""))
	h.is(h.end(h.approved(wanted)), verified, "", 1)
}

// A loss of power, or a disk that lies about a flush, leaves a file with a page cut off,
// emptied or half written. The start says that the store is damaged, or opens it for
// reading alone; it never goes on with what is left, and never makes an empty store in
// its place, which would take every old approval again.
func TestCase104ADamagedStoreIsKeptAndNothingIsBegunOnIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	h.is(h.end(h.approved(wanted)), verified, "", 1)
	h.Kill()
	path := filepath.Join(h.Dir, "store", "store.db")
	good, err := os.ReadFile(path)
	h.ok(err)
	const page = 4096
	used := bytes.LastIndexFunc(good, func(r rune) bool { return r != 0 })/page + 1 // the rest is room for later
	images := map[string][]byte{
		"cut to its first half": good[:used/2*page],
		"both roots torn":       torn(torn(good, 0), page),
	}
	for p := 2; p < used; p++ {
		b := bytes.Clone(good)
		clear(b[p*page : (p+1)*page])
		images["page "+itoa(p)+" emptied"] = b
	}
	refused, quarantined, sound := 0, 0, 0
	for what, image := range images {
		h.ok(os.WriteFile(path, image, 0o600))
		said, code := h.begin()
		switch {
		case said != "":
			refused++
			if code != 1 || !strings.Contains(said, "the store is damaged") || !strings.Contains(said, "keep the file") || strings.Contains(said, "goroutine ") {
				t.Errorf("%s: %d: %s", what, code, said)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, image) {
				t.Errorf("%s: the damaged file was changed, %v", what, err)
			}
		case h.quarantine() == "store_integrity":
			quarantined++
			h.unwilling(wanted + "?")
			v, err := h.Admin.AuditVerify(h.ctx(), &executorpb.AuditVerifyRequest{})
			if err != nil || v.GetSound() || v.GetProblem() == "" {
				t.Errorf("%s: the verification says %v, %v", what, v, err)
			}
			h.Kill()
		default: // a page that nothing hangs on any more
			sound++
			if all, err := h.Contracts(); err != nil || len(all) != 1 || all[0].GetState() != verified {
				t.Errorf("%s: it serves with %v, %v", what, all, err)
			}
			h.Kill()
		}
	}
	t.Logf("%d images: %d refused, %d under quarantine, %d sound", len(images), refused, quarantined, sound)
	if refused+quarantined < 6 || h.Sends() != 1 {
		t.Errorf("too few were found, or something was sent: %d sends", h.Sends())
	}

	// One root of the two is enough: it was the last whole state.
	for _, at := range []int{0, page} {
		h.ok(os.WriteFile(path, torn(good, at), 0o600))
		h.ok(h.Start(""))
		if all, err := h.Contracts(); err != nil || len(all) != 1 {
			t.Errorf("with one root: %v, %v", all, err)
		}
		h.Kill()
	}
}

// torn is a file in which half of the page at an offset was written.
func torn(b []byte, at int) []byte {
	b = bytes.Clone(b)
	for i := at + 16; i < at+48; i++ {
		b[i] ^= 0xff
	}
	return b
}
