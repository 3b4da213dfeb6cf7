package place

import (
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"pfsensemcp/pkg/errs"
)

// RecordPath is where setup remembers what it has put onto the host.
const RecordPath = "/var/lib/pfsense-mcp/setup.json"

// Bounds of the record.
const (
	maxRecord = 64 << 10
	maxFiles  = 256
	maxAnswer = 2048 // bytes of one answer
	format    = 1
)

// record is what setup has put onto the host. Of a key it has the path alone: a digest
// of it would be something to guess against.
type record struct {
	Format  int               `json:"format"`
	Files   map[string]string `json:"files"` // path to digest of the content
	Secrets []string          `json:"secrets"`
	Answers map[string]string `json:"answers,omitempty"` // of the last run, for the next
}

// parse reads a record strictly.
func parse(b []byte) (*record, error) {
	broken := errs.New(errs.Invalid, "the record of setup, "+RecordPath+", cannot be read").WithClass("configuration").
		WithNext("move it away: setup then takes every file that is there for one that a person wrote")
	if len(b) > maxRecord {
		return nil, broken
	}
	r := &record{}
	if err := json.Unmarshal(b, r, json.RejectUnknownMembers(true)); err != nil {
		return nil, broken
	}
	if r.Format != format || len(r.Files)+len(r.Secrets) > maxFiles {
		return nil, broken
	}
	for path, digest := range r.Files {
		if sum, err := hex.DecodeString(digest); err != nil || len(sum) != 32 || !proper(path) {
			return nil, broken
		}
	}
	for _, path := range r.Secrets {
		if !proper(path) {
			return nil, broken
		}
	}
	for k, v := range r.Answers {
		if len(k) > 32 || len(v) > maxAnswer {
			return nil, broken
		}
	}
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	return r, nil
}

// proper says whether a path could be one of setup's: the record decides what
// uninstall removes.
func proper(path string) bool {
	if filepath.Clean(path) != path {
		return false
	}
	for _, dir := range []string{"/etc/pfsense-mcp/", "/etc/systemd/system/pfsense-", "/etc/credstore.encrypted/pfsense-"} {
		if len(path) > len(dir) && path[:len(dir)] == dir {
			return true
		}
	}
	return false
}

func (t *Tree) read() (*record, error) {
	b, err := t.load(RecordPath)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{Format: format, Files: map[string]string{}}, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(b)
}

// Answers returns what the last run was told. Whoever uses them checks them again.
func (t *Tree) Answers() (map[string]string, error) {
	r, err := t.read()
	if err != nil {
		return nil, err
	}
	return r.Answers, nil
}

func (r *record) add(f File) {
	if f.Secret {
		if !slices.Contains(r.Secrets, f.Path) {
			r.Secrets = append(r.Secrets, f.Path)
			slices.Sort(r.Secrets)
		}
		return
	}
	r.Files[f.Path] = Digest(f.Data)
}

func (r *record) forget(path string) {
	delete(r.Files, path)
	r.Secrets = slices.DeleteFunc(r.Secrets, func(p string) bool { return p == path })
}

// draft is where a record stands in full before what it says has been done: a disk that
// has no room for it has none for the files either.
const draft = RecordPath + ".new"

// draft writes a record beside its place.
func (t *Tree) draft(r *record) error {
	if r.empty() {
		return nil
	}
	b, err := json.Marshal(r, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return errs.Wrap(err, errs.Internal, "the record of setup cannot be written")
	}
	if err := t.parents(RecordPath, true); err != nil {
		return err
	}
	return t.stage(staged{Step{File: File{Path: RecordPath, Mode: 0o600, Data: append(b, '\n')}}, draft})
}

// drop takes away a draft that was not kept.
func (t *Tree) drop() { _ = os.Remove(t.at(draft)) } // the next one takes its place

// keep makes the draft of a record the record, in one step, and removes one that is empty.
func (t *Tree) keep(r *record) error {
	if r.empty() {
		if err := os.Remove(t.at(RecordPath)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errs.Wrap(err, errs.Unavailable, RecordPath+" cannot be removed").WithNext("run it as root")
		}
		_ = os.Remove(t.at(filepath.Dir(RecordPath))) // stays when something else is in it
		return nil
	}
	if err := os.Rename(t.at(draft), t.at(RecordPath)); err != nil {
		return errs.Wrap(err, errs.Unavailable, "what was done is not remembered: "+RecordPath+" cannot be written").WithNext("check its file system, and run it again")
	}
	return t.syncDir(filepath.Dir(RecordPath))
}

func (r *record) empty() bool { return len(r.Files)+len(r.Secrets) == 0 }

// clone is a record that can be changed by itself.
func (r *record) clone() *record {
	c := *r
	c.Files, c.Secrets = maps.Clone(r.Files), slices.Clone(r.Secrets)
	return &c
}
