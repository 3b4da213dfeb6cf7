package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
)

func TestInstalledSettingsAreRootsAlone(t *testing.T) {
	own := uint32(os.Getuid())
	for _, row := range []struct {
		name string
		file os.FileMode // 0: there is none
		dir  os.FileMode
		root uint32
		bad  string // what the error names, "" for none
	}{
		{"as they are installed", 0o644, 0o755, own, ""},
		{"tighter", 0o600, 0o700, own, ""},
		{"none", 0, 0o755, own, ""},
		{"a file that others may write", 0o646, 0o755, own, "x.toml"},
		{"a file that a group may write", 0o664, 0o755, own, "x.toml"},
		{"a directory that others may write", 0o644, 0o777, own, "/etc "},
		{"none, in such a directory", 0, 0o777, own, "/etc "},
		{"somebody else's", 0o644, 0o755, own + 1, "x.toml"},
	} {
		dir := filepath.Join(t.TempDir(), "etc")
		path := filepath.Join(dir, "x.toml")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if row.file != 0 {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, row.file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, row.dir); err != nil {
			t.Fatal(err)
		}
		err := installed(path, row.root)
		if (row.bad == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), row.bad) || errs.Public(err).Next == "") {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
