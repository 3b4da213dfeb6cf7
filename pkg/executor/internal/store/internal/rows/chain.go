package rows

import (
	"math/big"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Anchor returns the anchor row. Writing, it is the transaction's own, and what is
// changed in it is written at the end.
func (tx *Tx) Anchor() (*record.Anchor, error) {
	if tx.writing {
		return tx.anchor, nil
	}
	a, err := Get(tx, &record.Anchor{}, []byte(record.AnchorKey))
	return a, must(err)
}

// Clock returns what the store remembers of time; writing, the row that is written
// at the end.
func (tx *Tx) Clock() (*record.Clock, error) {
	if tx.writing {
		return tx.clock, nil
	}
	c, err := Get(tx, &record.Clock{}, []byte(record.ClockKey))
	return c, must(err)
}

// Believe takes the clocks as they are: an owner has signed under them.
func (tx *Tx) Believe() { tx.Now = tx.Shown }

// SetHighTime lowers or raises the highest time, for a rebaseline that says so.
func (tx *Tx) SetHighTime() {
	*tx.clock = record.Clock{HighTime: tx.Now.Wall, Wall: tx.Now.Wall, BootID: tx.Now.BootID, BootMS: tx.Now.BootMS}
}

// Founding returns which store this is.
func (tx *Tx) Founding() (*record.Founding, error) {
	f, err := Get(tx, &record.Founding{}, []byte(record.StoreKey))
	return f, must(err)
}

// Audit adds a row to the chain. The caller says what happened; position, link,
// store, time, counter and key are the transaction's. Of is the row, as it stands
// now, whose digest the event carries.
func (tx *Tx) Audit(a record.Audit, of record.Record) error {
	if err := tx.seam.Hit(seam.Audit); err != nil {
		return err
	}
	if of != nil {
		d, err := record.Digest(of)
		if err != nil {
			return err
		}
		a.RecordDigest = d
	}
	if covers := a.Event.Covers(); (of == nil) != (covers == "") || of != nil && of.Bucket() != covers {
		return errs.New(errs.Internal, "an audit row is not about the row that it should be").WithClass("audit")
	}
	a.Seq, a.Prev, a.StoreID = tx.seq+1, tx.anchor.AuditHead, tx.ring.StoreID()
	a.At, a.AnchorValue, a.KeyID = tx.Now.Wall, tx.anchor.Value, tx.ring.KeyID()
	_, b, err := record.Encode(&a)
	if err != nil {
		return err
	}
	mac, err := tx.ring.AuditMAC(b)
	if err != nil {
		return errs.Wrap(err, errs.Internal, "an audit row has no MAC").WithClass("store_write")
	}
	if err := tx.store(record.AuditLog, a.Key(), append(mac, b...)); err != nil {
		return err
	}
	tx.seq, tx.anchor.AuditHead = a.Seq, vault.Hex(mac)
	return nil
}

// Seq returns the number of the last audit row.
func (tx *Tx) Seq() int64 {
	if tx.writing {
		return tx.seq
	}
	k, _ := tx.bucket(record.AuditLog).Cursor().Last()
	return int64(beUint(k))
}

// AuditRow returns one row of the chain with its MAC, checked on its own.
func (tx *Tx) AuditRow(seq int64) (*record.Audit, []byte, error) {
	v := tx.bucket(record.AuditLog).Get(record.SeqKey(seq))
	if v == nil {
		return nil, nil, errs.New(errs.NotFound, "there is no such audit row").WithClass("not_found")
	}
	a, err := ReadAudit(tx.ring, record.SeqKey(seq), v)
	if err != nil {
		return nil, nil, err
	}
	return a, append([]byte(nil), v[:macSize]...), nil
}

// ReadAudit checks and decodes one stored audit row.
func ReadAudit(ring *vault.Ring, key, value []byte) (*record.Audit, error) {
	if len(value) <= macSize {
		return nil, Damaged(nil, "an audit row is cut")
	}
	a := &record.Audit{}
	if err := record.Decode(value[macSize:], a); err != nil {
		return nil, err
	}
	if !ring.CheckAudit(value[:macSize], a.KeyID, a.Seq, value[macSize:]) || string(a.Key()) != string(key) || a.StoreID != ring.StoreID() {
		return nil, Damaged(nil, "an audit row has a wrong MAC")
	}
	return a, nil
}

// MAC returns the MAC at the beginning of a stored value.
func MAC(value []byte) string { return vault.Hex(value[:min(macSize, len(value))]) }

// Body returns the canonical bytes of a stored value.
func Body(value []byte) []byte { return value[min(macSize, len(value)):] }

// sealedKey is where a member of an owner stands.
func sealedKey(owner, role string) []byte { return []byte(owner + "/" + role) }

// Seal stores a member of an owner encrypted and returns what its row holds.
func (tx *Tx) Seal(owner, role string, plain []byte) (record.Sealed, error) {
	s, b, err := tx.ring.Seal(owner, role, plain)
	if err != nil {
		return s, err
	}
	return s, tx.store(record.SealedBytes, sealedKey(owner, role), b)
}

// Open decrypts a member of an owner.
func (tx *Tx) Open(owner, role string, s record.Sealed) ([]byte, error) {
	return tx.ring.Open(owner, role, s, tx.Sealed(owner, role))
}

// Sealed returns a member of an owner as it is stored, nil for none. It is valid for
// the life of the transaction.
func (tx *Tx) Sealed(owner, role string) []byte {
	return tx.bucket(record.SealedBytes).Get(sealedKey(owner, role))
}

// Unseal removes a member.
func (tx *Tx) Unseal(owner, role string) error {
	return tx.Delete(record.SealedBytes, sealedKey(owner, role))
}

// NewStore returns the first anchor and clock of a store.
func NewStore(storeID, nvIndex, nvName string, value int64, now moment.Reading) (record.Anchor, record.Clock) {
	return record.Anchor{StoreID: storeID, NVIndex: nvIndex, NVName: nvName, Value: value, AuditHead: canon.AuditGenesis(storeID)},
		record.Clock{HighTime: now.Wall, Wall: now.Wall, BootID: now.BootID, BootMS: now.BootMS}
}

// Rotate writes every row again under the next keys. Change is called for each row
// and may replace members that are sealed under the former ones; after it the
// transaction writes under the next keys alone.
func (tx *Tx) Rotate(next *vault.Ring, change func(r record.Record) error) (rows int64, err error) {
	former := tx.ring
	tx.sum, tx.count = new(big.Int), 0
	for _, b := range record.Buckets() {
		if b == record.AuditLog || b == record.SealedBytes {
			continue
		}
		var all []record.Record
		if err := tx.Raw(b, nil, func(k, v []byte) error {
			if b == record.Meta && string(k) == record.RowsKey || b == record.Anchors && string(k) == record.AnchorKey {
				return nil // written at the end
			}
			r := record.Blank(b, string(k))
			if r == nil {
				return Damaged(nil, "a row of "+string(b)+" is of no known kind")
			}
			if err := Read(former, r, k, v); err != nil {
				return err
			}
			all = append(all, r)
			return nil
		}); err != nil {
			return 0, err
		}
		for _, r := range all {
			if err := change(r); err != nil {
				return 0, err
			}
			tx.ring = next
			err := tx.rewrite(r)
			tx.ring = former
			if err != nil {
				return 0, err
			}
			rows++
		}
	}
	tx.ring = next
	return rows, nil
}

// rewrite puts a row without taking its former self out of the sum, which began
// anew.
func (tx *Tx) rewrite(r record.Record) error {
	if err := tx.bucket(r.Bucket()).Delete(r.Key()); err != nil {
		return errs.Wrap(err, errs.Unavailable, "a row could not be written").WithClass("store_write")
	}
	return tx.write(r)
}

// Reseal stores a member again under the next keys.
func (tx *Tx) Reseal(next *vault.Ring, owner, role string, s record.Sealed) (record.Sealed, error) {
	plain, err := tx.Open(owner, role, s)
	if err != nil {
		return s, err
	}
	defer clear(plain)
	sealed, b, err := next.Seal(owner, role, plain)
	if err != nil {
		return s, err
	}
	if err := tx.bucket(record.SealedBytes).Delete(sealedKey(owner, role)); err != nil {
		return s, errs.Wrap(err, errs.Unavailable, "a row could not be written").WithClass("store_write")
	}
	former := tx.ring
	tx.ring = next
	defer func() { tx.ring = former }()
	return sealed, tx.store(record.SealedBytes, sealedKey(owner, role), b)
}
