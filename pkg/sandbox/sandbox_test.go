package sandbox

import (
	"bytes"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// allowedBy says which attacks a profile may carry out; all others must fail.
func allowedBy(p Profile, b *bench) map[string]bool {
	ok := map[string]bool{}
	if len(p.UnixConnect) > 0 {
		ok["unix socket by path"] = true
		ok["abstract unix socket"] = abi() < 6 // only the kernel's scope stops it
	}
	if p.internet() {
		ok["tcp to the port"] = true
		ok["tcp to another port"] = abi() < 4
	}
	if p.DNS {
		ok["udp socket"] = true
	}
	return ok
}

// filled returns the five profiles as a site would fill them.
func filled(b *bench) []Profile {
	port := []uint16{uint16(b.Port)}
	own := []string{filepath.Dir(b.Serve)}
	base := func(p Profile) Profile {
		p.Read, p.Logs, p.Unlink = []string{b.Inside}, []string{b.Dir}, own
		return p
	}
	m := base(Mcpd())
	m.TCP, m.UnixConnect, m.SystemRoots = port, []string{filepath.Dir(b.Unix)}, true
	d := base(Docfetchd())
	d.TCP = port
	e := base(Executord())
	e.TCP, e.DNS, e.State = port, true, []string{b.Dir}
	off := base(Executord())
	off.Name = "executord with write off"
	return []Profile{m, base(Guidanced()), d, e, off, base(Witness())}
}

func TestReview26EveryProfileStopsEveryAttackAndLeavesTheDaemonItsDuties(t *testing.T) {
	for _, as := range []struct {
		name string
		user bool
		mode Mode
	}{{"own user, required", true, Require}, {"as started, available", false, Available}} {
		t.Run(as.name, func(t *testing.T) {
			b := newBench(t, as.user)
			inconclusive := map[string]bool{}
			for _, p := range filled(b) {
				t.Run(p.Name, func(t *testing.T) {
					stop := knock(b.Serve)
					defer stop()
					a := b.run(t, p, as.mode, func(pid int) { everyThread(t, pid) })
					if a.Err != "" {
						t.Fatalf("Apply: %s", a.Err)
					}
					ok := allowedBy(p, b)
					for _, name := range slices.Sorted(maps.Keys(a.Before)) {
						before, after := a.Before[name], a.After[name]
						if before != works {
							// The machine refuses it anyway (to this user): that the
							// sandbox stops it is not shown by this run.
							inconclusive[name] = true
							if after == works {
								t.Errorf("%s: %s before Apply, works after it", name, before)
							}
							continue
						}
						if got := after == works; got != ok[name] {
							t.Errorf("%s: %s after Apply, allowed: %v", name, after, ok[name])
						}
					}
					for _, name := range slices.Sorted(maps.Keys(a.Works)) {
						if a.Works[name] != works {
							t.Errorf("duty %q: %s", name, a.Works[name])
						}
					}
				})
			}
			if len(inconclusive) > 0 {
				t.Logf("refused by the machine before Apply, so not shown here: %v", slices.Sorted(maps.Keys(inconclusive)))
			}
		})
	}
}

// knock dials the child's own socket until it is served once.
func knock(path string) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			c, err := net.Dial("unix", path)
			if err != nil {
				time.Sleep(2 * time.Millisecond)
				continue
			}
			b := make([]byte, 6)
			n, _ := c.Read(b)
			_ = c.Close()
			if n > 0 {
				return
			}
		}
	}()
	return func() { close(done) }
}

// everyThread reads from outside what the kernel says of each thread.
func everyThread(t *testing.T, pid int) {
	t.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d threads seen: %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
			if !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s lacks %q", f, want)
			}
		}
	}
}

func TestGuidancedCanMakeNoSocketOfAnyFamily(t *testing.T) {
	b := newBench(t, true)
	p := Guidanced()
	b.Serve, b.Inside, b.Dir = "", "", ""
	a := b.run(t, p, Require, nil)
	if a.Err != "" {
		t.Fatal(a.Err)
	}
	for _, name := range []string{"tcp to the port", "unix socket by path", "abstract unix socket", "udp socket", "netlink socket", "mptcp socket", "unix datagram socket"} {
		if a.After[name] != "EAFNOSUPPORT" {
			t.Errorf("%s: %s", name, a.After[name])
		}
	}
	if a.After["socket pair"] != "EPERM" {
		t.Errorf("socket pair: %s", a.After["socket pair"])
	}
}

