package sd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// firstFD is where systemd puts the first descriptor (sd_listen_fds(3)).
const firstFD = 3

// maxFDs bounds LISTEN_FDS. No daemon here has more than three sockets; the
// bound keeps a wrong variable from making us close descriptors that are ours.
const maxFDs = 16

// Listeners returns the sockets that systemd handed over, by the name of
// FileDescriptorName= in their unit, and removes LISTEN_FDS, LISTEN_PID and
// LISTEN_FDNAMES from the environment. Without socket activation, or with
// variables meant for another process, it returns an empty map.
//
// Every descriptor must be a listening Unix stream socket bound to an absolute
// path, and every name must be there once; otherwise all are closed and the
// error says which one breaks which rule. The listeners are close-on-exec and
// do not remove their socket file when closed: the file belongs to systemd.
func Listeners() (map[string]net.Listener, error) {
	fds, pid, names := take("LISTEN_FDS"), take("LISTEN_PID"), take("LISTEN_FDNAMES")
	if fds == "" || pid != strconv.Itoa(os.Getpid()) {
		return map[string]net.Listener{}, nil
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 0 || n > maxFDs {
		return nil, errs.Newf(errs.Invalid, "LISTEN_FDS is not a number between 0 and %d", maxFDs)
	}
	return inherit(n, names)
}

func inherit(n int, fdNames string) (map[string]net.Listener, error) {
	files := make([]*os.File, n)
	for i := range files {
		// First of all: a program started between here and the check would
		// otherwise inherit every socket.
		syscall.CloseOnExec(firstFD + i)
		files[i] = os.NewFile(uintptr(firstFD+i), "inherited socket")
	}
	// net.FileListener duplicates; the originals go in every case.
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()

	names := strings.Split(fdNames, ":")
	if n > 0 && len(names) != n {
		return nil, errs.Newf(errs.Invalid, "LISTEN_FDNAMES has %d names for %d sockets", len(names), n).
			WithNext("give every socket unit a FileDescriptorName=")
	}
	out := make(map[string]net.Listener, n)
	fail := func(e *errs.Error) (map[string]net.Listener, error) {
		for _, l := range out {
			_ = l.Close()
		}
		return nil, e
	}
	for i, f := range files {
		name := names[i]
		if !validName(name) {
			return fail(errs.Newf(errs.Invalid, "inherited socket %d has no usable name: 1 to 64 of a-z, 0-9, '-', '_', '.'", i).
				WithNext("give every socket unit a FileDescriptorName="))
		}
		if out[name] != nil {
			return fail(errs.Newf(errs.Invalid, "two inherited sockets are called %s", name))
		}
		if rule := check(firstFD + i); rule != "" {
			return fail(errs.Newf(errs.Invalid, "inherited socket %s is not %s", name, rule).
				WithNext("its unit needs ListenStream= with an absolute path and Accept=no"))
		}
		l, err := net.FileListener(f)
		if err != nil {
			return fail(errs.Wrap(err, errs.Internal, "inherited socket "+name+" cannot be used"))
		}
		out[name] = l
	}
	return out, nil
}

// check returns the rule that descriptor fd breaks, "" for none.
func check(fd int) string {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return "a socket"
	}
	opt := func(name, want int) bool {
		v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
		return err == nil && v == want
	}
	switch {
	case !opt(unix.SO_DOMAIN, unix.AF_UNIX):
		return "a Unix socket"
	case !opt(unix.SO_TYPE, unix.SOCK_STREAM):
		return "a stream socket"
	case !opt(unix.SO_ACCEPTCONN, 1):
		return "a listening socket"
	}
	sa, err := unix.Getsockname(fd)
	un, ok := sa.(*unix.SockaddrUnix)
	if err != nil || !ok || !strings.HasPrefix(un.Name, "/") {
		// An abstract name (x/sys shows it with a leading @) has no owner and
		// no mode: any local user could connect.
		return "bound to an absolute path"
	}
	return ""
}

// validName accepts what our own units use; systemd's "unknown" passes here and
// is refused by the daemon as a socket it does not have.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}
