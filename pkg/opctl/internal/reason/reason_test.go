package reason

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// closedList reads executord's words from its source: mcpctl links none of it.
func closedList(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../../executor/internal/store/record/words.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "reasons" || len(v.Values) != 1 {
			return true
		}
		call, ok := v.Values[0].(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			t.Fatal("the list of reasons has another form now")
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			t.Fatal("the list of reasons is no literal")
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = strings.Fields(text)
		return false
	})
	if len(all) < 50 {
		t.Fatalf("only %d words were found", len(all))
	}
	return all
}

func TestEveryWordOfTheAuditIsExplained(t *testing.T) {
	want, have := closedList(t), Words()
	for _, w := range want {
		if !slices.Contains(have, w) {
			t.Errorf("executord may write %q, which mcpctl does not explain", w)
		}
	}
	for i, w := range have {
		if !slices.Contains(want, w) {
			t.Errorf("mcpctl explains %q, which executord does not write", w)
		}
		if slices.Contains(have[:i], w) {
			t.Errorf("%q stands twice", w)
		}
	}
}

func TestEveryMeaningIsPlainAndEveryDenialSaysWhatToDo(t *testing.T) {
	for _, w := range Words() {
		m, ok := Of(w)
		if !ok || len(m.Means) < 10 || len(m.Means)+len(m.Do) > 400 || strings.Contains(m.Do, "|") {
			t.Errorf("%s: %+v", w, m)
		}
		denial := len(w) > 3 && (strings.HasPrefix(w, "r_") || strings.HasPrefix(w, "b_") || strings.ContainsRune("gc", rune(w[0])) && w[1] >= '1' && w[1] <= '7')
		if denial && m.Do == "" {
			t.Errorf("%s is a denial, and nothing says what to do", w)
		}
	}
}

func TestAWordOfSomebodyElseIsEscaped(t *testing.T) {
	if got := Line("x\x1b[2J\u202e"); strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "does not know") {
		t.Errorf("%q", got)
	}
	if got := Line("landed"); got != "landed: a write that was given up arrived after all" {
		t.Errorf("%q", got)
	}
}