func TestRequireRefusesAProcessWithCapabilitiesAndNamesIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs a process with capabilities: run as root")
	}
	b := newBench(t, false)
	b.Serve, b.Inside, b.Dir = "", "", ""
	a := b.run(t, Guidanced(), Require, nil)
	if want := "the sandbox cannot be applied in full, missing: no_capabilities"; a.Err != want {
		t.Errorf("got %q, want %q", a.Err, want)
	}
	a = b.run(t, Guidanced(), Available, nil)
	if a.Err != "" || !slices.Contains(a.Report.Missing, NoCapabilities) {
		t.Errorf("available: error %q, report %+v", a.Err, a.Report)
	}
}

func TestReview26RequireRefusesAProcessThatLeftOutEarly(t *testing.T) {
	b := newBench(t, true)
	b.Serve, b.Inside, b.Dir, b.NoEarly = "", "", "", true
	a := b.run(t, Guidanced(), Require, nil)
	for _, name := range []string{NoNewPrivs, Undumpable} {
		if !strings.Contains(a.Err, name) {
			t.Errorf("error %q does not name %s", a.Err, name)
		}
	}
}

func TestReview26TheReportFollowsTheLandlockABI(t *testing.T) {
	full := Mcpd()
	full.TCP, full.DNS, full.UnixConnect = []uint16{443}, true, []string{"/run/pfsense-mcp"}
	for _, row := range []struct {
		p       Profile
		abi     int
		missing []string
	}{
		{full, 2, []string{LandlockTruncate, LandlockTCP, LandlockAbstract, LandlockUnix, LandlockUDP}}, // stock Debian 12
		{full, 4, []string{LandlockAbstract, LandlockUnix, LandlockUDP}},
		{full, 11, nil},
		{full, 0, []string{LandlockFiles, LandlockTruncate, LandlockTCP, LandlockAbstract, LandlockUnix, LandlockUDP}},
		{Guidanced(), 2, []string{LandlockTruncate}}, // what seccomp closes is no gap
		{Guidanced(), 7, nil},
	} {
		var r Report
		gaps(row.p, row.abi, &r)
		if d := cmp.Diff(row.missing, r.Missing); d != "" {
			t.Errorf("%s, ABI %d (-want +got):\n%s", row.p.Name, row.abi, d)
		}
	}
}

func TestAProfileThatDoesNotHoldTogetherIsRefusedInEveryMode(t *testing.T) {
	for name, change := range map[string]func(*Profile){
		"guidanced with a port":             func(p *Profile) { p.TCP = []uint16{443} },
		"guidanced with names":              func(p *Profile) { p.DNS = true },
		"guidanced with a peer":             func(p *Profile) { p.UnixConnect = []string{"/run"} },
		"guidanced with state":              func(p *Profile) { p.State = []string{"/var/lib/x"} },
		"guidanced with a device":           func(p *Profile) { p.Devices = []string{"/dev/tpmrm0"} },
		"a relative path":                   func(p *Profile) { p.Read = []string{"etc"} },
		"the root":                          func(p *Profile) { p.Read = []string{"/usr/.."} },
		"names without a port":              func(p *Profile) { p.May, p.DNS = Internet, true },
		"port 0":                            func(p *Profile) { p.May, p.TCP = Internet, []uint16{0} },
		"a log directory that is not there": func(p *Profile) { p.Logs = []string{"/nonexistent/log"} },
		"a file for a log directory":        func(p *Profile) { p.Logs = []string{"/etc/passwd"} },
	} {
		for _, mode := range []Mode{Require, Available} {
			p := Guidanced()
			change(&p)
			err := p.check()
			if err == nil {
				_, err = rules(p)
			}
			if err == nil {
				t.Errorf("%s (%s) was accepted", name, mode)
			}
		}
	}
	if _, err := Apply(Guidanced(), "off"); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

func TestAProfileIsACopyEachTime(t *testing.T) {
	p := Docfetchd()
	p.TCP[0] = 1
	if Docfetchd().TCP[0] != 443 {
		t.Error("a change of one profile changed the next")
	}
}
