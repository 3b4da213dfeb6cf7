package store_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// file is where the store's bytes are.
func (f *fix) file() string { return filepath.Join(f.c.Dir, "store.db") }

// image returns the bytes of the closed store.
func (f *fix) image() []byte {
	f.t.Helper()
	b, err := os.ReadFile(f.file())
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// put replaces the bytes.
func (f *fix) put(b []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.file(), b, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// edit changes the closed store with bbolt alone, as somebody without a key can.
func (f *fix) edit(do func(*bbolt.Tx) error) {
	f.t.Helper()
	db, err := bbolt.Open(f.file(), 0o600, &bbolt.Options{Timeout: time.Second, NoSync: true})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := db.Update(do); err != nil {
		f.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// damaged says whether the store at the place is known to be damaged, and that it
// then takes no write.
func (f *fix) damaged() (string, bool) {
	f.t.Helper()
	s, err := store.Open(f.c)
	if err != nil {
		return class(err), class(err) == record.Class
	}
	defer func() { _ = s.Close() }()
	bad := s.Integrity()
	if bad == nil {
		return "", false
	}
	if werr := s.Note(record.Startup, ""); class(werr) != record.Class {
		f.t.Errorf("a damaged store took a write: %v", werr)
	}
	return s.Report().Finding.Class, true
}

// full is a closed store with something in every bucket.
func full(t *testing.T) *fix {
	t.Helper()
	f := setup(t)
	must[record.Contract](t)(f.Verified("one", "new"))
	c := must[record.Contract](t)(f.Sent("two", "new"))
	c = must[record.Contract](t)(f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}))
	must[string](t)(f.Observe(c, artifact.MatchNeither))
	f.Clock.Pass(20 * time.Minute)
	must[record.Contract](t)(f.Authorize("three", "new"))
	must[int64](t)(f.S.Rotate(storetest.Root(2), storetest.By))
	f.c.Key = storetest.Root(2)
	must[record.Request](t)(f.Request("four", "new"))
	if _, err := f.S.Export(&bytes.Buffer{}, 1, attest(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: storetest.By, Reason: "g2_signature"}); err != nil {
		t.Fatal(err)
	}
	f.sound()
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// each calls do with every bucket, key and value.
func (f *fix) each(do func(bucket string, k, v []byte)) {
	f.t.Helper()
	db, err := bbolt.Open(f.file(), 0o600, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				do(string(name), bytes.Clone(k), bytes.Clone(v))
				return nil
			})
		})
	}); err != nil {
		f.t.Fatal(err)
	}
}

type row struct {
	bucket string
	k, v   []byte
}

func (f *fix) all() (all []row) {
	f.each(func(b string, k, v []byte) { all = append(all, row{b, k, v}) })
	return all
}

func TestT1AFlippedByteOfEveryClassInEveryBucketIsDetected(t *testing.T) {
	f := full(t)
	good := f.image()
	met := map[string]int{}
	for _, r := range f.all() {
		if met[r.bucket]++; met[r.bucket] > 4 {
			continue // a few rows of each bucket are enough
		}
		// MAC, the first byte of the row, its midst, its last byte; of sealed bytes
		// nonce, ciphertext and tag.
		for _, at := range []int{0, 31, 32, len(r.v) / 2, len(r.v) - 1} {
			f.put(good)
			f.edit(func(tx *bbolt.Tx) error {
				v := bytes.Clone(r.v)
				v[min(at, len(v)-1)] ^= 1
				return tx.Bucket([]byte(r.bucket)).Put(r.k, v)
			})
			if _, bad := f.damaged(); !bad {
				t.Errorf("%s: byte %d of %q was changed unseen", r.bucket, at, r.k)
			}
		}
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(r.bucket))
			k := bytes.Clone(r.k)
			k[len(k)-1] ^= 1
			if err := b.Delete(r.k); err != nil {
				return err
			}
			return b.Put(k, r.v)
		})
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s: the key %q was changed unseen", r.bucket, r.k)
		}
	}
	for _, b := range record.Buckets() {
		if met[string(b)] == 0 && b != record.Exports {
			t.Errorf("nothing of %s was tried", b)
		}
	}
	f.put(good)
	if c, bad := f.damaged(); bad {
		t.Fatalf("the untouched store is damaged: %s", c)
	}
}

