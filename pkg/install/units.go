package install

import (
	"context"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
)

// target is the unit of all others.
const target = "pfsense-mcp.target"

// unitOf says which unit has to read a file anew.
func unitOf(path string) []string {
	switch {
	case path == layout.CAPEM:
		return []string{"pfsense-mcpd.service", "pfsense-executord.service"}
	case path == layout.McpdTOML, path == layout.ReadKey, path == layout.SealedReadKey, strings.HasPrefix(path, layout.Units+"pfsense-mcpd."):
		return []string{"pfsense-mcpd.service"}
	case path == layout.DocfetchdTOML, strings.HasPrefix(path, layout.Units+"pfsense-docfetchd."):
		return []string{"pfsense-docfetchd.service"}
	}
	return []string{"pfsense-executord.service"}
}

// Booted says whether systemd runs this host.
func (h *Host) Booted() bool { return h.exists("/run/systemd/system") }

// Start makes systemd read what was written, enables the target and starts it; units
// whose files changed are started anew. An executord that lacks its authorities file is
// left alone: it would only fail.
func (h *Host) Start(ctx context.Context, p *Plan) error {
	if !h.Booted() {
		return errs.New(errs.Unavailable, "systemd does not run this host: nothing was started").WithClass("systemd").
			WithNext("start the daemons where it does: systemctl enable --now " + target)
	}
	var changed []string
	for _, s := range p.Steps {
		if s.Action == Write || s.Action == Replace || s.Action == Mend {
			changed = append(changed, unitOf(s.Path)...)
		}
	}
	slices.Sort(changed)
	changed = slices.Compact(changed)
	if p.Write && !h.exists(layout.Authorities) {
		changed = slices.DeleteFunc(changed, func(u string) bool { return u == "pfsense-executord.service" })
	}
	if err := h.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if err := h.systemctl(ctx, "enable", target); err != nil {
		return err
	}
	if err := h.forgive(ctx); err != nil {
		return err
	}
	for _, u := range changed { // before the target: else what is stopped would start twice
		if err := h.systemctl(ctx, "restart", u); err != nil {
			return err
		}
	}
	return h.systemctl(ctx, "start", target)
}

// forgive lets units start that failed too often within a minute: what their clients
// tried while they were broken must not keep them down once they are mended.
func (h *Host) forgive(ctx context.Context) error {
	return h.systemctl(ctx, "reset-failed", "pfsense-*")
}

// systemctl runs one command of it.
func (h *Host) systemctl(ctx context.Context, args ...string) error {
	if _, err := h.Run(ctx, nil, "systemctl", args...); err != nil {
		next := "systemctl status " + args[len(args)-1] + "; journalctl -u " + args[len(args)-1]
		if len(args) == 1 {
			next = "systemctl " + args[0] + " says why"
		}
		return errs.Wrap(err, errs.Unavailable, "systemctl "+strings.Join(args, " ")+" failed").WithClass("systemd").WithNext(next)
	}
	return nil
}

// Removal is what uninstall would do.
type Removal struct {
	Remove []string // put there by setup and not changed since
	Left   []string // put there by setup and changed by a person
	Kept   []string // executord's keys: without them the store cannot be opened
	Store  string   // the contract store; "" when there is none
}

// PlanRemoval decides what uninstall does. Executord's own keys go with its store, and
// only then.
func (h *Host) PlanRemoval(purge bool) (*Removal, error) {
	own, err := h.tree().Owned()
	if err != nil {
		return nil, err
	}
	r := &Removal{}
	if h.exists(layout.StoreDir) {
		r.Store = layout.StoreDir
	}
	for _, f := range own {
		switch {
		case f.Secret && storeKey(f.Path) && !purge && !f.Gone:
			r.Kept = append(r.Kept, f.Path)
		case f.Edited && !f.Gone:
			r.Left = append(r.Left, f.Path)
		default:
			r.Remove = append(r.Remove, f.Path)
		}
	}
	return r, nil
}

// storeKey says whether a path is that of a key without which the store is lost.
func storeKey(path string) bool {
	return slices.ContainsFunc(layout.WriteCredentials(false), func(c layout.Credential) bool {
		return c.Name != layout.WriteAPIKey && (path == c.Path(true) || path == c.Path(false))
	})
}
