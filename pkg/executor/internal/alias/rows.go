package alias

import (
	"encoding/json/jsontext"
	"encoding/json/v2"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

// row is one alias as it was read.
type row struct {
	near    change.Neighbour
	state   *change.AliasState // nil for what is no AliasState
	entries int                // addresses or details, whichever are more
}

// parseRows reads a whole list. One row without a position or a name, or one that
// has no canonical form, makes all of it unreadable: what cannot be compared could
// have changed.
func parseRows(data jsontext.Value) ([]row, error) {
	var raw []jsontext.Value
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if raw == nil || len(raw) >= maxRows {
		return nil, errShape
	}
	rows := make([]row, len(raw))
	for i, one := range raw {
		var err error
		if rows[i], err = parseRow(one); err != nil {
			return nil, err
		}
		// Positions are what the change is sent to: in order, and none twice.
		if i > 0 && rows[i].near.Locator <= rows[i-1].near.Locator {
			return nil, errShape
		}
	}
	return rows, nil
}

// parseRow reads one alias. Members are told apart byte for byte and none may
// stand twice: which of two the appliance means is not ours to guess.
func parseRow(raw jsontext.Value) (row, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return row{}, errShape
	}
	object := make(canon.Object, len(members))
	var r row
	for name, v := range members {
		value, n, err := member(v)
		if err != nil {
			return row{}, err
		}
		object[name] = value
		r.entries = max(r.entries, n)
	}
	var ok, named bool
	r.near.Locator, ok = object["id"].(int64)
	r.near.Name, named = object["name"].(string)
	if !ok || !named || r.near.Locator < 0 || r.near.Locator > change.MaxLocator {
		return row{}, errShape
	}
	if s, ok := stateOf(object); ok {
		if d, err := s.Fingerprint(); err == nil {
			r.state, r.near.Fingerprint = s, d
			return r, nil
		}
	}
	d, err := change.RawFingerprint(object)
	r.near.Fingerprint = d
	return r, err
}

// stateOf returns a row as an AliasState when it has exactly the members of one,
// each of its type. Whether the values keep the rules is for the fingerprint.
func stateOf(o canon.Object) (*change.AliasState, bool) {
	s := new(change.AliasState)
	for name, to := range map[string]*string{"name": &s.Name, "type": &s.Type, "descr": &s.Descr} {
		text, ok := o[name].(string)
		if !ok {
			return nil, false
		}
		*to = text
	}
	for name, to := range map[string]*[]string{"address": &s.Address, "detail": &s.Detail} {
		list, ok := o[name].(canon.Array)
		if !ok {
			return nil, false
		}
		*to = make([]string, len(list))
		for i, v := range list {
			if (*to)[i], ok = v.(string); !ok {
				return nil, false
			}
		}
	}
	return s, len(o) == 6 // these five and id
}

// maxList bounds the bytes of one list in its canonical form. A row with longer
// lists is still compared, by their digests.
const maxList = 256 << 10

// member reads one member of a row, and how many entries it has when it is a list.
func member(raw jsontext.Value) (v any, entries int, err error) {
	if raw.Kind() != '[' {
		v, err = canon.Decode(raw)
		return v, 0, err
	}
	var list []jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, 0, err
	}
	array, parts, size := make(canon.Array, len(list)), make([][]byte, len(list)), 0
	for i, one := range list {
		if array[i], err = canon.Decode(one); err != nil {
			return nil, 0, err
		}
		if parts[i], err = canon.Encode(array[i]); err != nil {
			return nil, 0, err
		}
		size += len(parts[i])
	}
	if len(list) <= MaxEntries && size <= maxList {
		return array, len(list), nil
	}
	// A canonical document holds no such list: blocklists of 50,000 addresses are
	// ordinary, and none of them may keep every other alias from being changed.
	return canon.Object{"entries": int64(len(list)), "sha256": canon.Hash(canon.Frames(parts...))}, len(list), nil
}
