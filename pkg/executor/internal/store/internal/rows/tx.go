package rows

import (
	"bytes"
	"encoding/hex"
	"math/big"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
	"pfsensemcp/pkg/executor/internal/store/internal/sent"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Tx is one transaction. It is used by one goroutine and dies with its function.
type Tx struct {
	bolt    *bbolt.Tx
	ring    *vault.Ring
	seam    *seam.Seam
	writing bool
	Now     moment.Reading // of what is written: a jump is not in it
	Shown   moment.Reading // as the clocks show it

	anchor *record.Anchor
	clock  *record.Clock
	sum    *big.Int
	count  int64
	seq    int64
	plain  bool        // a founding: there is nothing to start from
	sends  *sent.Known // of this state of the store, nil until it is asked for
}

// Ring returns the keys of the transaction.
func (tx *Tx) Ring() *vault.Ring { return tx.ring }

// Found makes the buckets of a new store and starts its history.
func (tx *Tx) found(a *record.Anchor, c *record.Clock) error {
	for _, b := range record.Buckets() {
		if _, err := tx.bolt.CreateBucket([]byte(b)); err != nil {
			return errs.Wrap(err, errs.Unavailable, "a new store could not be written").WithClass("store_write")
		}
	}
	tx.anchor, tx.clock, tx.sum = a, c, new(big.Int)
	return nil
}

// Found writes a new store: the rows of f, in one transaction.
func (db *DB) Found(a record.Anchor, c record.Clock, f func(*Tx) error) error {
	return guard(func() error {
		err := db.bolt.Update(func(b *bbolt.Tx) error {
			now := db.clock.Read()
			tx := &Tx{bolt: b, ring: db.ring, seam: db.seam, writing: true, plain: true, Now: now, Shown: now}
			if err := tx.found(&a, &c); err != nil {
				return err
			}
			if err := f(tx); err != nil {
				return err
			}
			return tx.finish()
		})
		if err != nil && errs.CodeOf(err) == errs.Internal {
			return commitFailed(err)
		}
		return err
	})
}

// start reads what every transaction continues.
func (tx *Tx) start() (err error) {
	if err := tx.seam.Hit(seam.Begin); err != nil {
		return err
	}
	if tx.anchor, err = Get(tx, &record.Anchor{}, []byte(record.AnchorKey)); err != nil {
		return must(err)
	}
	if tx.clock, err = Get(tx, &record.Clock{}, []byte(record.ClockKey)); err != nil {
		return must(err)
	}
	r, err := Get(tx, &record.Rows{}, []byte(record.RowsKey))
	if err != nil {
		return must(err)
	}
	sum, ok := new(big.Int).SetString(r.Sum, 16)
	if !ok || r.Generation != tx.anchor.Generation {
		return Damaged(nil, "the rows are not those of the anchor's generation")
	}
	tx.sum, tx.count = sum, r.Count
	tx.Now = moment.Steady(tx.Shown, *tx.clock)
	k, v := tx.bucket(record.AuditLog).Cursor().Last()
	switch {
	case k == nil && tx.anchor.AuditHead == canon.AuditGenesis(tx.ring.StoreID()):
	case len(k) == 8 && len(v) > macSize && vault.Hex(v[:macSize]) == tx.anchor.AuditHead:
		tx.seq = int64(beUint(k))
	default:
		return Damaged(nil, "the last audit row is not the anchor's")
	}
	return nil
}

// must makes the absence of a row that every store has a damage.
func must(err error) error {
	if errs.CodeOf(err) == errs.NotFound {
		return Damaged(err, "a row that every store has is missing")
	}
	return err
}

// finish writes the rows that end every transaction. The anchor is the last.
func (tx *Tx) finish() error {
	tx.anchor.Generation++
	c := moment.Advance(tx.Shown, *tx.clock)
	if err := tx.Put(&c); err != nil {
		return err
	}
	if err := tx.write(&record.Rows{Generation: tx.anchor.Generation, Count: tx.count, Sum: hex.EncodeToString(tx.sum.FillBytes(make([]byte, 32)))}); err != nil {
		return err
	}
	if err := tx.seam.Hit(seam.Anchor); err != nil {
		return err
	}
	return tx.write(tx.anchor)
}

func (tx *Tx) bucket(b record.Bucket) *bbolt.Bucket {
	k := tx.bolt.Bucket([]byte(b))
	if k == nil {
		panic("the bucket " + string(b) + " is missing") // a damaged file: guard makes it an error
	}
	return k
}

// summed says whether a row is part of the sum over all rows: all but those that
// the sum, the chain or the anchor stand for themselves.
func summed(b record.Bucket, key []byte) bool {
	switch b {
	case record.AuditLog:
		return false
	case record.Anchors:
		return string(key) != record.AnchorKey
	case record.Meta:
		return string(key) != record.RowsKey
	}
	return true
}

// account takes one row out of the sum, or puts it in.
func (tx *Tx) account(b record.Bucket, key, value []byte, sign int) error {
	if !summed(b, key) {
		return nil
	}
	t, err := Term(tx.ring, b, key, value)
	if err != nil {
		return err
	}
	if sign < 0 {
		tx.sum.Sub(tx.sum, t)
	} else {
		tx.sum.Add(tx.sum, t)
	}
	tx.sum.Mod(tx.sum, modulus)
	tx.count += int64(sign)
	return nil
}

// Term returns what a stored value adds to the sum.
func Term(r *vault.Ring, b record.Bucket, key, value []byte) (*big.Int, error) {
	mac := value
	if b == record.SealedBytes {
		mac = []byte(canon.Hash(value))
	} else if len(mac) > macSize {
		mac = mac[:macSize]
	}
	t, err := r.Term(b, key, mac)
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "a row cannot be counted").WithClass("store_write")
	}
	return new(big.Int).SetBytes(t), nil
}

