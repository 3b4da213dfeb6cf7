package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// installed refuses installed settings that somebody else than root could change: they
// say to which host a key is sent, and who is admitted. A file that is missing is refused
// by nobody: the defaults are ours.
func installed(path string, root uint32) error {
	for _, p := range []string{path, filepath.Dir(path)} {
		fi, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil // reading it fails too, and says why
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != root || fi.Mode().Perm()&0o022 != 0 {
			return errs.New(errs.Invalid, p+" can be changed by somebody else than root").WithClass("configuration").
				WithNext("look at what stands in it, then: chown root:root " + p + " && chmod go-w " + p)
		}
	}
	return nil
}
