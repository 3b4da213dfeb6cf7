// Package rows owns the store's transactions: rows with their MACs in bbolt
// buckets, the audit chain, the anchor row that binds both to a generation, and the
// one commit through which everything is written.
//
// Only the packages of the store import it. It must never return a row whose MAC or
// key is wrong, write after a commit whose outcome is unknown, or let a transaction
// end without the anchor row that belongs to it.
//
// The attacks it stops: a row that was changed, moved, swapped, doubled, removed or
// put back in an older version; an audit chain that was cut; and a crash between
// two facts that must not be apart.
package rows

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/place"
	"pfsensemcp/pkg/executor/internal/store/internal/seam"
	"pfsensemcp/pkg/executor/internal/store/internal/sent"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// PageSize is that of the store's file, whatever the machine's is. Audit rows are about
// a kilobyte: in small pages a quarter of the file would be empty.
const PageSize = 16 << 10

// lockTime bounds the wait for bbolt's own lock. Ours is held already, so only a
// program that knows nothing of ours can have it.
const lockTime = time.Second

// macSize is the length of the MAC before each row.
const macSize = 32

// DB is an open store file. Reads may run at the same time as one write.
type DB struct {
	bolt  *bbolt.DB
	seam  *seam.Seam
	clock moment.Clock
	// swap keeps a transaction, the ring it is read under and what is known of its
	// sends together.
	swap  sync.Mutex
	ring  *vault.Ring
	sends *sent.Known // nil until a write looked, and when nobody knows what the file holds
	// stop holds why nothing may be written any more.
	stop atomic.Pointer[errs.Error]
}

// Config is what a DB needs.
type Config struct {
	Ring     *vault.Ring
	Clock    moment.Clock
	Seam     *seam.Seam
	ReadOnly bool
}

// Open lets bbolt take over the file. A file that is not sound must not get here:
// see package pages.
func Open(f *os.File, c Config) (*DB, error) {
	given := false
	db := &DB{seam: c.Seam, clock: c.Clock, ring: c.Ring}
	err := guard(func() (err error) {
		db.bolt, err = bbolt.Open(f.Name(), 0o600, &bbolt.Options{
			Timeout: lockTime, PageSize: PageSize, ReadOnly: c.ReadOnly, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			NoSync: c.Seam != nil && c.Seam.NoSync, InitialMmapSize: mapped,
			// The file that was checked is the file that is used: bbolt opens nothing
			// by name, and so makes nothing either.
			OpenFile: func(string, int, os.FileMode) (*os.File, error) {
				if given {
					return nil, errors.New("the store's file is opened once")
				}
				given = true
				return f, nil
			},
		})
		return err
	})
	if err != nil {
		if !given {
			_ = f.Close() // nothing was written
		}
		return nil, errs.Wrap(err, errs.Unavailable, "the store cannot be opened").WithClass("store_open").
			WithNext("see whether another program has the file open; if the file is damaged, archive it")
	}
	db.bolt.AllocSize = growth
	return db, nil
}

// mapped is how much of the address space the file is given at once, in bytes; what is
// not there takes no memory. A file that outgrows its mapping is mapped anew, for which a
// commit waits until no read is under way, and every read waits for the commit.
const mapped = 512 << 20

// growth is by how much the file grows at a time, in bytes.
const growth = 256 << 10

// guard turns a panic or a memory fault inside bbolt into an error: it trusts its
// file, which may have been changed since it was checked.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = Damaged(fmt.Errorf("%v", p), "the file cannot be walked")
		}
	}()
	return f()
}

// Damaged returns the error of a store that is not what was written.
func Damaged(cause error, what string) *errs.Error {
	return errs.Wrap(cause, errs.Unavailable, "the store is damaged: "+what).WithClass(record.Class).
		WithNext("nothing is written any more; run executord verify, keep the file, and compare with the heads kept elsewhere (mcpctl audit verify)")
}

// IsDamage says whether err is about the store's content.
func IsDamage(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Class == record.Class
}

// Stop forbids every further write. The first reason stays.
func (db *DB) Stop(why *errs.Error) { db.stop.CompareAndSwap(nil, why) }

// Stopped returns why nothing may be written, nil when it may.
func (db *DB) Stopped() error {
	if e := db.stop.Load(); e != nil {
		return e
	}
	return nil
}

// note stops writing when what was read is damaged.
func (db *DB) note(err error) error {
	if IsDamage(err) {
		e, _ := errors.AsType[*errs.Error](err)
		db.Stop(Damaged(e, e.Msg))
	}
	return err
}

// View runs f over one state of the store. It never waits for a write.
func (db *DB) View(f func(*Tx) error) error {
	return db.note(guard(func() error {
		db.swap.Lock()
		b, err := db.bolt.Begin(false)
		ring, sends := db.ring, db.sends
		db.swap.Unlock()
		if err != nil {
			return errs.Wrap(err, errs.Unavailable, "the store cannot be read").WithClass("store_read")
		}
		defer func() { _ = b.Rollback() }() // ends a read
		return f(&Tx{bolt: b, ring: ring, sends: sends, Now: db.clock.Read()})
	}))
}

