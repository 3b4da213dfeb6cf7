package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

func TestT4AStoreThatOthersCanReachIsNotOpened(t *testing.T) {
	for what, do := range map[string]func(t *testing.T, c *store.Config) error{
		"the directory is readable by its group":  func(_ *testing.T, c *store.Config) error { return os.Chmod(c.Dir, 0o750) },
		"the directory is writable by others":     func(_ *testing.T, c *store.Config) error { return os.Chmod(c.Dir, 0o702) },
		"the file is readable by its group":       func(_ *testing.T, c *store.Config) error { return os.Chmod(c.Dir+"/store.db", 0o640) },
		"the file is executable":                  func(_ *testing.T, c *store.Config) error { return os.Chmod(c.Dir+"/store.db", 0o700) },
		"the lock is readable by others":          func(_ *testing.T, c *store.Config) error { return os.Chmod(c.Dir+"/store.lock", 0o604) },
		"the file has a second name":              func(_ *testing.T, c *store.Config) error { return os.Link(c.Dir+"/store.db", c.Dir+"/other") },
		"the lock has a second name":              func(_ *testing.T, c *store.Config) error { return os.Link(c.Dir+"/store.lock", c.Dir+"/other") },
		"a directory above is writable by others": func(_ *testing.T, c *store.Config) error { return os.Chmod(filepath.Dir(c.Dir), 0o777) },
		"the file is a link": func(_ *testing.T, c *store.Config) error {
			if err := os.Rename(c.Dir+"/store.db", c.Dir+"/real.db"); err != nil {
				return err
			}
			return os.Symlink(c.Dir+"/real.db", c.Dir+"/store.db")
		},
		"the directory is a link": func(_ *testing.T, c *store.Config) error {
			to := c.Dir + "-link"
			err := os.Symlink(c.Dir, to)
			c.Dir = to
			return err
		},
		"a directory above is a link": func(_ *testing.T, c *store.Config) error {
			to := filepath.Dir(c.Dir) + "-link"
			err := os.Symlink(filepath.Dir(c.Dir), to)
			c.Dir = to + "/state"
			return err
		},
		"the file is a pipe": func(_ *testing.T, c *store.Config) error {
			if err := os.Remove(c.Dir + "/store.db"); err != nil {
				return err
			}
			return syscall.Mkfifo(c.Dir+"/store.db", 0o600)
		},
		"the lock is a pipe": func(_ *testing.T, c *store.Config) error {
			if err := os.Remove(c.Dir + "/store.lock"); err != nil {
				return err
			}
			return syscall.Mkfifo(c.Dir+"/store.lock", 0o600)
		},
		"the path is relative": func(_ *testing.T, c *store.Config) error { c.Dir = "state"; return nil },
		"a key lies in the directory": func(_ *testing.T, c *store.Config) error {
			c.KeyPaths = []string{c.Dir + "/root.key"}
			return os.WriteFile(c.Dir+"/root.key", nil, 0o600)
		},
		"a key lies below the directory under another name": func(t *testing.T, c *store.Config) error {
			to := filepath.Join(t.TempDir(), "link")
			c.KeyPaths = []string{to + "/keys/root.key"}
			return os.Symlink(c.Dir, to)
		},
		"the directory belongs to another user": func(t *testing.T, c *store.Config) error {
			if os.Geteuid() != 0 {
				t.Skip("giving a directory away needs root")
			}
			return os.Chown(c.Dir, 65533, 65533)
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := setup(t)
			if err := f.S.Close(); err != nil {
				t.Fatal(err)
			}
			if err := do(t, &f.c); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(f.c)
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			if class(err) != "store_permissions" || errs.Public(err).Next == "" {
				t.Errorf("%v (%s)", err, class(err))
			}
		})
	}
}

func TestX14Case103ASecondExecutordCannotStartAndDisturbsNothing(t *testing.T) {
	f := setup(t)
	before := f.generation()
	if _, err := store.Open(f.c); class(err) != "already_running" {
		t.Errorf("%v", err)
	}
	if _, err := store.VerifyFile(f.c, store.Pins{}); class(err) != "already_running" || store.ExitCode(err) != 1 {
		t.Errorf("%v", err)
	}
	if f.generation() != before {
		t.Error("the second one wrote something")
	}
	f.sound()
}

