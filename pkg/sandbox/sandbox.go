package sandbox

import (
	"os"
	"slices"
	"strings"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

// Mode says what Apply does when the kernel cannot do all.
type Mode string

// The modes of the setting `sandbox`.
const (
	Require   Mode = "require"   // refuse to start without one of the required walls
	Available Mode = "available" // go on with what there is, and report the rest
)

// The names of the walls, as they stand in a Report.
const (
	NoNewPrivs     = "no_new_privs"
	Undumpable     = "undumpable"
	NoCoreDump     = "no_core_dump"
	NoCapabilities = "no_capabilities"
	Seccomp        = "seccomp"

	LandlockFiles    = "landlock_files"
	LandlockTruncate = "landlock_truncate"         // ABI 3: emptying files by open(2)
	LandlockTCP      = "landlock_tcp"              // ABI 4: TCP ports; else the unit's IPAddressDeny= must fill the gap
	LandlockAbstract = "landlock_abstract_sockets" // ABI 6: abstract Unix sockets of others
	LandlockUnix     = "landlock_unix_sockets"     // ABI 9: Unix sockets by path; else file modes alone say which
	LandlockUDP      = "landlock_udp"              // ABI 10: UDP ports
)

// required are the walls that Require cannot do without. The others depend on
// the kernel's Landlock ABI, which on stock Debian 12 is 2.
var required = [...]string{NoNewPrivs, Undumpable, NoCoreDump, NoCapabilities, Seccomp, LandlockFiles}

// Report says which walls stand and which do not, by the names above, in a
// fixed order. A wall that a profile has no use for is in neither list.
type Report struct {
	Enforced []string
	Missing  []string
}

// Early makes the process unable to gain privileges (all threads), to be
// attached to or read through /proc by its own user, and to leave a core dump.
// It is the first statement of a daemon, before settings and secrets are
// opened: a core_pattern that is a pipe ignores RLIMIT_CORE, so both are needed.
func Early() error {
	if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return errs.Wrap(err, errs.Internal, "no_new_privs cannot be set")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return errs.Wrap(err, errs.Internal, "the process cannot be made undumpable")
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return errs.Wrap(err, errs.Internal, "core dumps cannot be switched off")
	}
	return nil
}

// Apply puts the profile in force for every thread, now and to come, and for
// good. Call it when sockets are open and secrets read, before the first byte
// of a peer is. In mode Require it returns an error, naming all that lacks,
// when a required wall is missing; it then has applied nothing beyond Early. A
// profile that does not hold together, or names a path that is not there, is an
// error in both modes.
func Apply(p Profile, mode Mode) (Report, error) {
	if mode != Require && mode != Available {
		return Report{}, errs.New(errs.Invalid, "the sandbox mode is neither require nor available")
	}
	if err := p.check(); err != nil {
		return Report{}, err
	}
	var r Report
	note := func(name string, ok bool) {
		if ok {
			r.Enforced = append(r.Enforced, name)
		} else {
			r.Missing = append(r.Missing, name)
		}
	}
	early(note)
	note(NoCapabilities, noCapabilities())
	filter := seccomp.Supported()
	note(Seccomp, filter)
	v := abi()
	gaps(p, v, &r)
	if mode == Require {
		if lack := lacking(r); len(lack) > 0 {
			return r, errs.New(errs.Unavailable, "the sandbox cannot be applied in full, missing: "+strings.Join(lack, " ")).
				WithClass("sandbox").WithNext(remedy(lack))
		}
	}

	// The zone of local time is read from a file on first use, which may be a
	// log line long after the file has become unreachable.
	_, _ = time.Now().Local().Zone()

	if v > 0 {
		if err := restrictFiles(p); err != nil {
			return r, err
		}
	} else if _, err := rules(p); err != nil {
		return r, err // the same settings fail on every kernel
	}
	if filter {
		if err := restrictCalls(p); err != nil {
			return r, err
		}
	}
	return r, nil
}

// early notes whether Early's walls stand, asking the kernel.
func early(note func(string, bool)) {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	note(NoNewPrivs, err == nil && nnp == 1)
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	note(Undumpable, err == nil && dumpable == 0)
	var core unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	note(NoCoreDump, err == nil && core.Max == 0)
}

// noCapabilities reports whether the effective and permitted sets are empty.
// The permitted set counts too: what is in it can be made effective again.
func noCapabilities() bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	seen := 0
	for l := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(l, ":")
		if name == "CapEff" || name == "CapPrm" {
			seen++
			if strings.Trim(value, " \t\n0") != "" {
				return false
			}
		}
	}
	return seen == 2
}

func lacking(r Report) []string {
	var out []string
	for _, name := range required {
		if slices.Contains(r.Missing, name) {
			out = append(out, name)
		}
	}
	return out
}

// remedy names the next step for the first thing that lacks.
func remedy(lack []string) string {
	switch lack[0] {
	case NoCapabilities:
		return "run the daemon as its own user without capabilities, from its unit, or set sandbox = \"available\" for a trial"
	case Seccomp, LandlockFiles:
		return "boot a kernel with seccomp filters and landlock (Debian 12 has both), or set sandbox = \"available\" and rely on the unit's walls"
	default:
		return "start the daemon through its own binary, which does this first"
	}
}
