package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// goarch is the processor that packages are made for: this machine's.
func goarch() string { return runtime.GOARCH }

// module is one that a program links; the standard library is one of them.
type module struct{ path, version, sum string }

// standard is the name of the Go standard library among the modules.
const standard = "std"

// program is one that is packed.
type program struct {
	name, sha256 string
	settings     [][2]string // those of the build that are shown, sorted
	modules      []module    // sorted by path
}

// builds are the programs of a package.
type builds struct {
	goVersion string
	programs  []program
	modules   []module // of all, sorted by path
}

// readBuilds reads what the Go tool wrote into each program, and refuses one
// that was not built as programs ship.
func readBuilds(bin string) (*builds, error) {
	b := &builds{}
	all := map[string]module{}
	var faults []error
	for _, name := range programs {
		p, goVersion, err := readBuild(filepath.Join(bin, name), name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if b.goVersion = cmp.Or(b.goVersion, goVersion); b.goVersion != goVersion {
			faults = append(faults, fmt.Errorf("%s: built by %s, others by %s", name, goVersion, b.goVersion))
		}
		for _, m := range p.modules {
			if have, ok := all[m.path]; ok && have != m {
				faults = append(faults, fmt.Errorf("%s links %s %s, others %s", name, m.path, m.version, have.version))
			}
			all[m.path] = m
		}
		b.programs = append(b.programs, p)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	for _, m := range all {
		b.modules = append(b.modules, m)
	}
	sortModules(b.modules)
	return b, nil
}

func sortModules(ms []module) {
	slices.SortFunc(ms, func(a, b module) int { return strings.Compare(a.path, b.path) })
}

// shipped is what every packed program must say of its build. Exactly these
// tags: one more may be a test build, one less links a template engine.
var shipped = map[string]string{
	"-tags": tags, "CGO_ENABLED": "0", "-trimpath": "true", "GOOS": "linux", "-compiler": "gc", "-buildmode": "exe",
	"-race": "", "-cover": "", "GOEXPERIMENT": "",
}

func readBuild(path, name string) (program, string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program{}, "", fmt.Errorf("%s: no build information: %w", name, err)
	}
	var faults []error
	if want := "pfsensemcp/cmd/" + name; info.Path != want {
		faults = append(faults, fmt.Errorf("%s: it is %q, not %s", name, info.Path, want))
	}
	got := map[string]string{}
	for _, s := range info.Settings {
		if _, twice := got[s.Key]; twice {
			faults = append(faults, fmt.Errorf("%s: %s stands twice in its build information", name, s.Key))
		}
		got[s.Key] = s.Value
	}
	for key, want := range shipped {
		if got[key] != want {
			faults = append(faults, fmt.Errorf("%s: built with %s=%s, and what ships is built with %q", name, key, got[key], want))
		}
	}
	if got["GOARCH"] != goarch() {
		faults = append(faults, fmt.Errorf("%s: built for %s", name, got["GOARCH"]))
	}
	p := program{name: name, modules: []module{{path: standard, version: info.GoVersion}}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			faults = append(faults, fmt.Errorf("%s: %s is replaced by %s", name, d.Path, d.Replace.Path))
		}
		p.modules = append(p.modules, module{d.Path, d.Version, d.Sum})
	}
	sortModules(p.modules)
	for _, s := range info.Settings {
		p.settings = append(p.settings, [2]string{s.Key, s.Value})
	}
	slices.SortFunc(p.settings, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	data, err := os.ReadFile(path)
	if err != nil {
		faults = append(faults, err)
	}
	sum := sha256.Sum256(data)
	p.sha256 = hex.EncodeToString(sum[:])
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return program{}, "", errors.Join(faults...)
	}
	return p, info.GoVersion, nil
}
