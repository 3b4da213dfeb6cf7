package store

import (
	"os"
	"slices"
	"strings"
	"sync"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/attempts"
	"pfsensemcp/pkg/executor/internal/store/internal/check"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/pages"
	"pfsensemcp/pkg/executor/internal/store/internal/place"
	"pfsensemcp/pkg/executor/internal/store/internal/requests"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/settling"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Config says where the store is and under what it works.
type Config struct {
	Dir      string // absolute; mode 0700, nobody else's
	StoreID  string // begins with lab- exactly in a laboratory
	Lab      bool
	Key      Key
	KeyPaths []string // files of keys: none may lie below Dir
	Clock    Clock
	Limits   Limits
	Short    bool  // a test build: the landing window and the cooldown may be shorter than designed; for a laboratory alone
	Seam     *Seam // nil outside tests

	// Progress is told how far the verification at the opening is, and ends it with its
	// error; nil for nobody. It must not block.
	Progress func(text string) error
}

// Check refuses a configuration that no store can work under, and a directory that is
// not the store's alone. It opens no store, takes no lock and makes nothing.
func (c *Config) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	return place.Look(c.Dir, c.KeyPaths)
}

// Room refuses when there is no room for a change beside the store.
func (c *Config) Room() error { return place.Room(c.Dir) }

func (c *Config) check() error {
	rule := ""
	switch {
	case !change.Token(c.StoreID):
		rule = "store_id must be an identifier of 1 to 128 characters"
	case c.Lab != strings.HasPrefix(c.StoreID, change.LabPrefix):
		rule = "store_id must begin with lab- in a laboratory, and nowhere else"
	case !change.Token(c.Key.ID) || c.Key.Epoch < 1:
		rule = "the root key must have an id and an epoch from 1"
	case c.Clock == nil:
		rule = "there must be a clock"
	case c.Short && !c.Lab:
		rule = "a test build is for a laboratory alone"
	}
	if rule != "" {
		return errs.New(errs.Invalid, rule).WithClass("configuration").WithNext("see executord --help-config")
	}
	return c.Limits.Check(c.Short)
}

// Store is an open store. Its methods are safe for concurrent use; reads never wait
// for a write.
type Store struct {
	// The steps of the ceremony. Each is one transaction.
	requests.Requests
	attempts.Attempts
	settling.Settling

	db     *rows.DB
	dir    *place.Dir
	clock  Clock
	limits Limits
	start  Reading // when it was opened
	report Report

	busy   sync.RWMutex // held for reading by what needs directory and keys beside a transaction
	closed bool
}

// Seed is the counter that a new store is founded on.
type Seed struct {
	NVIndex, NVName string // 0x and 8 hex digits; 000b and 64
	Value           int64
}

// Create makes a new store, founded on a counter, and opens it (S7). It refuses
// where there is a file already, whatever is in it. A crash leaves either nothing or
// a whole store.
func Create(c Config, seed Seed) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	dir, err := place.Open(c.Dir, c.KeyPaths, c.Seam)
	if err != nil {
		return nil, err
	}
	err = dir.Space()
	if err == nil {
		err = dir.Found(func(f *os.File) error { return found(f, c, seed) })
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return open(dir, c)
}

// found writes a new store into an empty file.
func found(f *os.File, c Config, seed Seed) error {
	ring, err := vault.New(c.StoreID, c.Key)
	if err != nil {
		return err
	}
	defer ring.Zero()
	now := c.Clock.Read()
	db, err := rows.Open(f, rows.Config{Ring: ring, Clock: c.Clock, Seam: c.Seam})
	if err != nil {
		return err
	}
	a, clock := rows.NewStore(c.StoreID, seed.NVIndex, seed.NVName, seed.Value, now)
	err = db.Found(a, clock, func(tx *rows.Tx) error {
		if err := tx.Put(&record.Founding{StoreID: c.StoreID, KeyID: c.Key.ID, Epoch: c.Key.Epoch, CreatedAt: now.Wall}); err != nil {
			return err
		}
		return tx.Audit(record.Audit{Event: record.Startup, Actor: record.Executord, Reason: record.ReasonCreated}, nil)
	})
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return err
}

// Open opens the store and verifies all of it. A store whose rows are damaged opens
// for reading: Integrity says what is wrong, and every write is refused. One whose
// file cannot be trusted at all, or that is another store's or under another key,
// does not open. It never makes a file.
func Open(c Config) (*Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	dir, err := place.Open(c.Dir, c.KeyPaths, c.Seam)
	if err != nil {
		return nil, err
	}
	return open(dir, c)
}

// Exists says whether there is a store's file, without making or opening one.
func Exists(c Config) (bool, error) {
	dir, err := place.Open(c.Dir, c.KeyPaths, c.Seam)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	return dir.Exists(), nil
}

func open(dir *place.Dir, c Config) (*Store, error) {
	s := &Store{dir: dir, clock: c.Clock, limits: c.Limits, start: c.Clock.Read()}
	err := s.open(c, check.Pin{}, false)
	if err == nil || s.db != nil && s.report.Finding != nil && s.report.Finding.Class != check.Identity {
		return s, nil
	}
	s.Close()
	return nil, err
}

