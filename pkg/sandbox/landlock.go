package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"pfsensemcp/pkg/errs"
)

// Access sets. None has the right to execute, so that no file can be started
// even where the seccomp filter is missing.
const (
	readFile landlock.AccessFSSet = ll.AccessFSReadFile
	readDir  landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSReadDir
	writeDir landlock.AccessFSSet = readDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
	useDevice   landlock.AccessFSSet = ll.AccessFSReadFile | ll.AccessFSWriteFile
	unlinkIn    landlock.AccessFSSet = ll.AccessFSRemoveFile
	resolveUnix landlock.AccessFSSet = ll.AccessFSResolveUnix
)

// certificateStores are where crypto/x509 looks on the distributions we know;
// the links of Debian's /etc/ssl/certs lead to the two below /usr.
var certificateStores = [...]string{
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/pki", "/etc/ca-certificates",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/var/lib/ca-certificates",
}

// abi returns the kernel's Landlock ABI, 0 when it has none.
func abi() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < 0 {
		return 0
	}
	return v
}

// rules turns a profile into Landlock rules. A path of the profile that is not
// there is an error; the system's own files may be missing.
func rules(p Profile) ([]landlock.Rule, error) {
	var out []landlock.Rule
	for _, row := range []struct {
		paths []string
		right landlock.AccessFSSet
		dir   bool // the kernel refuses these rights on a file, and says "invalid argument"
	}{
		{p.Logs, writeDir, true},
		{p.State, writeDir, true},
		{p.Devices, useDevice, false},
		{p.UnixConnect, resolveUnix, false},
		{p.Unlink, unlinkIn, true},
	} {
		for _, path := range row.paths {
			fi, err := os.Stat(path)
			if err == nil && row.dir && !fi.IsDir() {
				err = syscall.ENOTDIR
			}
			if err != nil {
				return nil, absent(p, path, err)
			}
			out = append(out, landlock.PathAccess(row.right, path))
		}
	}
	for _, path := range p.Read {
		fi, err := os.Stat(path)
		if err != nil {
			return nil, absent(p, path, err)
		}
		// The kernel refuses a directory's right on a file.
		right := readFile
		if fi.IsDir() {
			right = readDir
		}
		out = append(out, landlock.PathAccess(right, path))
	}
	if p.SystemRoots {
		for _, path := range certificateStores {
			if fi, err := os.Stat(path); err == nil && fi.IsDir() {
				out = append(out, landlock.PathAccess(readDir, path).IgnoreIfMissing())
			} else if err == nil {
				out = append(out, landlock.PathAccess(readFile, path).IgnoreIfMissing())
			}
		}
	}
	if p.DNS {
		out = append(out, landlock.PathAccess(readFile, "/etc").IgnoreIfMissing(),
			landlock.BindUDP(0), landlock.ConnectSendUDP(53))
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && filepath.Dir(real) != "/etc" {
			out = append(out, landlock.PathAccess(readFile, filepath.Dir(real)).IgnoreIfMissing())
		}
	}
	for _, port := range p.ports() {
		out = append(out, landlock.ConnectTCP(port))
	}
	return out, nil
}

// restrictFiles applies the rules as far as the kernel's ABI goes.
func restrictFiles(p Profile) error {
	rr, err := rules(p)
	if err != nil {
		return err
	}
	if err := landlock.V11.BestEffort().Restrict(rr...); err != nil {
		return errs.Wrap(err, errs.Internal, "the landlock rules cannot be applied")
	}
	return nil
}

// gaps splits what Landlock is there for into what ABI v does and what it does
// not. A gap that the seccomp filter closes for this profile (signals, device
// controls, any connect where no socket can be made) is not one.
func gaps(p Profile, v int, r *Report) {
	for _, row := range []struct {
		name   string
		since  int
		needed bool
	}{
		{LandlockFiles, 1, true},
		{LandlockTruncate, 3, true},
		{LandlockTCP, 4, p.internet()},
		{LandlockAbstract, 6, len(p.UnixConnect) > 0},
		{LandlockUnix, 9, len(p.UnixConnect) > 0},
		{LandlockUDP, 10, p.DNS},
	} {
		switch {
		case !row.needed:
		case v >= row.since:
			r.Enforced = append(r.Enforced, row.name)
		default:
			r.Missing = append(r.Missing, row.name)
		}
	}
}

func absent(p Profile, path string, err error) error {
	why := "cannot be reached"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "does not exist"
	case errors.Is(err, syscall.ENOTDIR):
		why = "is no directory"
	}
	return errs.Wrap(err, errs.Invalid, "the sandbox of "+p.Name+" needs "+path+", which "+why).
		WithNext("create it with the owner and mode of the installation, or correct the setting that names it")
}