// Update runs f and commits what it did, all or nothing. When the outcome of the
// commit is not known, nothing is written any more until the store was opened
// again; a full disk is known to have changed nothing.
// A marked backup is refused.
func (db *DB) Update(f func(*Tx) error) error { return db.update(f, nil, false) }

// UpdateCopy is Update for what a marked backup takes too: its rebaseline, and the
// note of an export.
func (db *DB) UpdateCopy(f func(*Tx) error) error { return db.update(f, nil, true) }

// UpdateRing is Update for a transaction after which the store has other keys.
func (db *DB) UpdateRing(next *vault.Ring, f func(*Tx) error) error { return db.update(f, next, false) }

func (db *DB) update(f func(*Tx) error, next *vault.Ring, marked bool) error {
	if err := db.Stopped(); err != nil {
		return err
	}
	return db.note(guard(func() error {
		b, err := db.bolt.Begin(true)
		if err != nil {
			return errs.Wrap(err, errs.Unavailable, "the store cannot be written").WithClass("store_write")
		}
		done := false
		defer func() {
			if !done {
				_ = b.Rollback() // nothing was written
			}
		}()
		db.swap.Lock() // the former write has let the file go, not yet these
		ring, sends := db.ring, db.sends
		db.swap.Unlock()
		tx := &Tx{bolt: b, ring: ring, sends: sends, seam: db.seam, writing: true, Shown: db.clock.Read()}
		if err := tx.start(); err != nil {
			return err
		}
		if _, err := tx.known(); err != nil {
			return err
		}
		if !marked && tx.Has(record.Meta, []byte(record.CopyKey)) {
			return errs.New(errs.Conflict, "the store is a backup").WithClass(string(record.ReasonRestoredFromCopy)).
				WithNext("a backup forgets what came after it: have a rebaseline signed (mcpctl anchor status)")
		}
		if err := f(tx); err != nil {
			return err
		}
		if err := tx.finish(); err != nil {
			return err
		}
		if err := db.seam.Hit(seam.Commit); err != nil {
			return commitFailed(err)
		}
		done = true
		if err := db.commit(b, next, tx); err != nil {
			return err
		}
		return db.seam.Hit(seam.Committed)
	}))
}

// commit ends the transaction.
func (db *DB) commit(b *bbolt.Tx, next *vault.Ring, tx *Tx) error {
	db.swap.Lock()
	defer db.swap.Unlock()
	finished := false
	defer func() {
		if !finished { // a panic in the midst of writing: nobody knows what is on the disk
			db.Stop(unknownOutcome(nil))
			db.sends = nil
		}
	}()
	err := b.Commit()
	finished = true
	if err == nil {
		if next != nil {
			db.ring = next
		}
		db.sends = tx.sends
		return nil
	}
	if !place.Full(err) || db.visible(tx.anchor.Generation) {
		e := unknownOutcome(err)
		db.Stop(e)
		db.sends = nil
		return e
	}
	return commitFailed(err)
}

// visible says whether readers see the generation already.
func (db *DB) visible(generation int64) bool {
	b, err := db.bolt.Begin(false)
	if err != nil {
		return true
	}
	defer func() { _ = b.Rollback() }() // ends a read
	a, err := (&Tx{bolt: b, ring: db.ring}).Anchor()
	return err != nil || a.Generation >= generation
}

func commitFailed(cause error) error {
	if place.Full(cause) {
		return errs.Wrap(cause, errs.Exhausted, "the disk of the store is full").WithClass("disk_full").
			WithNext("make room on the file system of store_dir; nothing was changed")
	}
	return errs.Wrap(cause, errs.Unavailable, "the store could not be written").WithClass("store_write")
}

func unknownOutcome(cause error) *errs.Error {
	return errs.Wrap(cause, errs.UnknownOutcome, "writing the store failed half way").WithClass("store_write").
		WithNext("executord must be started again: only the file says what was written")
}

// Copy writes the file as one transaction sees it.
func (db *DB) Copy(f *os.File) error {
	return db.note(guard(func() error {
		b, err := db.bolt.Begin(false)
		if err != nil {
			return errs.Wrap(err, errs.Unavailable, "the store cannot be read").WithClass("store_read")
		}
		defer func() { _ = b.Rollback() }() // ends a read
		if _, err := b.WriteTo(f); err != nil {
			return commitFailed(err)
		}
		return nil
	}))
}

// Ring returns the present keys.
func (db *DB) Ring() *vault.Ring {
	db.swap.Lock()
	defer db.swap.Unlock()
	return db.ring
}

// Close closes the file. Reads in progress are waited for.
func (db *DB) Close() error {
	if err := db.bolt.Close(); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the store could not be closed").WithClass("store_write")
	}
	return nil
}

// modulus is 2^256, at which the sum over all rows starts again.
var modulus = new(big.Int).Lsh(big.NewInt(1), 256)