// open walks the file, hands it to bbolt and verifies every row.
func (s *Store) open(c Config, pin check.Pin, readOnly bool) error {
	f, err := s.dir.File(!readOnly)
	if err != nil {
		return err
	}
	found, err := sound(f, c.Progress)
	if err != nil {
		_ = f.Close() // nothing was written
		return err
	}
	ring, err := vault.New(c.StoreID, c.Key)
	if err != nil {
		_ = f.Close() // nothing was written
		return err
	}
	if s.db, err = rows.Open(f, rows.Config{Ring: ring, Clock: c.Clock, Seam: c.Seam, ReadOnly: readOnly}); err != nil {
		s.db = nil
		return err
	}
	core := &step.Core{DB: s.db, Dir: s.dir, Limits: s.limits, Start: s.start}
	s.Requests, s.Attempts, s.Settling = requests.New(core), attempts.New(core), settling.New(core)
	saw := counted(c.Progress, found.Rows)
	s.report, err = s.verify(pin, func(tx *rows.Tx) error { return unlock(tx, ring) }, saw)
	s.report.Fallback = found.Fallback
	if fd := s.report.Finding; fd != nil {
		if fd.Class == check.Identity {
			return errs.Wrap(fd, errs.Invalid, "the store belongs to another store_id or root key, or its first row is damaged").WithClass(record.Class).
				WithNext("give the store_id and root key that it was made or last rotated with; nothing was changed")
		}
		s.db.Stop(check.Error(fd))
		return check.Error(fd)
	}
	return err
}

// sound walks the pages of the file before bbolt trusts them.
func sound(f *os.File, tell func(string) error) (pages.Found, error) {
	st, err := f.Stat()
	if err != nil {
		return pages.Found{}, errs.Wrap(err, errs.Unavailable, "the store cannot be read").WithClass("store_read")
	}
	found, err := pages.Check(f, st.Size(), rows.PageSize, steps(tell, "pages", pagesBetween))
	if pages.IsDamage(err) {
		return found, rows.Damaged(err, check.Pages)
	}
	if err != nil {
		return found, errs.Wrap(err, errs.Unavailable, "the store cannot be read").WithClass("store_read")
	}
	var want []string
	for _, b := range record.Buckets() {
		want = append(want, string(b))
	}
	slices.Sort(want)
	if !slices.Equal(found.Buckets, want) {
		return found, rows.Damaged(nil, check.Buckets)
	}
	return found, nil
}

// unlock opens the audit keys of former epochs.
func unlock(tx *rows.Tx, ring *vault.Ring) error {
	return rows.Each(tx, nil, nil, func(o *record.OldKey) (bool, error) {
		key, err := tx.Open(o.KeyID, record.RoleAuditKey, o.Protected)
		if err == nil {
			ring.AddOld(o.KeyID, vault.Old{Epoch: o.Epoch, LastSeq: o.LastSeq, Key: key})
		}
		return err == nil, err
	})
}

// verify runs the whole verification over one state of the store.
func (s *Store) verify(pin check.Pin, first func(*rows.Tx) error, saw func() error) (r Report, err error) {
	err = s.db.View(func(tx *rows.Tx) error {
		if first != nil {
			if f, err := tx.Founding(); err == nil && (f.StoreID != tx.Ring().StoreID() || f.KeyID != tx.Ring().KeyID()) {
				r.Finding = &Finding{Class: check.Identity}
				return r.Finding
			}
			// What cannot be unlocked leaves rows that cannot be checked: the
			// verification says which.
			if err := first(tx); err != nil && !rows.IsDamage(err) {
				return err
			}
		}
		r, err = check.Run(tx, pin, saw)
		return err
	})
	if err != nil && r.Finding == nil && rows.IsDamage(err) {
		r.Finding = &Finding{Class: check.Row}
	}
	return r, err
}

// Integrity returns what is wrong with the store, nil when nothing is. It is found
// at the opening or by any later read.
func (s *Store) Integrity() error { return s.db.Stopped() }

// Report returns what the verification at the opening saw.
func (s *Store) Report() Report { return s.report }

// Verify verifies the store again, as it is now. Head is one kept elsewhere, hex; ""
// for none. What it finds stops every write.
func (s *Store) Verify(head string) (Report, error) {
	r, err := s.verify(check.Pin{Head: head}, nil, nil)
	if f := r.Finding; f != nil {
		e := check.Error(f)
		if f.Class != check.Pinned {
			s.db.Stop(e)
		}
		return r, e
	}
	return r, err
}

// CheckClock says what the clocks show against what the store remembers.
func (s *Store) CheckClock() (f ClockFinding, err error) {
	err = s.db.View(func(tx *rows.Tx) error {
		c, err := tx.Clock()
		if err == nil {
			f = moment.Judge(tx.Now, *c)
		}
		return err
	})
	return f, err
}

// Close closes the store and lets it be opened by others. Keys are cleared.
func (s *Store) Close() error {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.closed = true
	var err error
	if s.db != nil {
		err = s.db.Close()
		s.db.Ring().Zero()
	}
	s.dir.Close()
	return err
}
