package badinput

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/programs"
)

// small gives the store a file system of its own, of so many bytes.
func (s *site) small(size string) {
	s.t.Helper()
	needsRoot(s.t)
	dir := s.path("store")
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		s.t.Skipf("nothing can be mounted here: %s", out)
	}
	s.t.Cleanup(func() {
		if s.proc != nil && !s.proc.Ended() {
			s.proc.Signal(9)
			s.proc.Until("the end", s.proc.Ended)
		}
		s.ok(exec.Command("umount", dir).Run())
	})
	s.ok(os.Chown(dir, programs.UIDExecutord, programs.UIDExecutord))
}

// resize gives the store's file system another size.
func (s *site) resize(size string) {
	s.t.Helper()
	if out, err := exec.Command("mount", "-o", "remount,size="+size, s.path("store")).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// fill leaves no byte free, free gives back what fill took.
func (s *site) fill() {
	s.t.Helper()
	f, err := os.Create(filepath.Join(s.path("store"), "ballast"))
	s.ok(err)
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}

func (s *site) free() {
	s.t.Helper()
	s.ok(os.Remove(filepath.Join(s.path("store"), "ballast")))
}

func TestAStoreIsFoundedWholeOrNotAtAllOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.small("16k")
	s.serve()
	err := s.Provision()
	says(t, err, "disk_full")
	if e := errs.Public(err); !strings.Contains(e.Next, "room") {
		t.Errorf("%v: %s", e, e.Next)
	}
	if _, err := os.Lstat(s.path("store/store.db")); err == nil {
		t.Error("half a store has the store's name")
	}
	for name := range files(t, s.path("store")) {
		if name != "." && name != "store.lock" {
			t.Errorf("%s was left behind", name)
		}
	}
	s.resize("64m")
	s.ok(s.Provision())
	s.changes()
	s.done()
}

func TestNothingIsBegunOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.small("32m")
	s.serve()
	s.ok(s.Provision())
	contract, err := s.Authorize(s.request())
	s.ok(err)
	s.fill()
	err = s.Confirm(contract)
	says(t, err, "disk_full")
	if s.Sends() != 0 {
		t.Errorf("%d sends", s.Sends())
	}
	s.fails("store.space", "8 MiB", "make room")
	if st, err := s.AskFor(1002, "Another text"); err != nil || st != executorpb.WriteState_WRITE_STATE_REFUSED {
		t.Errorf("a wish is %v, %v", st, err)
	}
	s.free()
	s.ok(s.Confirm(contract))
	got, err := s.Settled(contract)
	s.ok(err)
	if got.GetState() != executorpb.State_STATE_VERIFIED || s.Sends() != 1 {
		t.Errorf("%v, %d sends", got, s.Sends())
	}
	s.done()
}

// The disk runs full between the intent, which is durable before the send, and the
// outcome.
func TestCase106ADiskThatRunsFullAfterTheSendLosesNoOutcome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.small("32m")
	s.serve()
	s.ok(s.Provision())
	contract, err := s.Authorize(s.request())
	s.ok(err)
	held := s.sent(contract)
	s.fill()
	held.Go()
	got, err := s.Settled(contract)
	s.ok(err)
	if got.GetState() != executorpb.State_STATE_VERIFIED || s.Sends() != 1 {
		t.Errorf("the room that was kept for the outcome is not enough: %v", got)
	}
	s.free()
	s.done()
}

func TestAStoreOnAFileSystemThatMayOnlyBeReadIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.small("32m")
	s.serve()
	s.ok(s.Provision())
	s.done()
	if out, err := exec.Command("mount", "-o", "remount,ro", s.path("store")).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted anew here: %s", out)
	}
	p := s.start()
	row{exit: 1, says: []string{"store_dir", "may only be read"}, next: []string{"remount"}}.hold(t, p.Wait(), p.Output(), s.secrets())
}