func TestT2ARemovedOrDoubledRowOfEveryBucketIsDetected(t *testing.T) {
	f := full(t)
	good := f.image()
	met := map[string]int{}
	for _, r := range f.all() {
		if met[r.bucket]++; met[r.bucket] > 6 {
			continue
		}
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(r.bucket)).Delete(r.k) })
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s: the row %q was removed unseen", r.bucket, r.k)
		}
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(r.bucket)).Put(append(bytes.Clone(r.k), 'x'), r.v) })
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s: a copy of %q was added unseen", r.bucket, r.k)
		}
	}
}

func TestT2AnOlderVersionOfEveryRowIsDetectedAlthoughItsMACIsGood(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	old := map[string]row{}
	for _, r := range f.all() {
		old[r.bucket+"/"+string(r.k)] = r
	}
	f.S = must[*store.Store](t)(store.Open(f.c))
	c = must[record.Contract](t)(f.Confirm(c))
	c = must[record.Contract](t)(f.S.BeginExecution(c.At(), f.Witness))
	if err := f.Advance(c); err != nil {
		t.Fatal(err)
	}
	must[record.Request](t)(f.Request("two", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	good, tried := f.image(), map[string]bool{}
	for _, r := range f.all() {
		was, ok := old[r.bucket+"/"+string(r.k)]
		if !ok || bytes.Equal(was.v, r.v) {
			continue
		}
		tried[r.bucket] = true
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(r.bucket)).Put(was.k, was.v) })
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s: %q was put back to its former version unseen", r.bucket, r.k)
		}
	}
	for _, b := range []record.Bucket{record.Contracts, record.Anchors, record.Meta, record.Results} {
		if !tried[string(b)] {
			t.Errorf("nothing of %s had a former version", b)
		}
	}
}

func TestT2ACutReorderedOrSplicedChainIsDetected(t *testing.T) {
	f := full(t)
	good := f.image()
	var chain []row
	for _, r := range f.all() {
		if r.bucket == "audit" {
			chain = append(chain, r)
		}
	}
	n := len(chain)
	other := setup(t)
	other.c.StoreID = "prod-write-store-2"
	if err := other.S.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(other.file()); err != nil {
		t.Fatal(err)
	}
	other.S = storetest.Create(t, other.c)
	if err := other.S.Close(); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func(b *bbolt.Bucket) error{
		"the last row is gone":  func(b *bbolt.Bucket) error { return b.Delete(chain[n-1].k) },
		"a row is gone":         func(b *bbolt.Bucket) error { return b.Delete(chain[n/2].k) },
		"the first row is gone": func(b *bbolt.Bucket) error { return b.Delete(chain[0].k) },
		"two rows are swapped": func(b *bbolt.Bucket) error {
			return errors.Join(b.Put(chain[3].k, chain[4].v), b.Put(chain[4].k, chain[3].v))
		},
		"a row is doubled": func(b *bbolt.Bucket) error { return b.Put(chain[5].k, chain[4].v) },
		"a row is added":   func(b *bbolt.Bucket) error { return b.Put(record.SeqKey(int64(n+1)), chain[n-1].v) },
		"a row of another store": func(b *bbolt.Bucket) error {
			return b.Put(chain[0].k, other.all()[slices.IndexFunc(other.all(), func(r row) bool { return r.bucket == "audit" })].v)
		},
		"all rows are gone": func(b *bbolt.Bucket) error {
			var err error
			for _, r := range chain {
				err = errors.Join(err, b.Delete(r.k))
			}
			return err
		},
	} {
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return do(tx.Bucket([]byte("audit"))) })
		if c, bad := f.damaged(); !bad || !strings.HasPrefix(c, "chain_") {
			t.Errorf("%s: %q", what, c)
		}
	}
}