func TestCase104AStoreIsNeverMadeByLookingForItNorInThePlaceOfAnother(t *testing.T) {
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	if _, err := store.Open(c); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("an absent store: %v", err)
	}
	if _, err := store.VerifyFile(c, store.Pins{}); errs.CodeOf(err) != errs.NotFound || store.ExitCode(err) != 1 {
		t.Errorf("an absent store: %v", err)
	}
	if there, err := store.Exists(c); there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	for what, content := range map[string][]byte{"empty": {}, "short": []byte("x"), "garbage": make([]byte, 64<<10)} {
		if err := os.WriteFile(c.Dir+"/store.db", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(c); class(err) != "store_integrity" {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := store.Create(c, storetest.Seed()); class(err) != "store_exists" {
			t.Errorf("%s: %v", what, err)
		}
		if got, _ := os.ReadFile(c.Dir + "/store.db"); len(got) != len(content) {
			t.Errorf("%s: the file was changed", what)
		}
	}
}

func TestFoundingThatIsCutOffLeavesNothingOrAWholeStore(t *testing.T) {
	clock := storetest.NewClock()
	for n := 0; ; n++ {
		c := storetest.Config(t, clock)
		met := 0
		c.Seam = storetest.Faults(func(string) error {
			if met++; met == n+1 {
				return errStop
			}
			return nil
		})
		s, err := store.Create(c, storetest.Seed())
		if err == nil {
			_ = s.Close()
			if n < 5 {
				t.Errorf("founding has %d steps", n)
			}
			return
		}
		c.Seam = nil
		if there, _ := store.Exists(c); there {
			t.Errorf("stopped at step %d, a store is there", n)
		}
		// What was left of the first try does not stand in the way of the second.
		s, err = store.Create(c, storetest.Seed())
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		if err := s.Integrity(); err != nil {
			t.Error(err)
		}
		_ = s.Close()
	}
}

func TestK4AnotherRootKeyStoreOrKeyIDDoesNotOpenTheStore(t *testing.T) {
	for what, do := range map[string]func(c *store.Config){
		"another root key under the same id": func(c *store.Config) { c.Key.Material = storetest.Root(2).Material },
		"another id of the same root key":    func(c *store.Config) { c.Key.ID = "k2" },
		"another epoch":                      func(c *store.Config) { c.Key.Epoch = 2 },
		"another store":                      func(c *store.Config) { c.StoreID = "prod-write-store-2" },
	} {
		f := setup(t)
		if err := f.S.Close(); err != nil {
			t.Fatal(err)
		}
		before := f.image()
		do(&f.c)
		s, err := store.Open(f.c)
		if err == nil {
			_ = s.Close()
		}
		if class(err) != "store_integrity" {
			t.Errorf("%s: %v", what, err)
		}
		if string(f.image()) != string(before) {
			t.Errorf("%s: the file was changed", what)
		}
	}
}

func TestReview08ALaboratoryAndItsStoreNameGoTogether(t *testing.T) {
	clock := storetest.NewClock()
	c := storetest.Config(t, clock)
	c.Lab = true
	if _, err := store.Create(c, storetest.Seed()); class(err) != "configuration" {
		t.Errorf("a laboratory founded a store without lab-: %v", err)
	}
	c.Lab, c.StoreID = false, "lab-store-1"
	if _, err := store.Create(c, storetest.Seed()); class(err) != "configuration" {
		t.Errorf("production founded a lab- store: %v", err)
	}
	c.Limits.LandingWindow /= 2
	c.Lab = true
	if _, err := store.Create(c, storetest.Seed()); class(err) != "configuration" {
		t.Errorf("a shipped build shortened the landing window in a laboratory: %v", err)
	}
	c.Short = true
	s, err := store.Create(c, storetest.Seed())
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	c.StoreID, c.Lab = "prod-2", false
	if _, err := store.Open(c); class(err) != "configuration" {
		t.Errorf("a test build opened production's store: %v", err)
	}
}
