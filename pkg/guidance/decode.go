package guidance

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pfsensemcp/pkg/errs"
)

// maxFile bounds one file of the registry, in bytes: more is not data that
// anybody reviewed.
const maxFile = 256 << 10

// maxFaults bounds the faults that one error names; mending ten shows the rest.
const maxFaults = 10

// data is what the files of a registry hold together.
type data struct {
	Snapshot string     `toml:"snapshot_version"`
	Entries  []Entry    `toml:"entry"`
	Overlays []Overlay  `toml:"overlay"`
	Coverage []coverage `toml:"coverage"`
	Without  []without  `toml:"without"`
}

// coverage says which entries stand for a capability.
type coverage struct {
	Capability string   `toml:"capability"`
	Sources    []string `toml:"sources"`
}

// without says why a capability has none.
type without struct {
	Capability string `toml:"capability"`
	Reason     string `toml:"reason"`
}

// faults collects what is wrong, each with its place.
type faults []string

func (f *faults) add(where, rule string) { *f = append(*f, where+": "+rule) }

// err returns one error that names the faults, nil when there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	shown := f
	more := ""
	if len(f) > maxFaults {
		shown, more = f[:maxFaults], fmt.Sprintf("; and %d more", len(f)-maxFaults)
	}
	return errs.New(errs.Invalid, "the guidance registry is refused: "+strings.Join(shown, "; ")+more).
		WithClass("registry").
		WithNext("this build is damaged: install it again; a maintainer corrects the data under pkg/guidance/registry")
}

// read decodes all files of a registry into one.
func read(fsys fs.FS) (*data, error) {
	names, err := fs.Glob(fsys, "*.toml")
	if err != nil {
		return nil, err
	}
	var all data
	var f faults
	if len(names) == 0 {
		f.add("registry", "it has no file")
	}
	for _, name := range names {
		var d data
		text, err := fs.ReadFile(fsys, name)
		switch {
		case err != nil:
			f.add(name, "it cannot be read")
			continue
		case len(text) > maxFile:
			f.add(name, fmt.Sprintf("it has more than %d bytes", maxFile))
			continue
		}
		if rule := decode(text, &d); rule != "" {
			f.add(name, rule)
			continue
		}
		if d.Snapshot != "" && all.Snapshot != "" {
			f.add(name, "snapshot_version is given by two files")
		}
		all.Snapshot += d.Snapshot
		all.Entries = append(all.Entries, d.Entries...)
		all.Overlays = append(all.Overlays, d.Overlays...)
		all.Coverage = append(all.Coverage, d.Coverage...)
		all.Without = append(all.Without, d.Without...)
	}
	return &all, f.err()
}

// decode decodes one file and returns the rule it breaks, "" for none. The
// library takes Title for title; a second pass over the plain keys does not.
func decode(text []byte, into *data) (rule string) {
	dec := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		switch e := err.(type) {
		case *toml.StrictMissingError:
			return fmt.Sprintf("it has an unknown field (line %d)", firstLine(e))
		case *toml.DecodeError:
			line, _ := e.Position()
			return fmt.Sprintf("it is not valid TOML of the registry's types (line %d)", line)
		}
		return "it is not valid TOML of the registry's types"
	}
	var plain map[string]any
	if err := toml.Unmarshal(text, &plain); err != nil {
		return "it is not valid TOML"
	}
	if key, ok := strange(plain); ok {
		return fmt.Sprintf("it has an unknown field (%.40q)", key)
	}
	return ""
}

func firstLine(e *toml.StrictMissingError) int {
	if len(e.Errors) == 0 {
		return 0
	}
	line, _ := e.Errors[0].Position()
	return line
}

// strange returns a key of the file that is none of ours, letter by letter.
func strange(v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if !slices.Contains(keys, key) {
				return key, true
			}
			if k, ok := strange(child); ok {
				return k, true
			}
		}
	case []any:
		for _, child := range v {
			if k, ok := strange(child); ok {
				return k, true
			}
		}
	}
	return "", false
}

// keys are all keys of all tables; which belongs to which table is the first
// pass's concern.
var keys = []string{
	"snapshot_version", "entry", "overlay", "coverage", "without",
	"source_id", "title", "canonical_url", "pfsense_edition", "version_applicability", "evidence_level",
	"retrieval_mode", "content_excerpt", "content_hash", "source_verification_words", "source_verification_hash",
	"license_note",
	"overlay_id", "capability", "applies_to_version", "applies_to_edition", "supersedes_id", "caveat_summary", "caveat_hash",
	"sources", "reason",
}
