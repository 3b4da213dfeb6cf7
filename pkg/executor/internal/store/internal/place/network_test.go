package place

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCase103AStoreLiesOnNoNetworkFileSystem(t *testing.T) {
	for kind, want := range map[int64]bool{
		unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.XFS_SUPER_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false, unix.TMPFS_MAGIC: false, unix.OVERLAYFS_SUPER_MAGIC: false,
	} {
		if got := distant(kind); got != want {
			t.Errorf("%#x: %v", kind, got)
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, nil, nil)
	if err != nil {
		t.Fatalf("a directory of this machine: %v", err)
	}
	d.Close()
}
