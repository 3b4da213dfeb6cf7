package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository, seen from here.
const root = "../.."

// page is one page: its path below the root, and its text.
type page struct {
	path, text string
}

// pages returns README.md and everything in docs/ that is Markdown.
func pages(t testing.TB) []page {
	t.Helper()
	paths := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			rel, _ := filepath.Rel(root, path)
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []page
	for _, path := range paths {
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page{path, string(b)})
	}
	if len(out) < 10 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

// split parts a page into its prose and the lines of its code blocks.
func (p page) split() (prose string, code []string) {
	inside := false
	var b strings.Builder
	for line := range strings.Lines(p.text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			inside = !inside
		case inside, strings.HasPrefix(line, "    "):
			code = append(code, strings.TrimRight(line, "\n"))
		default:
			b.WriteString(line)
		}
	}
	return b.String(), code
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// slug is how the readers of Markdown name a heading in a link.
func slug(s string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(s), ""), " ", "-")
}

// brokenLinks returns the links of a page that lead nowhere. exists and read look
// below the root.
func brokenLinks(p page, exists func(string) bool, read func(string) string) (bad []string) {
	prose, _ := p.split()
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		to := m[1]
		if strings.Contains(to, "://") {
			continue
		}
		file, anchor, _ := strings.Cut(to, "#")
		target := p.path
		if file != "" {
			target = filepath.Join(filepath.Dir(p.path), file)
		}
		if strings.HasPrefix(target, "..") || !exists(target) {
			bad = append(bad, p.path+" links to "+to+", which is not there")
			continue
		}
		if anchor == "" {
			continue
		}
		found := false
		in, _ := page{target, read(target)}.split()
		for _, h := range heading.FindAllStringSubmatch(in, -1) {
			found = found || slug(h[1]) == anchor
		}
		if !found {
			bad = append(bad, p.path+" links to "+to+": there is no such heading")
		}
	}
	return bad
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

func read(path string) string {
	b, _ := os.ReadFile(filepath.Join(root, path))
	return string(b)
}

func TestEveryLinkLeadsToAFileOrAHeading(t *testing.T) {
	n := 0
	for _, p := range pages(t) {
		n += len(link.FindAllString(p.text, -1))
		for _, b := range brokenLinks(p, exists, read) {
			t.Error(b)
		}
	}
	if n < 40 {
		t.Errorf("only %d links were seen", n)
	}
}

func TestTheLinkCheckCanFail(t *testing.T) {
	p := page{"docs/a.md", "# One two\n[x](b.md) [y](#one-two) [z](#three) [w](../../etc) [v](https://example.org)\n"}
	there := func(path string) bool { return path == "docs/a.md" }
	bad := brokenLinks(p, there, func(string) string { return p.text })
	if len(bad) != 3 {
		t.Errorf("%q", bad)
	}
}

// TestEveryPageIsReachedFromTheREADME: a page that nothing links to is read by nobody.
func TestEveryPageIsReachedFromTheREADME(t *testing.T) {
	all := map[string]page{}
	for _, p := range pages(t) {
		all[p.path] = p
	}
	seen := map[string]bool{}
	var walk func(string)
	walk = func(path string) {
		p, ok := all[path]
		if !ok || seen[path] {
			return
		}
		seen[path] = true
		for _, m := range link.FindAllStringSubmatch(p.text, -1) {
			file, _, _ := strings.Cut(m[1], "#")
			walk(filepath.Join(filepath.Dir(path), file))
		}
	}
	walk("README.md")
	for path := range all {
		if !seen[path] {
			t.Errorf("no page links to %s", path)
		}
	}
}

// foreign is what belongs to one machine or to the place where modules and packages
// are fetched from: a page is the same everywhere.
var foreign = regexp.MustCompile(`(^|[^a-z0-9.])(/(work|tmp|home|root|Users|mnt)/[a-zA-Z0-9]|(proxy|sum|registry|index|mirror|mirrors|deb)\.[a-z0-9-]+\.[a-z]+|[a-z0-9-]+\.(internal|corp|lan)\b)`)

func TestNoPageNamesAMachineOrARegistry(t *testing.T) {
	for _, p := range pages(t) {
		for i, line := range strings.Split(p.text, "\n") {
			if m := foreign.FindString(line); m != "" {
				t.Errorf("%s:%d names %q", p.path, i+1, m)
			}
		}
	}
	for _, bad := range []string{"in /tmp/x", "`/home/me/x`", "https://proxy.example.org/x", "https://registry.example.com/y", "host build7.internal here"} {
		if !foreign.MatchString(bad) {
			t.Errorf("%q would not be seen", bad)
		}
	}
}
