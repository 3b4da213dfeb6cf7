package readtool

import (
	"context"
	"encoding/json/jsontext"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool/internal/row"
)

// packageAge is how long a list of installed packages, or the failure to read
// it, is believed: packages change by hand.
const packageAge = 60 * time.Second

// maxPackages and maxPackageName bound the list; an appliance has some tens.
const (
	maxPackages    = 2000
	maxPackageName = 128
)

// The states of a package.
const (
	packageInstalled = "installed"
	packageAbsent    = "absent"
	packageUnknown   = "unknown"
)

// packages caches the appliance's installed packages. The credential is the
// server's own, so the list is the same for every caller.
type packages struct {
	mu    sync.Mutex
	names map[string]bool
	whole bool // every package was read
	until time.Time
}

// packageState says whether a package is installed. It never infers: a list
// that could not be read to its end proves presence alone.
func (r *Reader) packageState(ctx context.Context, caller pfrest.Caller, name string) string {
	p := &r.packages
	now := r.cfg.Now()
	p.mu.Lock()
	names, whole, fresh := p.names, p.whole, now.Before(p.until)
	p.mu.Unlock()
	if !fresh {
		names, whole = r.readPackages(ctx, caller)
		if ctx.Err() == nil { // a call that was given up proves nothing for others
			p.mu.Lock()
			p.names, p.whole, p.until = names, whole, now.Add(packageAge)
			p.mu.Unlock()
		}
	}
	switch {
	// A development build satisfies the appliance's own check as well.
	case names[name] || names[name+"-devel"]:
		return packageInstalled
	case whole:
		return packageAbsent
	}
	return packageUnknown
}

func (r *Reader) readPackages(ctx context.Context, caller pfrest.Caller) (names map[string]bool, whole bool) {
	names = map[string]bool{}
	find, sound := row.NewMembers(), true
	var member [1][]byte
	o := pfrest.WalkOptions{
		PageSize: pageSize, MaxRows: maxPackages,
		Restart: func() { clear(names); sound = true },
	}
	w, err := r.cfg.Client.Walk(ctx, caller, catalog.PathPackages, o, func(raw jsontext.Value, _ int) bool {
		if !find.Find(raw, member[:], "name") {
			sound = false
			return true
		}
		name := text(member[0])
		if name == "" || len(name) > maxPackageName {
			sound = false
			return true
		}
		names[name] = true
		return true
	})
	return names, err == nil && sound && w.Complete && !w.Changed && len(w.Bad) == 0
}

// packageNote states the package's state and what an empty answer then means.
func (c *call) packageNote(ctx context.Context, add func(string, ...any)) {
	pkg := c.tool.Package
	if pkg == "" {
		return
	}
	empty := c.tool.List && c.scanned == 0 && c.unusable == 0
	switch state := c.packageState(ctx, c.caller, pkg); {
	case state == packageInstalled && empty:
		add("package_state: installed: %s is there and has nothing configured here", pkg)
	case state == packageAbsent && empty:
		add("package_state: absent: %s is not installed; the empty list says nothing else", pkg)
	case state == packageAbsent && c.tool.List:
		add("package_state: absent: %s is not installed; these rows are stored all the same", pkg)
	case state == packageAbsent:
		add("package_state: absent: %s is not installed; these are defaults, not settings in use", pkg)
	case state == packageUnknown && empty:
		add("package_state: unknown: the package list could not be read, so an empty list does not tell an absent %s from one with nothing configured", pkg)
	case state == packageUnknown:
		add("package_state: unknown: the package list could not be read, so whether %s is installed is not known", pkg)
	default:
		add("package_state: %s: %s", state, pkg)
	}
}
