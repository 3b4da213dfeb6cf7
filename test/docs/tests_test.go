package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// A test is named as `path/of_test.go` `TestName`, one file and any number of names.
	testFile = regexp.MustCompile("`([a-zA-Z0-9_/.-]+_test\\.go)`")
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	claimRow = regexp.MustCompile(`(?m)^\| *[A-Z]+[0-9]+ *\|`)
)

// missing returns the tests of a text that do not exist. In one line or row, every
// name belongs to the file before it.
func missing(where, text string, source func(string) (string, error)) (bad []string, n int) {
	for line := range strings.Lines(text) {
		file, src := "", ""
		for _, word := range span.FindAllString(line, -1) {
			if m := testFile.FindStringSubmatch(word); m != nil {
				file = m[1]
				var err error
				if src, err = source(file); err != nil {
					bad = append(bad, where+": there is no file "+file)
				}
			}
			if m := testName.FindStringSubmatch(word); m != nil {
				n++
				if !strings.Contains(src, "\nfunc "+m[1]+"(") {
					bad = append(bad, fmt.Sprintf("%s: %q has no test %s", where, file, m[1]))
				}
			}
		}
	}
	return bad, n
}

func source(path string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, path))
	return string(b), err
}

func TestEveryTestThatAPageNamesExists(t *testing.T) {
	for _, p := range pages(t) {
		bad, _ := missing(p.path, p.text, source)
		for _, b := range bad {
			t.Error(b)
		}
	}
}

// TestEveryClaimOfTheThreatModelNamesATest: a claim is a row that begins with its
// number; one without a test is a hope and belongs into the list of what is not held.
func TestEveryClaimOfTheThreatModelNamesATest(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "docs/threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	claims, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(b)) {
		id := claimRow.FindString(line)
		if id == "" {
			continue
		}
		claims++
		if seen[id] {
			t.Errorf("%s stands twice", id)
		}
		seen[id] = true
		if _, n := missing("threat model", line, source); n == 0 {
			t.Errorf("no test holds %s", strings.TrimSpace(line))
		}
	}
	if claims < 30 {
		t.Errorf("only %d claims were seen", claims)
	}
}

func TestTheCheckOfTestsCanFail(t *testing.T) {
	there := func(path string) (string, error) {
		if path == "a_test.go" {
			return "package a\n\nfunc TestOne(t *testing.T) {}\n", nil
		}
		return "", os.ErrNotExist
	}
	for text, faults := range map[string]int{
		"| T1 | x | `a_test.go` `TestOne` |\n":           0,
		"| T1 | x | `a_test.go` `TestTwo` |\n":           1,
		"| T1 | x | `b_test.go` `TestOne` |\n":           2,
		"| T1 | x | `TestOne` |\n":                       1,
		"| T1 | x | `a_test.go` `TestOne` `TestTwo` |\n": 1,
	} {
		if bad, _ := missing("x", text, there); len(bad) != faults {
			t.Errorf("%q: %q", text, bad)
		}
	}
}
