package place

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/errs"
)

const (
	conf = "/etc/pfsense-mcp/mcpd.toml"
	unit = "/etc/systemd/system/pfsense-mcpd.service.d/appliance.conf"
	key  = "/etc/pfsense-mcp/credentials/read-api-key"
)

func tree(t *testing.T) *Tree {
	t.Helper()
	return &Tree{Root: t.TempDir(), UID: os.Getuid(), GID: os.Getgid()}
}

func files(text string) []File {
	return []File{
		{Path: conf, Mode: 0o644, Data: []byte(text)},
		{Path: unit, Mode: 0o644, Data: []byte("[Service]\n" + text)},
		{Path: key, Mode: 0o600, Data: []byte("the-key\n"), Secret: true},
	}
}

// actions plans and returns each file's action.
func actions(t *testing.T, tr *Tree, fs []File) ([]Step, []Action) {
	t.Helper()
	steps, err := tr.Plan(fs)
	if err != nil {
		t.Fatal(err)
	}
	var out []Action
	for _, s := range steps {
		out = append(out, s.Action)
	}
	return steps, out
}

func apply(t *testing.T, tr *Tree, fs []File) []Action {
	t.Helper()
	steps, out := actions(t, tr, fs)
	if err := tr.Apply(steps, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// all is every file below the root with its mode and content.
func all(t *testing.T, tr *Tree) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(tr.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		}
		out[strings.TrimPrefix(path, tr.Root)] = fi.Mode().String() + " " + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func edit(t *testing.T, tr *Tree, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(tr.at(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.at(path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestASecondRunChangesNothing(t *testing.T) {
	tr := tree(t)
	if got := apply(t, tr, files("a")); !cmp.Equal(got, []Action{Write, Write, Write}) {
		t.Errorf("first run: %v", got)
	}
	first := all(t, tr)
	for path, mode := range map[string]string{conf: "-rw-r--r--", key: "-rw-------", filepath.Dir(key): "drwx------", RecordPath: "-rw-------", filepath.Dir(RecordPath): "drwx------"} {
		if !strings.HasPrefix(first[path], mode) {
			t.Errorf("%s is %.10s", path, first[path])
		}
	}
	if strings.Contains(first[RecordPath], Digest([]byte("the-key\n"))) || strings.Contains(first[RecordPath], "the-key") {
		t.Error("the record says something of the key")
	}
	if got := apply(t, tr, files("a")); !cmp.Equal(got, []Action{Same, Same, Kept}) {
		t.Errorf("second run: %v", got)
	}
	if diff := cmp.Diff(first, all(t, tr)); diff != "" {
		t.Errorf("a second run changed something:\n%s", diff)
	}
	if got := apply(t, tr, files("b")); !cmp.Equal(got, []Action{Replace, Replace, Kept}) {
		t.Errorf("other content: %v", got)
	}
}

func TestAPersonsEditIsNeverOverwritten(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	edit(t, tr, conf, "mine")
	edit(t, tr, key, "another-key\n")
	if got := apply(t, tr, files("b")); !cmp.Equal(got, []Action{Left, Replace, Kept}) {
		t.Errorf("%v", got)
	}
	if now := all(t, tr); !strings.HasSuffix(now[conf], " mine") || !strings.HasSuffix(now[key], "another-key\n") {
		t.Errorf("%q, %q", now[conf], now[key])
	}

	tr = tree(t) // what lies there before the first run is a person's, too
	edit(t, tr, conf, "mine")
	if got := apply(t, tr, files("a")); got[0] != Left {
		t.Errorf("%v", got)
	}
	tr.Shipped = func(path, digest string) bool { return path == conf && digest == Digest([]byte("mine")) }
	if got := apply(t, tr, files("a")); got[0] != Replace {
		t.Errorf("as the package ships it: %v", got)
	}

	tr = tree(t) // a link, a directory or a device is a decision
	edit(t, tr, "/target", "theirs")
	if err := os.MkdirAll(filepath.Dir(tr.at(conf)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tr.at("/target"), tr.at(conf)); err != nil {
		t.Fatal(err)
	}
	if got := apply(t, tr, files("a")); got[0] != Left || !strings.HasSuffix(all(t, tr)["/target"], "theirs") {
		t.Errorf("through a link: %v", got)
	}
}

func TestAModeThatIsTooWideIsMendedAndATighterOneKept(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	for _, tt := range []struct {
		mode fs.FileMode
		want Action
	}{{0o666, Mend}, {0o600, Same}, {0o640, Same}, {0o755, Mend}} {
		if err := os.Chmod(tr.at(conf), tt.mode); err != nil {
			t.Fatal(err)
		}
		if got := apply(t, tr, files("a")); got[0] != tt.want {
			t.Errorf("%v: %v", tt.mode, got)
		}
		if fi, err := os.Stat(tr.at(conf)); err != nil || fi.Mode().Perm()&^0o644 != 0 {
			t.Errorf("%v is left as %v", tt.mode, fi.Mode())
		}
	}
}

func TestWhatFailsLeavesEverythingAsItWas(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, tr *Tree){
		"a directory that others may write": func(t *testing.T, tr *Tree) {
			if err := os.MkdirAll(tr.at("/etc/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(tr.at("/etc/systemd/system"), 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"a link in a directory's place": func(t *testing.T, tr *Tree) {
			if err := os.MkdirAll(tr.at("/etc/systemd"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), tr.at("/etc/systemd/system")); err != nil {
				t.Fatal(err)
			}
		},
		"a file in a directory's place": func(t *testing.T, tr *Tree) { edit(t, tr, "/etc/systemd", "x") },
		"a record that is none":         func(t *testing.T, tr *Tree) { edit(t, tr, RecordPath, "{") },
	} {
		t.Run(name, func(t *testing.T) {
			tr := tree(t)
			breaks(t, tr)
			before := all(t, tr)
			_, err := tr.Plan(files("a"))
			if err == nil || errs.Public(err).Next == "" {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(before, all(t, tr)); diff != "" {
				t.Errorf("something was changed:\n%s", diff)
			}
		})
	}
}

func TestAFullDiskChangesNoFile(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	before := all(t, tr)
	steps, _ := actions(t, tr, files("b"))
	// The second file cannot be staged: a directory stands where it would be written.
	temp := filepath.Join(filepath.Dir(unit), ".appliance.conf.setup1")
	if err := os.MkdirAll(tr.at(temp+"/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tr.Apply(steps, nil); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(tr.at(temp)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, all(t, tr)); diff != "" {
		t.Errorf("half of it was done:\n%s", diff)
	}
}

// full makes it impossible to write a file: a directory stands where it would be.
func full(t *testing.T, tr *Tree, path string) {
	t.Helper()
	if err := os.MkdirAll(tr.at(path+"/x"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tr.at(path)) })
}

func TestADiskWithoutRoomForTheRecordChangesNoFile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first bool // nothing is there yet
		path  string
		do    func(*testing.T, *Tree) error
	}{
		{"the first setup", true, draft, func(t *testing.T, tr *Tree) error {
			steps, _ := actions(t, tr, files("a"))
			return tr.Apply(steps, nil)
		}},
		{"the first setup, for the last file", true, filepath.Join(filepath.Dir(key), ".read-api-key.setup2"), func(t *testing.T, tr *Tree) error {
			steps, _ := actions(t, tr, files("a"))
			return tr.Apply(steps, nil)
		}},
		{"another setup", false, draft, func(t *testing.T, tr *Tree) error {
			steps, _ := actions(t, tr, files("b"))
			return tr.Apply(steps, nil)
		}},
		{"a key that is replaced", false, draft, func(_ *testing.T, tr *Tree) error {
			_, err := tr.Swap(File{Path: key, Mode: 0o600, Data: []byte("new\n"), Secret: true})
			return err
		}},
		{"a removal that puts something back", false, filepath.Join(filepath.Dir(conf), ".mcpd.toml.setup1"), func(_ *testing.T, tr *Tree) error {
			return tr.Remove([]string{key, conf}, map[string][]byte{conf: []byte("shipped")})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := tree(t)
			if !tt.first {
				apply(t, tr, files("a"))
			}
			full(t, tr, tt.path)
			before := all(t, tr)
			if err := tt.do(t, tr); err == nil || !strings.Contains(err.Error(), "nothing was changed") || errs.Public(err).Next == "" {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(before, all(t, tr)); diff != "" {
				t.Errorf("something was changed:\n%s", diff)
			}
		})
	}
}

func TestARemovalThatCannotBeRememberedIsToldAndGoesOn(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	full(t, tr, draft)
	if err := tr.Remove([]string{key}, nil); err == nil || !strings.Contains(err.Error(), "not remembered") || strings.Contains(errs.Public(err).Msg, "nothing") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(tr.at(draft)); err != nil {
		t.Fatal(err)
	}
	if err := tr.Remove([]string{key, conf, unit}, nil); err != nil {
		t.Error(err)
	}
	for path := range all(t, tr) {
		if path == key || path == conf || path == unit || path == RecordPath {
			t.Errorf("%s stays", path)
		}
	}
}

func TestTwoRunsAtOnceDoNotMixTheirFiles(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	steps, _ := actions(t, tr, files("b"))
	unlock, err := tr.lock()
	if err != nil {
		t.Fatal(err)
	}
	before := all(t, tr)
	_, swapped := tr.Swap(File{Path: key, Mode: 0o600, Data: []byte("new\n"), Secret: true})
	for what, err := range map[string]error{"setup": tr.Apply(steps, nil), "uninstall": tr.Remove([]string{key}, nil), "rotate-key": swapped} {
		if errs.CodeOf(err) != errs.Conflict || errs.Public(err).Next == "" {
			t.Errorf("%s beside another: %v", what, err)
		}
	}
	if diff := cmp.Diff(before, all(t, tr)); diff != "" {
		t.Errorf("something was changed:\n%s", diff)
	}
	unlock()
	if err := tr.Apply(steps, nil); err != nil {
		t.Error(err)
	}
}

func TestAFileThatChangesBetweenPlanAndActIsNotTouched(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	steps, _ := actions(t, tr, files("b"))
	edit(t, tr, conf, "mine")
	if err := tr.Apply(steps, nil); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("replaced: %v", err)
	}
	tr = tree(t)
	steps, _ = actions(t, tr, files("a"))
	edit(t, tr, conf, "mine")
	if err := tr.Apply(steps, nil); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("written: %v", err)
	}
	if got := all(t, tr); !strings.HasSuffix(got[conf], " mine") {
		t.Errorf("%q", got[conf])
	}
	for path := range all(t, tr) {
		if strings.Contains(path, ".setup") && path != RecordPath {
			t.Errorf("%s is left over", path)
		}
	}
}

func TestWhatSetupOwnsCanBeRemovedAndAnEditCannot(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	edit(t, tr, unit, "mine")
	own, err := tr.Owned()
	if err != nil {
		t.Fatal(err)
	}
	want := []Own{{Path: key, Secret: true}, {Path: conf}, {Path: unit, Edited: true}}
	if diff := cmp.Diff(want, own); diff != "" {
		t.Fatal(diff)
	}
	if err := tr.Remove([]string{key, conf}, map[string][]byte{conf: []byte("shipped")}); err != nil {
		t.Fatal(err)
	}
	now := all(t, tr)
	if _, there := now[key]; there || !strings.HasSuffix(now[conf], " shipped") || !strings.HasSuffix(now[unit], " mine") {
		t.Errorf("%v", now)
	}
	if err := tr.Remove([]string{unit}, nil); err != nil {
		t.Fatal(err)
	}
	if _, there := all(t, tr)[filepath.Dir(RecordPath)]; there {
		t.Error("an empty record is left")
	}
}

func TestAKeyIsSwappedInOneStepAndComesBack(t *testing.T) {
	tr := tree(t)
	apply(t, tr, files("a"))
	swap := func(text string) []byte {
		t.Helper()
		old, err := tr.Swap(File{Path: key, Mode: 0o600, Data: []byte(text), Secret: true})
		if err != nil {
			t.Fatal(err)
		}
		return old
	}
	old := swap("new\n")
	if !bytes.Equal(old, []byte("the-key\n")) || all(t, tr)[key] != "-rw------- new\n" {
		t.Errorf("%q, %q", old, all(t, tr)[key])
	}
	swap(string(old))
	if all(t, tr)[key] != "-rw------- the-key\n" {
		t.Errorf("%q", all(t, tr)[key])
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"files":{"/etc/pfsense-mcp/mcpd.toml":"` + strings.Repeat("ab", 32) + `"},"secrets":["/etc/pfsense-mcp/credentials/read-api-key"]}`))
	f.Add([]byte(`{"format":1,"files":{"/etc/passwd":"` + strings.Repeat("ab", 32) + `"},"secrets":["/etc/shadow"]}`))
	f.Add([]byte(`{"format":1,"files":{"/etc/pfsense-mcp/../passwd":""},"secrets":["/etc/pfsense-mcp/../shadow"],"answers":{"url":"x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err != nil {
			return
		}
		for path := range r.Files {
			if !proper(path) {
				t.Errorf("%q would be removed", path)
			}
		}
		for _, path := range r.Secrets {
			if !proper(path) {
				t.Errorf("%q would be removed", path)
			}
		}
	})
}