// store replaces one value and keeps the sum.
func (tx *Tx) store(b record.Bucket, key, value []byte) error {
	if err := tx.seam.Hit(seam.Point("put " + string(b))); err != nil {
		return err
	}
	k := tx.bucket(b)
	if old := k.Get(key); old != nil {
		if err := tx.account(b, key, old, -1); err != nil {
			return err
		}
	}
	if err := tx.account(b, key, value, 1); err != nil {
		return err
	}
	if b == record.AuditLog {
		k.FillPercent = 1 // rows are only ever added behind the last
	}
	if err := k.Put(key, value); err != nil {
		return errs.Wrap(err, errs.Unavailable, "a row could not be written").WithClass("store_write")
	}
	return nil
}

// write puts a row under its MAC.
func (tx *Tx) write(r record.Record) error {
	_, b, err := record.Encode(r)
	if err != nil {
		return err
	}
	mac, err := tx.ring.MAC(r.Bucket(), string(r.Key()), b)
	if err != nil {
		return errs.Wrap(err, errs.Internal, "a row has no MAC").WithClass("store_write")
	}
	if err := tx.store(r.Bucket(), r.Key(), append(mac, b...)); err != nil {
		return err
	}
	if s, ok := r.(*record.Send); ok {
		return tx.wrote(s)
	}
	return nil
}

// Put writes a row, in the place of a former one of its key.
func (tx *Tx) Put(r record.Record) error { return tx.write(r) }

// Has says whether something stands under a key, good or bad.
func (tx *Tx) Has(b record.Bucket, key []byte) bool { return tx.bucket(b).Get(key) != nil }

// Insert writes a row whose key must be free. What stands there already, even if it
// cannot be read, keeps its place: a consumed artifact stays consumed.
func (tx *Tx) Insert(r record.Record) error {
	if tx.Has(r.Bucket(), r.Key()) {
		return errs.New(errs.Conflict, "there is such a row already").WithClass("conflict")
	}
	return tx.write(r)
}

// Delete removes a row.
func (tx *Tx) Delete(b record.Bucket, key []byte) error {
	if err := tx.seam.Hit(seam.Point("delete " + string(b))); err != nil {
		return err
	}
	k := tx.bucket(b)
	old := k.Get(key)
	if old == nil {
		return nil
	}
	if err := tx.account(b, key, old, -1); err != nil {
		return err
	}
	if err := k.Delete(key); err != nil {
		return errs.Wrap(err, errs.Unavailable, "a row could not be removed").WithClass("store_write")
	}
	if b == record.Sends {
		tx.sends = nil // no step removes one
	}
	return nil
}

// Get reads the row under a key into r. An absent one is NotFound.
func Get[R record.Record](tx *Tx, r R, key []byte) (R, error) {
	var none R
	v := tx.bucket(r.Bucket()).Get(key)
	if v == nil {
		return none, errs.New(errs.NotFound, "there is no such row in "+string(r.Bucket())).WithClass("not_found")
	}
	if err := Read(tx.ring, r, key, v); err != nil {
		return none, err
	}
	return r, nil
}

// Read checks and decodes one stored value.
func Read(ring *vault.Ring, r record.Record, key, value []byte) error {
	if len(value) <= macSize || !ring.Check(value[:macSize], r.Bucket(), string(key), value[macSize:]) {
		return Damaged(nil, "a row of "+string(r.Bucket())+" has a wrong MAC")
	}
	if err := record.Decode(value[macSize:], r); err != nil {
		return err
	}
	if !bytes.Equal(r.Key(), key) {
		return Damaged(nil, "a row of "+string(r.Bucket())+" stands under another's key")
	}
	return nil
}

// Each runs f over the rows whose keys begin with prefix, in their order, until it
// says no. With has, rows that do not contain these bytes are passed over unread.
func Each[R any, P interface {
	*R
	record.Record
}](tx *Tx, prefix, has []byte, f func(P) (more bool, err error)) error {
	b := P(new(R)).Bucket()
	c := tx.bucket(b).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if has != nil && !bytes.Contains(v, has) {
			continue
		}
		r := P(new(R))
		if err := Read(tx.ring, r, k, v); err != nil {
			return err
		}
		if more, err := f(r); err != nil || !more {
			return err
		}
	}
	return nil
}

// Raw runs f over every key and value of a bucket.
func (tx *Tx) Raw(b record.Bucket, prefix []byte, f func(k, v []byte) error) error {
	c := tx.bucket(b).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

// From runs f over the keys and values of a bucket from start on, until it says no.
func (tx *Tx) From(b record.Bucket, start []byte, f func(k, v []byte) (more bool, err error)) error {
	c := tx.bucket(b).Cursor()
	for k, v := c.Seek(start); k != nil; k, v = c.Next() {
		if more, err := f(k, v); err != nil || !more {
			return err
		}
	}
	return nil
}

func beUint(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}
