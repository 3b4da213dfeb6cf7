package place

import (
	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// distant says that a file system is one of those whose locks and syncs are another
// machine's to keep: two executords could have one store open, and what was committed
// here could be gone there.
func distant(kind int64) bool {
	switch kind {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC,
		unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC:
		return true
	}
	return false
}

// near refuses a directory on the file system of another machine.
func (d *Dir) near() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the file system of store_dir cannot be inspected").WithClass(ClassPermissions)
	}
	if distant(int64(st.Type)) {
		return refuse(nil, "it lies on a network file system", "use a disk of this machine: what keeps a second executord out, and a commit in, holds on no other")
	}
	return nil
}
