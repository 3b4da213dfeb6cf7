package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// licenceFile has a line for each module that ships: module, SPDX expression,
// and for each of its licence files the name and the SHA-256. The digest makes a
// licence that changed with a version a change that somebody reads.
const licenceFile = "deploy/package/licences.txt"

// licence is what is known of a module's.
type licence struct {
	spdx  string
	files []licenceText
}

// licenceText is one file of a module that its licence asks to pass on.
type licenceText struct {
	name, sha256 string
	text         []byte // nil until match
}

type licenceTable map[string]licence

func readLicences(path string) (licenceTable, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := licenceTable{}
	var faults []error
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) < 3 {
			faults = append(faults, fmt.Errorf("%s:%d: want module, SPDX expression and files, tabs between them", path, n))
			continue
		}
		l := licence{spdx: columns[1]}
		for _, file := range columns[2:] {
			name, sum, ok := strings.Cut(file, "=")
			if !ok || len(sum) != 64 || name != filepath.Base(name) {
				faults = append(faults, fmt.Errorf("%s:%d: want FILE=SHA256", path, n))
			}
			l.files = append(l.files, licenceText{name: name, sha256: sum})
		}
		if _, twice := out[columns[0]]; twice {
			faults = append(faults, fmt.Errorf("%s:%d: %s stands twice", path, n, columns[0]))
		}
		out[columns[0]] = l
	}
	return out, errors.Join(append(faults, lines.Err())...)
}

// match returns the licences of the modules with their texts. It names every
// module that has no line and every text that is not the one that was read.
func (t licenceTable) match(modules []module) (licenceTable, error) {
	dirs, err := moduleDirs(modules)
	if err != nil {
		return nil, err
	}
	out := licenceTable{}
	var faults []error
	for _, m := range modules {
		l, ok := t[m.path]
		if !ok {
			faults = append(faults, fmt.Errorf("%s %s ships and has no line in %s: read its licence in %s", m.path, m.version, licenceFile, dirs[m.path]))
			continue
		}
		read := licence{spdx: l.spdx}
		for _, f := range l.files {
			if f.text, err = os.ReadFile(filepath.Join(dirs[m.path], f.name)); err != nil {
				faults = append(faults, err)
				continue
			}
			if sum := sha256.Sum256(f.text); hex.EncodeToString(sum[:]) != f.sha256 {
				faults = append(faults, fmt.Errorf("%s %s: %s is not the text that was read (its SHA-256 is %x): read it, then change %s", m.path, m.version, f.name, sum, licenceFile))
			}
			read.files = append(read.files, f)
		}
		out[m.path] = read
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out, errors.Join(faults...)
}

// moduleDirs finds the sources of the modules, and so their licences.
func moduleDirs(modules []module) (map[string]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs := map[string]string{standard: strings.TrimSpace(string(root))}
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		if m.path != standard {
			args = append(args, m.path+"@"+m.version)
		}
	}
	if len(args) == 3 { // without arguments it would fetch every module
		return dirs, nil
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w\n%s", err, out)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var m struct{ Path, Dir, Sum string }
		if err := dec.Decode(&m); err != nil {
			return nil, fmt.Errorf("go mod download -json: %w", err)
		}
		i := slices.IndexFunc(modules, func(x module) bool { return x.path == m.Path })
		if i < 0 || modules[i].sum != m.Sum {
			return nil, fmt.Errorf("%s: the module here (%s) is not the one that the programs link", m.Path, m.Sum)
		}
		dirs[m.Path] = m.Dir
	}
	return dirs, nil
}
