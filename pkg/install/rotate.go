package install

import (
	"context"
	"errors"
	"path/filepath"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/place"
)

// Rotation is one key that is replaced.
type Rotation struct {
	Write   bool   // executord's key, else mcpd's
	KeyFile string // with the new key
	// Works says whether the daemon is back and its key is taken by the appliance; its
	// error is what is shown. It is asked once after the restart.
	Works func(context.Context) error
}

// Rotate replaces a key that is a credential of a unit: a bad file is refused before
// anything is touched; else it goes in the place of the old one and the unit starts
// anew. When it does not work then, the old one is put back, and the error says so.
func (h *Host) Rotate(ctx context.Context, r Rotation) error {
	path, sealed, name, unit, err := h.rotating(r.Write)
	if err != nil {
		return err
	}
	if !h.Booted() {
		return errs.New(errs.Unavailable, "systemd does not run this host: the key was not touched").WithClass("systemd").
			WithNext("with mcpctl run: replace the key's file, then mcpctl rotate-key --reload")
	}
	next, err := keyLine(r.KeyFile, "--key-file")
	if err != nil {
		return err
	}
	defer clear(next)
	data := next
	if sealed {
		if data, err = h.encrypt(ctx, name, next); err != nil {
			return err
		}
	}
	old, err := h.tree().Swap(place.File{Path: path, Mode: 0o600, Data: data, Secret: true})
	defer clear(old)
	if err != nil {
		return err
	}
	failure := h.forgive(ctx)
	if failure == nil {
		failure = h.systemctl(ctx, "restart", unit)
	}
	if failure == nil {
		failure = r.Works(ctx)
	}
	if failure == nil {
		return nil
	}
	// The person may have interrupted: what was begun is undone all the same.
	ctx = context.WithoutCancel(ctx)
	_, back := h.tree().Swap(place.File{Path: path, Mode: 0o600, Data: old, Secret: true})
	if back == nil {
		back = h.forgive(ctx)
	}
	if back == nil {
		back = h.systemctl(ctx, "restart", unit)
	}
	if back != nil {
		return errs.Wrap(errors.Join(failure, back), errs.Unavailable, "the new key does not work, and the old one could not be put back").
			WithNext("put a good key into " + path + " (mode 600, root) and systemctl restart " + unit)
	}
	p := errs.Public(failure)
	return errs.Wrap(failure, errs.Denied, "the new key does not work and the old one is back: "+p.Msg).WithClass(p.Class).WithNext(p.Next)
}

// rotating says where a key lies and who reads it.
func (h *Host) rotating(write bool) (path string, sealed bool, name, unit string, err error) {
	name, unit = "read-api-key", "pfsense-mcpd.service"
	places := []string{layout.ReadKey, layout.SealedReadKey}
	if write {
		c := layout.Credential{Name: layout.WriteAPIKey}
		name, unit = c.Name, "pfsense-executord.service"
		places = []string{c.Path(false), c.Path(true)}
	}
	switch plain, enc := h.exists(places[0]), h.exists(places[1]); {
	case plain && enc:
		return "", false, "", "", refuse("the key lies both in "+places[0]+" and in "+places[1], "remove the one that the unit does not load")
	case enc:
		return places[1], true, name, unit, nil
	case plain:
		return places[0], false, name, unit, nil
	}
	return "", false, "", "", refuse("the key is not where mcpctl setup puts it: "+filepath.Dir(places[0]),
		"a key at a path of your own: replace the file, then mcpctl rotate-key --reload")
}
