// Package tomldoc owns reading a settings file: its bytes, within bounds, and the
// TOML in it as plain values with the line of every key. Only conf may import it;
// it imports none of ours. It never repeats a byte of the file in a message, and
// never fills a struct: the library would match keys in any case for that.
//
// The attacks it stops: a pipe or a giant in the file's place that hangs or fills
// the daemon, and a secret written into the wrong place that a parser's message
// quotes.
package tomldoc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxFile bounds a settings file in bytes: the fullest one is under 8 KiB.
const MaxFile = 64 << 10

// Doc is a decoded document.
type Doc struct {
	Root  map[string]any
	lines map[string]int
}

// Line returns the line on which a key was first written, 0 when it is not known.
// The prefix is the path of its table, with a dot behind each part.
func (d *Doc) Line(prefix, key string) int { return d.lines[pathKey(prefix, key)] }

// Parse decodes a document. When it is not valid the rule says so, in words of
// ours or constant ones of the library, with the line or 0.
func Parse(data []byte) (d *Doc, line int, rule string) {
	d = &Doc{Root: map[string]any{}}
	if err := toml.Unmarshal(data, &d.Root); err != nil {
		rule = "is not valid TOML"
		if de, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = de.Position()
			rule += ownWords(de.Error())
		}
		return nil, line, rule
	}
	d.lines = keyLines(data)
	return d, 0, ""
}

// Read returns the bytes of a regular file of bounded size. A missing one
// is empty when it may be missing.
func Read(path string, optional bool) (data []byte, rule string) {
	// Non-blocking, so that a pipe in the file's place cannot hang the start.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && optional:
		return nil, ""
	case errors.Is(err, fs.ErrNotExist):
		return nil, "the settings file does not exist: name it with --config, or write one (--help-config)"
	case errors.Is(err, fs.ErrPermission):
		return nil, "the settings file cannot be read: permission denied"
	case err != nil:
		return nil, "the settings file cannot be opened"
	}
	defer func() { _ = f.Close() }() // read only: a failing close loses nothing
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, "the settings file must be a regular file"
	}
	data, err = io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, "the settings file cannot be read"
	}
	if len(data) > MaxFile {
		return nil, fmt.Sprintf("the settings file must have at most %d bytes", MaxFile)
	}
	return data, ""
}

// ownWords returns the part of a message of the TOML library that is constant
// text: it may go on to quote the document, which may hold a secret by mistake.
func ownWords(msg string) string {
	msg = strings.TrimPrefix(msg, "toml: ")
	for _, cut := range []string{" but got", " but found", ":", "U+", "'", "\"", "`"} {
		msg, _, _ = strings.Cut(msg, cut)
	}
	for i := range len(msg) {
		if c := msg[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(" -,()", c) >= 0) {
			msg = msg[:i]
			break
		}
	}
	// A message that shows what it found without a mark before it is dropped.
	known := false
	for _, w := range []string{"expected ", "invalid ", "unterminated ", "incomplete ", "missing ", "unexpected "} {
		known = known || strings.HasPrefix(msg, w)
	}
	if msg = strings.TrimSpace(msg); msg == "" || !known {
		return ""
	}
	return ": " + msg
}

// pathKey joins a table's path and a key so that a key with dots stays apart from
// a path with the same text.
func pathKey(prefix, key string) string { return prefix + "\x00" + key }

// keyLines returns the line on which each key and table of a valid document is
// first written.
func keyLines(data []byte) map[string]int {
	var ends []int
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	lines := map[string]int{}
	note := func(prefix string, keys unstable.Iterator) string {
		for keys.Next() {
			n := keys.Node()
			p := pathKey(prefix, string(n.Data))
			if lines[p] == 0 {
				lines[p] = 1 + sort.SearchInts(ends, int(n.Raw.Offset))
			}
			prefix += string(n.Data) + "."
		}
		return prefix
	}
	var pair func(prefix string, kv *unstable.Node)
	pair = func(prefix string, kv *unstable.Node) {
		prefix = note(prefix, kv.Key())
		if v := kv.Value(); v.Kind == unstable.InlineTable {
			for it := v.Children(); it.Next(); {
				pair(prefix, it.Node())
			}
		}
	}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = note("", e.Key())
		case unstable.KeyValue:
			pair(table, e)
		}
	}
	return lines
}
