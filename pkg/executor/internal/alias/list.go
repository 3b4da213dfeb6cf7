package alias

import (
	"slices"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
)

const (
	// maxRows is what is asked for. A list that fills it may have more behind it.
	maxRows = 500
	// MaxEntries bounds the addresses of an alias that may be changed: two copies
	// of it must fit a file that people sign.
	MaxEntries = 2000
)

// List is all aliases of one appliance at one moment.
type List struct {
	Appliance change.Appliance
	Target    string    // appliance_target_digest
	Began     time.Time // before the first byte was sent
	Ended     time.Time // after the last byte was read

	rows []row // ascending by position
}

// Found is one alias of a list.
type Found struct {
	State       change.AliasState
	Fingerprint string
	Locator     int64
	Collection  string // digest of all others
}

// Find returns the alias of that very name. Errors are of class target_unresolved
// (none or several have it, or what has it is no alias that may be changed) or
// target_too_large.
func (l *List) Find(name string) (Found, error) {
	at := -1
	for i := range l.rows {
		if l.rows[i].near.Name != name {
			continue
		}
		if at >= 0 {
			return Found{}, errs.New(errs.Conflict, "several aliases have this name").WithClass(classUnresolved).
				WithNext("rename or remove the duplicates on the appliance")
		}
		at = i
	}
	if at < 0 {
		return Found{}, errs.New(errs.NotFound, "no alias has this name").WithClass(classUnresolved)
	}
	r := &l.rows[at]
	switch {
	case r.entries > MaxEntries:
		return Found{}, errs.Newf(errs.Conflict, "the alias has more than %d entries", MaxEntries).WithClass(classTooLarge).
			WithNext("change its description on the appliance itself")
	case r.state == nil:
		return Found{}, errs.New(errs.Conflict, "the alias is of a type or form that this change does not cover").WithClass(classUnresolved).
			WithNext("only aliases of type host, network or port, with normalised texts and no more details than addresses, are changed")
	}
	others := make([]change.Neighbour, 0, len(l.rows)-1)
	for i := range l.rows {
		if i != at {
			others = append(others, l.rows[i].near)
		}
	}
	collection, err := change.CollectionDigest(others)
	if err != nil {
		return Found{}, unreadable(whatAliases)
	}
	state := *r.state // the list stays as it was read, whatever a caller does
	state.Address, state.Detail = slices.Clone(state.Address), slices.Clone(state.Detail)
	return Found{State: state, Fingerprint: r.near.Fingerprint, Locator: r.near.Locator, Collection: collection}, nil
}

// All returns the digest of all aliases.
func (l *List) All() (string, error) {
	all := make([]change.Neighbour, len(l.rows))
	for i := range l.rows {
		all[i] = l.rows[i].near
	}
	d, err := change.CollectionDigest(all)
	if err != nil {
		return "", unreadable(whatAliases)
	}
	return d, nil
}
