package docs

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/test/programs"
)

// within bounds a replay, which builds programs in a tree of its own.
const within = 20 * time.Minute

// tree is a copy of the repository that may be changed.
type tree struct {
	t   *testing.T
	dir string
}

// copied copies the repository without what is built and what git keeps.
func copied(t *testing.T) *tree {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a copy of the tree")
	}
	c := &tree{t, filepath.Join(t.TempDir(), "copy")}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		to := filepath.Join(c.dir, rel)
		switch {
		case d.IsDir() && (slices.Contains([]string{".git", "bin", "dist"}, rel) || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular(), strings.HasSuffix(path, ".test"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a command in the copy and returns what it printed and whether it went well.
func (c *tree) run(name string, args ...string) (string, bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as programs.Build has it
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err == nil
}

// trimmed are the flags with which a package of the copy is the package that the tree
// itself was built from for its programs, so that the compiler is asked for what was
// changed alone: without -trimpath each copy is compiled from nothing. Vetting is make
// check's.
func trimmed() []string { return []string{"-trimpath", "-tags", programs.Shipped} }

// test runs tests of packages of the copy.
func (c *tree) test(dirs []string, names string, more ...string) (string, bool) {
	c.t.Helper()
	args := slices.Concat([]string{"test", "-vet=off", "-count=1", "-run", "^(" + names + ")$"}, trimmed())
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	return c.run("go", append(args, more...)...)
}

func (c *tree) read(path string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, path))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func (c *tree) write(path, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, path), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// example is the row of the developer's page, and its name.
func example(t *testing.T) (row, name string) {
	t.Helper()
	text := read("docs/developer.md")
	_, rest, ok := strings.Cut(text, "```go\n\t{\n")
	row, _, ended := strings.Cut(rest, "```")
	m := regexp.MustCompile(`Name: +"([a-z0-9_]+)"`).FindStringSubmatch(row)
	if !ok || !ended || m == nil {
		t.Fatal("docs/developer.md has no example of a row")
	}
	return "\t{\n" + row, m[1]
}

// TestTheExampleToolIsOneRow adds the row of the developer's page, as the page says,
// and nothing else, and lets the tests of every tool loose on it.
func TestTheExampleToolIsOneRow(t *testing.T) {
	row, name := example(t)
	c := copied(t)
	const rows = "pkg/catalog/rows_extended.go"
	const head = "var extendedRows = []*Tool{\n"
	was := c.read(rows)
	if !strings.Contains(was, head) || strings.Contains(was, name) {
		t.Fatal("the example does not fit " + rows)
	}
	c.write(rows, strings.Replace(was, head, head+row, 1))

	out, ok := c.run("go", slices.Concat([]string{"run"}, trimmed(), []string{"./deploy/gendocs"})...)
	if !ok || !strings.Contains(out, "### "+name+"\n") {
		t.Fatalf("the page of tools does not have it: %.400s", out)
	}
	c.write("docs/tools.md", out)

	contract := "test/testdata/mcp/contract.json"
	before := c.read(contract)
	for _, step := range []struct {
		what, dir, tests string
		more             []string
	}{
		{"the table's rules", "pkg/catalog", "Test.*", nil},
		{"every tool on the pretend appliance, by its schema", "test/surface", "TestEveryToolAnswersOnThePretendApplianceByItsOwnSchema|TestTheListHasExactly.*|TestEveryHintIsWhatTheCallDoes|TestWhatIsServedIsWhatRealClientsTake", nil},
		{"the shipped programs offer it", "test/suite", "TestDefaultInstallListsZeroWriteTools", nil},
		{"make contract", "test/contract", "TestTheServedSurfaceIsTheContract", []string{"-update"}},
	} {
		if out, ok := c.test([]string{step.dir}, step.tests, step.more...); !ok {
			t.Fatalf("%s: %s", step.what, tail(out))
		}
	}
	added, gone := lines(before, c.read(contract)), lines(c.read(contract), before)
	for _, l := range added {
		if !strings.Contains(l, name) {
			t.Errorf("the contract has another new line: %.200s", l)
		}
	}
	if len(added) == 0 || len(gone) > 1 { // the list of the toolset is one line
		t.Errorf("%d lines of the contract are new, %d are gone", len(added), len(gone))
	}
}

// lines returns the lines of b that a does not have.
func lines(a, b string) (out []string) {
	have := strings.Split(a, "\n")
	for _, l := range strings.Split(b, "\n") {
		if !slices.Contains(have, l) {
			out = append(out, l)
		}
	}
	return out
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// TestEveryBreakOfTheDevelopersPageIsSeen: the page says which check notices which
// fault. Each fault is made alone, and its test is seen to hold before.
func TestEveryBreakOfTheDevelopersPageIsSeen(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([^`]+\\.go)` \\| `([^`]+)` \\| `([^`]+)` \\| `([^`]+_test\\.go)` `(Test[A-Za-z0-9_]+)` \\|$")
	breaks := row.FindAllStringSubmatch(read("docs/developer.md"), -1)
	if len(breaks) < 4 {
		t.Fatalf("%d breaks", len(breaks))
	}
	c := copied(t)
	var dirs, names []string
	for _, b := range breaks {
		dirs, names = append(dirs, filepath.Dir(b[4])), append(names, b[5])
	}
	out, ok := c.test(dirs, strings.Join(names, "|"), "-v")
	for _, name := range names {
		if !ok || !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Fatalf("%s does not hold as it is: %s", name, tail(out))
		}
	}
	for _, b := range breaks {
		file, old, bad, dir, name := b[1], b[2], b[3], filepath.Dir(b[4]), b[5]
		was := c.read(file)
		if !strings.Contains(was, old) {
			t.Errorf("%s does not hold %s", file, old)
			continue
		}
		c.write(file, strings.Replace(was, old, bad, 1))
		out, ok := c.test([]string{dir}, name)
		if ok || !strings.Contains(out, "--- FAIL: "+name) {
			t.Errorf("%s does not see %s in %s: %s", name, bad, file, tail(out))
		}
		c.write(file, was)
	}
}
