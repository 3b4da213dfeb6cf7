package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/place"
)

func (s *site) there(path string) bool { return s.exists(path) }

func TestUninstallUndoesSetupAndKeepsEditsAndTheStoreWithItsKeys(t *testing.T) {
	s := newSite(t, authority)
	o := s.writing()
	o.Plain = true
	s.must(t, o)
	s.write(t, layout.StoreDir+"/store.db", "contracts", 0o600)
	s.write(t, layout.McpdDropIn, "# mine\n", 0o644)
	r, err := s.PlanRemoval(false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Left, []string{layout.McpdDropIn}) || len(r.Kept) != 3 || r.Store != layout.StoreDir {
		t.Errorf("%+v", r)
	}
	s.started = nil
	if err := s.Uninstall(t.Context(), r, false); err != nil {
		t.Fatal(err)
	}
	if s.started[0] != "systemctl disable --now pfsense-mcp.target" || !strings.Contains(s.started[1], "pfsense-executord.service") {
		t.Errorf("%v", s.started)
	}
	for path, want := range map[string]bool{
		layout.McpdTOML: false, layout.ExecutordTOML: false, layout.ReadKey: false, layout.WriteDropIn: false, filepath.Dir(layout.WriteDropIn): false,
		layout.Credential{Name: layout.WriteAPIKey}.Path(false): false, layout.Credential{Name: layout.RootKey}.Path(false): true,
		layout.McpdDropIn: true, layout.StoreDir + "/store.db": true, place.RecordPath: true,
	} {
		if s.there(path) != want {
			t.Errorf("%s: there %v", path, !want)
		}
	}
	r, err = s.PlanRemoval(true)
	if err != nil || len(r.Kept) != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if err := s.Uninstall(t.Context(), r, true); err != nil {
		t.Fatal(err)
	}
	if s.there(layout.StoreDir) || s.there(layout.Credential{Name: layout.RootKey}.Path(false)) || !s.there(layout.McpdDropIn) {
		t.Error("purged too little or too much")
	}
	if r, err := s.PlanRemoval(false); err != nil || len(r.Remove) != 0 {
		t.Errorf("a second time: %+v %v", r, err)
	}
}

func TestAPurgeFollowsNoLink(t *testing.T) {
	s := newSite(t, authority)
	victim := t.TempDir()
	if err := os.WriteFile(filepath.Join(victim, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.Root, "/var/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(s.Root, layout.StoreDir)); err != nil {
		t.Fatal(err)
	}
	r, err := s.PlanRemoval(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Uninstall(t.Context(), r, true); err == nil {
		t.Error("a link in the store's place is purged")
	}
	if _, err := os.Stat(filepath.Join(victim, "x")); err != nil {
		t.Error("what it led to is gone")
	}
	_ = os.Remove(filepath.Join(s.Root, layout.StoreDir))
	s.write(t, layout.StoreDir+"/store.db", "x", 0o600)
	if err := os.Symlink(victim, filepath.Join(s.Root, layout.StoreDir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := s.Uninstall(t.Context(), r, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(victim, "x")); err != nil || s.there(layout.StoreDir) {
		t.Errorf("a link inside: %v", err)
	}
}

func TestUninstallPutsShippedSettingsBack(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "examples", "mcpd.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, authority)
	s.write(t, layout.McpdTOML, string(b), 0o644)
	s.write(t, examples+"mcpd.toml", string(b), 0o644)
	s.must(t, s.options("fw.lan"))
	if s.read(t, layout.McpdTOML) == string(b) {
		t.Fatal("the shipped file was taken for an edit")
	}
	r, err := s.PlanRemoval(false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Uninstall(t.Context(), r, false); err != nil || s.read(t, layout.McpdTOML) != string(b) {
		t.Errorf("%v", err)
	}
}

// rotating is a site whose key is replaced.
func rotating(t *testing.T, sealed bool) (*site, string) {
	t.Helper()
	s := newSite(t, authority)
	path := layout.ReadKey
	if sealed {
		path = layout.SealedReadKey
	}
	s.must(t, s.options("fw.lan"))
	if sealed {
		_ = os.Remove(filepath.Join(s.Root, layout.ReadKey))
		s.write(t, path, "sealed old", 0o600)
	}
	s.person(t, "next.key", "the-next-key")
	s.started = nil
	return s, path
}

func TestAKeyIsRotatedAndItsUnitStartsAnew(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		s, path := rotating(t, sealed)
		asked := 0
		works := func(context.Context) error { asked++; return nil }
		if err := s.Rotate(t.Context(), Rotation{KeyFile: filepath.Join(s.keys, "next.key"), Works: works}); err != nil {
			t.Fatal(err)
		}
		want := "the-next-key\n"
		if sealed {
			want = "sealed --name=read-api-key THE-NEXT-KEY\n"
		}
		if got := s.read(t, path); got != want || asked != 1 || !slices.Equal(s.started[len(s.started)-2:], []string{"systemctl reset-failed pfsense-*", "systemctl restart pfsense-mcpd.service"}) {
			t.Errorf("%q, asked %d, %v", got, asked, s.started)
		}
	}
}

func TestReview29ABadKeyIsRefusedAndTheOldOneStays(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks  func(*site)
		works   error
		restart bool // the unit was touched
	}{
		"a file that is none":          {func(s *site) { _ = os.Remove(filepath.Join(s.keys, "next.key")) }, nil, false},
		"a file that others can read":  {func(s *site) { _ = os.Chmod(filepath.Join(s.keys, "next.key"), 0o644) }, nil, false},
		"a key that is none":           {func(s *site) { _ = os.WriteFile(filepath.Join(s.keys, "next.key"), []byte("a b\n"), 0o600) }, nil, false},
		"a unit that does not start":   {func(s *site) { s.fails["systemctl restart pfsense-mcpd.service"] = true }, nil, true},
		"a key that is refused":        {func(*site) {}, errs.New(errs.Denied, "the appliance refuses it").WithNext("look"), true},
		"a host without systemd":       {func(s *site) { _ = os.RemoveAll(filepath.Join(s.Root, "/run/systemd")) }, nil, false},
		"a key in a place of its own":  {func(s *site) { _ = os.Rename(filepath.Join(s.Root, layout.ReadKey), filepath.Join(s.Root, "/k")) }, nil, false},
		"two keys, and nobody knows":   {func(s *site) { s.write(t, layout.SealedReadKey, "x", 0o600) }, nil, false},
		"a restart that is called off": {func(*site) {}, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := rotating(t, false)
			before := s.read(t, path)
			tt.breaks(s)
			err := s.Rotate(t.Context(), Rotation{KeyFile: filepath.Join(s.keys, "next.key"), Works: func(context.Context) error { return tt.works }})
			if err == nil {
				t.Fatal("rotated")
			}
			if strings.Contains(err.Error(), "the-next-key") {
				t.Error("the key is shown")
			}
			if tt.works != nil && !errors.Is(err, tt.works) {
				t.Errorf("%v", err)
			}
			if s.there(path) && s.read(t, path) != before {
				t.Errorf("the old key is gone: %q", s.read(t, path))
			}
			if touched := len(s.started) > 0; touched != tt.restart {
				t.Errorf("%v", s.started)
			}
		})
	}
}
