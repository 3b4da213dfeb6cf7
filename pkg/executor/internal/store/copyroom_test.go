package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// A backup is made beside the store and is as large. One that takes the room which an
// attempt counts on would cost an outcome that cannot be stored any more.
func TestCase106ABackupTakesNoRoomThatAnAttemptNeeds(t *testing.T) {
	f, _, _ := faulty(t)
	full := &errs.Error{Code: errs.Exhausted, Class: "disk_full", Msg: "full", Err: unix.ENOSPC}
	f.seamAt("space", full)
	var out bytes.Buffer
	if err := f.S.Backup(&out); class(err) != "disk_full" || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
	f.seamAt("", nil)
	if err := f.S.Backup(&out); err != nil || out.Len() == 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
	if left, err := filepath.Glob(filepath.Join(f.c.Dir, "*copy*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCase106ABackupCountsItsOwnSize(t *testing.T) {
	f, dir := small(t, "16m")
	st, err := os.Stat(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	// What is left is the reserve and half of what the copy takes.
	free := func() int64 {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		return int64(s.Bavail) * s.Bsize
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, free()-8<<20-st.Size()/2), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.S.Backup(&out); class(err) != "disk_full" || out.Len() > 0 {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
	if _, err := f.Authorize("one", "new"); err != nil {
		t.Errorf("what an attempt needs is not there: %v", err)
	}
	if err := errors.Join(os.Remove(ballast), f.S.Backup(&out)); err != nil {
		t.Error(err)
	}
}