func TestT2RowsOfOtherBucketsStoresAndKeysAreDetected(t *testing.T) {
	f := full(t)
	good, rows := f.image(), f.all()
	first := map[string]row{}
	for _, r := range rows {
		if _, ok := first[r.bucket]; !ok {
			first[r.bucket] = r
		}
	}
	// Every row into every other bucket, under its key and under a key of that one.
	for _, from := range first {
		for into, like := range first {
			if into == from.bucket {
				continue
			}
			for _, k := range [][]byte{from.k, like.k} {
				f.put(good)
				f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(into)).Put(k, from.v) })
				if _, bad := f.damaged(); !bad {
					t.Errorf("a row of %s in %s is not seen", from.bucket, into)
				}
			}
		}
	}
	// Two rows of one bucket swapped.
	for _, b := range record.Buckets() {
		var two []row
		for _, r := range rows {
			if r.bucket == string(b) {
				two = append(two, r)
			}
		}
		if len(two) < 2 {
			continue
		}
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error {
			k := tx.Bucket([]byte(b))
			return errors.Join(k.Put(two[0].k, two[1].v), k.Put(two[1].k, two[0].v))
		})
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s: two rows were swapped unseen", b)
		}
	}
	// A whole bucket of an earlier time of the same store.
	f.put(good)
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[record.Request](t)(f.Request("five", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	later := f.image()
	for _, b := range record.Buckets() {
		var was []row
		for _, r := range rows {
			if r.bucket == string(b) {
				was = append(was, r)
			}
		}
		f.put(later)
		var now []row
		for _, r := range f.all() {
			if r.bucket == string(b) {
				now = append(now, r)
			}
		}
		if slices.EqualFunc(was, now, func(a, b row) bool { return bytes.Equal(a.k, b.k) && bytes.Equal(a.v, b.v) }) {
			continue
		}
		f.edit(func(tx *bbolt.Tx) error {
			if err := tx.DeleteBucket([]byte(b)); err != nil {
				return err
			}
			k, err := tx.CreateBucket([]byte(b))
			for _, r := range was {
				err = errors.Join(err, k.Put(r.k, r.v))
			}
			return err
		})
		if _, bad := f.damaged(); !bad {
			t.Errorf("the whole bucket %s was put back unseen", b)
		}
	}
}

func TestT2AMissingOrUnknownBucketIsDetected(t *testing.T) {
	f := full(t)
	good := f.image()
	for _, b := range record.Buckets() {
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(b)) })
		if _, bad := f.damaged(); !bad {
			t.Errorf("%s is missing unseen", b)
		}
	}
	f.put(good)
	f.edit(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("more")); return err })
	if _, bad := f.damaged(); !bad {
		t.Error("an unknown bucket is not seen")
	}
}

func TestT1AnyFlippedBitOfTheFileIsDetectedOrHarmless(t *testing.T) {
	f := full(t)
	good := f.image()
	rng := rand.New(rand.NewPCG(1, 2))
	detected, harmless := 0, 0
	try := func(at int, bit byte) {
		b := bytes.Clone(good)
		b[at] ^= bit
		f.put(b)
		s, err := store.Open(f.c)
		if err != nil || s.Integrity() != nil {
			if err == nil {
				_ = s.Close()
			} else if class(err) != record.Class {
				t.Errorf("byte %d: %v", at, err)
			}
			detected++
			return
		}
		// Harmless: the store is the very same, or one whole transaction back with a
		// notice, and takes a write.
		if err := s.Note(record.Startup, ""); err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
		if _, err := s.Verify(""); err != nil {
			t.Errorf("byte %d was found later: %v", at, err)
		}
		_ = s.Close()
		harmless++
	}
	// Every byte of both roots, then of everything a sample.
	for page := range 2 {
		for at := range 16 + 64 {
			try(page*(16<<10)+at, 1<<rng.IntN(8))
		}
	}
	for range 400 {
		try(rng.IntN(len(good)), 1<<rng.IntN(8))
	}
	if detected < 60 || harmless == 0 {
		t.Errorf("%d detected, %d harmless", detected, harmless)
	}
}
