package pages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// sample returns a file with inline, flat and deep buckets, overflowing values and
// free pages.
func sample(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	write := func(do func(*bbolt.Tx) error) {
		if err := db.Update(do); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *bbolt.Tx) error {
		for _, name := range []string{"deep", "empty", "flat", "inline", "large"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		for i := range 300 {
			if err := tx.Bucket([]byte("deep")).Put(fmt.Appendf(nil, "key %06d", i), bytes.Repeat([]byte{byte(i)}, 100)); err != nil {
				return err
			}
		}
		if err := tx.Bucket([]byte("large")).Put([]byte("k"), make([]byte, 20_000)); err != nil {
			return err
		}
		return tx.Bucket([]byte("inline")).Put([]byte("k"), []byte("v"))
	})
	for i := range 3 {
		write(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("flat")).Put(fmt.Appendf(nil, "%d", i), make([]byte, 1500))
		})
	}
	write(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("deep")).Delete([]byte("key 000200")) })
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func check(b []byte) (Found, error) { return Check(bytes.NewReader(b), int64(len(b)), 4096, nil) }

func TestEveryPageIsSeenOnceAndEveryRowCounted(t *testing.T) {
	b := sample(t)
	last, of := int64(0), int64(0)
	saw := func(done, total int64) error {
		if done <= last {
			t.Errorf("page %d was told after page %d", done, last)
		}
		last, of = done, total
		return nil
	}
	found, err := Check(bytes.NewReader(b), int64(len(b)), 4096, saw)
	if err != nil || last != of || of == 0 || found.Rows != 299+1+1+3 {
		t.Errorf("%d of %d pages, %+v, %v", last, of, found, err)
	}
	stop := errors.New("stop")
	if _, err := Check(bytes.NewReader(b), int64(len(b)), 4096, func(int64, int64) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("who is told has enough, and the check ends with %v", err)
	}
}

func TestASoundFileShowsItsBuckets(t *testing.T) {
	found, err := check(sample(t))
	if err != nil || found.Fallback || fmt.Sprint(found.Buckets) != "[deep empty flat inline large]" {
		t.Fatalf("%+v, %v", found, err)
	}
}

func TestWhateverPassesTheCheckCannotHurtBbolt(t *testing.T) {
	// Each field of each page header and element, set to what hurts most; and then
	// whole pages exchanged.
	good := sample(t)
	passed, refused := 0, 0
	try := func(what string, b []byte) {
		t.Helper()
		_, err := check(b)
		if err != nil {
			if !IsDamage(err) {
				t.Errorf("%s: %v", what, err)
			}
			refused++
			return
		}
		passed++
		path := filepath.Join(t.TempDir(), "y.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096, NoSync: true})
		if err != nil {
			t.Fatalf("%s passed and does not open: %v", what, err)
		}
		defer func() { _ = db.Close() }()
		if err := db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				return err
			}
			return nil
		}); err != nil {
			t.Errorf("%s passed, and bbolt says: %v", what, err)
		}
	}
	for page := range len(good) / 4096 {
		for _, at := range []int{0, 7, 8, 10, 11, 12, 15, 16, 20, 23, 24, 28, 32, 40, 48, 56, 64, 72} {
			for _, v := range []byte{0, 1, 0xff} {
				b := bytes.Clone(good)
				if b[page*4096+at] == v {
					continue
				}
				b[page*4096+at] = v
				try(fmt.Sprintf("page %d, byte %d = %#x", page, at, v), b)
			}
		}
	}
	for a := range len(good) / 4096 {
		b := bytes.Clone(good)
		copy(b[a*4096:], good[(a+1)%(len(good)/4096)*4096:][:4096])
		try(fmt.Sprintf("page %d is its neighbour's", a), b)
	}
	for n := 0; n < len(good); n += 1000 {
		try(fmt.Sprintf("cut at %d", n), good[:n])
	}
	if refused < 200 || passed == 0 {
		t.Errorf("%d refused, %d passed", refused, passed)
	}
}

func TestATornRootFallsBackAndSaysSo(t *testing.T) {
	good := sample(t)
	fell := 0
	for root := range 2 {
		b := bytes.Clone(good)
		b[root*4096+70] ^= 1
		if found, err := check(b); err == nil && found.Fallback {
			fell++
		}
	}
	if fell == 0 {
		t.Error("no torn root was noticed")
	}
	b := bytes.Clone(good)
	b[70] ^= 1
	b[4096+70] ^= 1
	if _, err := check(b); !IsDamage(err) {
		t.Errorf("two torn roots: %v", err)
	}
}

// FuzzCheck: no file makes the walk panic, run away or read behind the end.
func FuzzCheck(f *testing.F) {
	good := sample(f)
	f.Add(good, 0, byte(0))
	f.Add(good[:4*4096], 5, byte(255))
	f.Fuzz(func(_ *testing.T, b []byte, at int, v byte) {
		if len(b) > 1<<20 {
			return
		}
		b = append(bytes.Clone(b), make([]byte, (4096-len(b)%4096)%4096)...)
		if len(b) > 0 {
			b[uint(at)%uint(len(b))] = v
		}
		_, _ = check(b)
	})
}
