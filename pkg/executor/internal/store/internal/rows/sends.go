package rows

import (
	"pfsensemcp/pkg/executor/internal/store/internal/sent"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// look looks through all sends.
func (tx *Tx) look() (*sent.Known, error) {
	k := &sent.Known{}
	if err := tx.Raw(record.Sends, nil, func(key, v []byte) error {
		return k.Meet(key, Body(v), func() (*record.Send, error) {
			r := &record.Send{}
			return r, Read(tx.ring, r, key, v)
		})
	}); err != nil {
		return nil, err
	}
	return k, nil
}

// known returns what is known of the sends in this state of the store.
func (tx *Tx) known() (_ *sent.Known, err error) {
	if tx.sends == nil {
		tx.sends, err = tx.look()
	}
	return tx.sends, err
}

// wrote keeps what is known of the sends as they are after r.
func (tx *Tx) wrote(r *record.Send) (err error) {
	if tx.sends == nil {
		return nil // a founding, or it is looked up when it is asked for
	}
	next, ok := tx.sends.With(r)
	if !ok {
		next, err = tx.look()
	}
	tx.sends = next
	return err
}

// read reads rows that are known to be there.
func (tx *Tx) read(keys ...string) (all []*record.Send, err error) {
	for _, k := range keys {
		r, err := Get(tx, &record.Send{}, []byte(k))
		if err != nil {
			return nil, must(err)
		}
		all = append(all, r)
	}
	return all, nil
}

// Unanswered returns the sends without a complete answer.
func (tx *Tx) Unanswered() ([]*record.Send, error) {
	k, err := tx.known()
	if err != nil {
		return nil, err
	}
	return tx.read(k.Unanswered...)
}

// LooksDue returns the sends after which a look is due, now or later.
func (tx *Tx) LooksDue() ([]*record.Send, error) {
	k, err := tx.known()
	if err != nil {
		return nil, err
	}
	return tx.read(k.Due...)
}

// Newest returns the newest send after which two reads proved how things stood, nil for
// none.
func (tx *Tx) Newest() (*record.Send, error) {
	k, err := tx.known()
	if err != nil || k.Newest() == "" {
		return nil, err
	}
	all, err := tx.read(k.Newest())
	if err != nil {
		return nil, err
	}
	return all[0], nil
}
