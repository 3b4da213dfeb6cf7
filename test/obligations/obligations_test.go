package obligations

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed obligations.txt
var table string

// closed are all tags there are: the letters with how many each has, the items of the
// security review, and the cases of the field that touch the write path.
func closed() (all []string) {
	for _, l := range []struct {
		letter string
		n      int
	}{{"E", 6}, {"A", 16}, {"K", 6}, {"C", 5}, {"X", 14}, {"S", 6}, {"N", 9}, {"T", 8}, {"R", 7}, {"G", 8}, {"P", 4}} {
		for i := range l.n {
			all = append(all, fmt.Sprint(l.letter, i+1))
		}
	}
	for i := range 30 {
		all = append(all, fmt.Sprintf("Review%02d", i+1))
	}
	for _, n := range []int{43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 97, 98, 100, 101, 103, 104, 106} {
		all = append(all, fmt.Sprint("Case", n))
	}
	return all
}

// firstWriteCase is where the cases of the read path end; those have tests of their own.
const firstWriteCase = "Case42"

var tag = regexp.MustCompile(`^(And)?(Review\d\d|Case\d{1,3}|[EAKCXSNTRGP]\d{1,2}|\d\d)`)

// tagsOf are the tags that a test's name begins with.
func tagsOf(name string) (tags []string) {
	rest, ok := strings.CutPrefix(name, "Test")
	if !ok {
		return nil
	}
	for {
		m := tag.FindStringSubmatch(rest)
		if m == nil {
			return tags
		}
		t := m[2]
		if t[0] >= '0' && t[0] <= '9' {
			if len(tags) == 0 || !strings.HasPrefix(tags[len(tags)-1], "Review") {
				return tags
			}
			t = "Review" + t
		}
		tags = append(tags, t)
		rest = rest[len(m[0]):]
	}
}

// tests are the names of all tests and fuzz targets of a tree, with the file.
func tests(root string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name == "bin" || name == "dist" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				all[fn.Name.Name] = path
			}
		}
		return nil
	})
	return all, err
}

// clause is one row of the table.
type clause struct {
	tag, says string
	tests     []string
	reason    string // why it does not apply, in place of tests
}

func parse(text string) (rows []clause, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Split(line, " | ")
		if len(part) != 3 || part[1] == "" || part[2] == "" {
			return nil, fmt.Errorf("line %d is not TAG | clause | tests", n+1)
		}
		c := clause{tag: part[0], says: part[1]}
		if reason, none := strings.CutPrefix(part[2], "- "); none {
			c.reason = reason
		} else {
			c.tests = strings.Fields(part[2])
		}
		rows = append(rows, c)
	}
	return rows, nil
}

// judge holds a table and the tests there are against the closed list. It returns what
// is wrong, how many tags are proven and by how many tests.
func judge(list []string, rows []clause, have map[string]string) (wrong []string, proven, count int) {
	by, spoken := map[string]int{}, map[string]bool{}
	for name, file := range have {
		tags := tagsOf(name)
		counted := false
		for _, t := range tags {
			switch {
			case slices.Contains(list, t):
				by[t]++
				counted = true
			case strings.HasPrefix(t, "Case") && (len(t) < len(firstWriteCase) || t < firstWriteCase && len(t) == len(firstWriteCase)):
			default:
				wrong = append(wrong, fmt.Sprintf("%s of %s: there is no obligation %s", name, file, t))
			}
		}
		if counted {
			count++
		}
	}
	excused := map[string]bool{}
	for _, row := range rows {
		if !slices.Contains(list, row.tag) {
			wrong = append(wrong, "the table has "+row.tag+", which is none")
		}
		spoken[row.tag] = true
		excused[row.tag] = excused[row.tag] || row.reason != ""
		for _, name := range row.tests {
			if have[name] == "" {
				wrong = append(wrong, fmt.Sprintf("%s, %s: there is no test %s", row.tag, row.says, name))
			}
		}
	}
	for _, t := range list {
		switch {
		case !spoken[t]:
			wrong = append(wrong, t+" is not in the table")
		case by[t] == 0 && !excused[t]:
			wrong = append(wrong, t+" has no test that carries it in its name")
		case by[t] > 0:
			proven++
		}
	}
	slices.Sort(wrong)
	return wrong, proven, count
}

func TestEveryObligationHasATest(t *testing.T) {
	have, err := tests(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	wrong, proven, count := judge(closed(), rows, have)
	for _, w := range wrong {
		t.Error(w)
	}
	fmt.Fprintf(os.Stdout, "obligations: %d of %d tags, %d tests\n", proven, len(closed()), count)
}

func TestTheJudgementCanFail(t *testing.T) {
	list := []string{"A1", "Review18", "Review25", "Case43"}
	good := "A1 | x | TestA1X\nReview18 | x | TestReview18And25X\nReview25 | x | TestReview18And25X\nCase43 | x | - because\n"
	have := map[string]string{"TestA1X": "a", "TestReview18And25X": "b", "TestAnything": "c", "TestCase7X": "d"}
	for what, row := range map[string]struct {
		table string
		have  map[string]string
		want  string
	}{
		"all is well":                {good, have, ""},
		"a tag without a test":       {good, map[string]string{"TestReview18And25X": "b"}, "A1 has no test that carries it in its name"},
		"a test that is gone":        {strings.Replace(good, "TestA1X", "TestA1Y", 1), have, "A1, x: there is no test TestA1Y"},
		"a tag that nobody knows":    {good, map[string]string{"TestA1X": "a", "TestReview18And25X": "b", "TestA17X": "c"}, "TestA17X of c: there is no obligation A17"},
		"a clause of no tag":         {good + "B1 | x | TestA1X\n", have, "the table has B1, which is none"},
		"a tag that is left out":     {strings.Replace(good, "Case43 | x | - because\n", "", 1), have, "Case43 is not in the table"},
		"a reason of a tag it is of": {strings.Replace(good, "- because", "TestA1X", 1), have, "Case43 has no test that carries it in its name"},
	} {
		rows, err := parse(row.table)
		if err != nil {
			t.Fatal(err)
		}
		wrong, _, _ := judge(list, rows, row.have)
		if (len(wrong) == 0) != (row.want == "") || row.want != "" && !slices.Contains(wrong, row.want) {
			t.Errorf("%s: %q", what, wrong)
		}
	}
	for _, bad := range []string{"A1 | x", "A1 |  | TestA1X", "A1 x TestA1X"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	for name, want := range map[string]string{
		"TestX9X5Both": "X9 X5", "TestReview18And25The": "Review18 Review25", "TestReview19AndG8The": "Review19 G8", "TestAThing": "", "TestT5The": "T5", "FuzzA1X": "",
		"TestSixtyFour": "", "TestN3Case100AThing": "N3 Case100", "TestCase46Case47X": "Case46 Case47", "TestA1500": "A15",
	} {
		if got := strings.Join(tagsOf(name), " "); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
