package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/place"
)

// examples is where the package keeps the settings as it ships them.
const examples = "/usr/share/doc/pfsense-mcp/examples/"

// Uninstall stops the daemons and undoes what setup did. With purge it removes the
// contract store as well: that cannot be undone, and the counter in the TPM stays.
func (h *Host) Uninstall(ctx context.Context, r *Removal, purge bool) error {
	if h.Booted() {
		if err := h.systemctl(ctx, "disable", "--now", target); err != nil {
			return err
		}
		// The sockets are part of the target, the services too: none may still hold
		// the store or a key when their files go.
		if err := h.systemctl(ctx, append([]string{"stop"}, unitNames()...)...); err != nil {
			return err
		}
	}
	if err := h.tree().Remove(r.Remove, h.shippedSettings(r.Remove)); err != nil {
		return err
	}
	for _, path := range r.Remove { // the directories of drop-ins, when nothing else is in them
		if dir := filepath.Dir(path); strings.HasPrefix(dir, layout.Units) && dir != strings.TrimSuffix(layout.Units, "/") {
			_ = os.Remove(filepath.Join(h.Root, dir))
		}
	}
	if purge && r.Store != "" {
		if err := h.purge(); err != nil {
			return err
		}
	}
	if h.Booted() {
		return h.systemctl(ctx, "daemon-reload")
	}
	return nil
}

func unitNames() []string {
	var out []string
	for _, u := range []string{"mcpd", "mcpd-admin", "guidanced", "docfetchd", "docfetchd-admin", "executord", "executord-admin"} {
		out = append(out, "pfsense-"+u+".socket")
	}
	for _, d := range []string{"mcpd", "guidanced", "docfetchd", "executord"} {
		out = append(out, "pfsense-"+d+".service")
	}
	return out
}

// shippedSettings are the settings that belong in the place of removed ones: a package
// manager takes a file of its own that is gone for one that a person removed.
func (h *Host) shippedSettings(paths []string) map[string][]byte {
	out := map[string][]byte{}
	for _, path := range paths {
		b, err := os.ReadFile(filepath.Join(h.Root, examples, filepath.Base(path)))
		if err == nil && layout.Shipped(path, place.Digest(b)) {
			out[path] = b
		}
	}
	return out
}

// purge removes the contract store. The directory is executord's, so it is looked at
// through a root that no link leads out of.
func (h *Host) purge() error {
	lost := func(err error) error {
		return errs.Wrap(err, errs.Unavailable, "the contract store could not be removed whole").WithNext("look into " + layout.StoreDir)
	}
	parent, err := os.OpenRoot(filepath.Join(h.Root, filepath.Dir(layout.StoreDir)))
	if err != nil {
		return lost(err)
	}
	defer func() { _ = parent.Close() }() // nothing was written through it
	if fi, err := parent.Lstat(filepath.Base(layout.StoreDir)); err != nil || !fi.IsDir() {
		return lost(errors.Join(err, errors.New("no directory")))
	}
	if err := parent.RemoveAll(filepath.Base(layout.StoreDir)); err != nil {
		return lost(err)
	}
	return nil
}
