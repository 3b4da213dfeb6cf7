package main

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/pelletier/go-toml/v2"

	"pfsensemcp/pkg/guidance"
)

// repin prints the digest of every text whose stored one does not fit. It reads
// the files and not the compiled registry, which would not load.
func repin(dir fs.FS, out, problems io.Writer) int {
	names, err := fs.Glob(dir, "*.toml")
	if err != nil || len(names) == 0 {
		fmt.Fprintln(problems, "guidanceaudit: no registry files: run it at the top of the tree, or give -data")
		return 1
	}
	code := 0
	for _, name := range names {
		var d struct {
			Entries  []guidance.Entry   `toml:"entry"`
			Overlays []guidance.Overlay `toml:"overlay"`
		}
		text, err := fs.ReadFile(dir, name)
		if err == nil {
			err = toml.Unmarshal(text, &d)
		}
		if err != nil {
			fmt.Fprintf(problems, "guidanceaudit: %s: %v\n", name, err)
			code = 1
			continue
		}
		for _, e := range d.Entries {
			if h := guidance.Digest(e.Excerpt); h != e.Hash {
				fmt.Fprintf(out, "%s: %s: content_hash = %q\n", name, e.SourceID, h)
				code = 1
			}
		}
		for _, o := range d.Overlays {
			if h := guidance.Digest(o.Caveat); h != o.CaveatHash {
				fmt.Fprintf(out, "%s: %s: caveat_hash = %q\n", name, o.ID, h)
				code = 1
			}
		}
	}
	return code
}
