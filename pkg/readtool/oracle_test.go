package readtool

import (
	"encoding/json/jsontext"
	"fmt"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/textsafe"
)

// questions are calls that use every operator on every field a caller without
// the flag may name, with words to look for.
func questions(t *testing.T, tool *catalog.Tool, words []string) []string {
	out := []string{`{}`}
	if !tool.List {
		return out
	}
	ask := func(entry string) {
		q, err := jsontext.AppendQuote(nil, entry)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf(`{"limit":1,"where":[%s]}`, q))
	}
	leaves(tool.Model, "", false, func(path string, f *catalog.Field, gated bool) {
		if gated {
			return
		}
		if len(f.Name) == len(path) {
			out = append(out, fmt.Sprintf(`{"fields":[%q]}`, path))
		}
		ask(path + " = null")
		ask(path + " != null")
		switch f.Kind {
		case catalog.String:
			for _, w := range words {
				for _, op := range []string{"=", "!=", "contains", "startswith"} {
					ask(path + " " + op + " " + w)
				}
			}
		case catalog.Boolean:
			ask(path + " = true")
			ask(path + " != true")
		case catalog.Integer, catalog.Number:
			for _, op := range []string{"=", "!=", "<", ">", "<=", ">="} {
				ask(path + " " + op + " 5")
			}
		}
	})
	return out
}

// asker asks one tool every question and remembers the answers for one row.
type asker struct {
	t    *testing.T
	tool *catalog.Tool
	asks []string
	f    fake
	r    *Reader
	base []string
}

func newAsker(t *testing.T, tool *catalog.Tool, words ...string) *asker {
	a := &asker{t: t, tool: tool, asks: questions(t, tool, words)}
	a.r = reader(t, Config{Client: &a.f})
	return a
}

// outcome is everything a caller can learn from a call.
func (a *asker) outcome(args string) string {
	res, err := a.r.Run(a.t.Context(), pfrest.Caller{}, a.tool, []byte(args), nil)
	if err != nil {
		e := errs.Public(err)
		return e.Class + e.Msg + e.Next
	}
	return fmt.Sprintf("%s %d %d %d %v %q", res.JSON, res.Rows, res.Scanned, res.Drift, res.Truncated, res.Notes)
}

// from makes row the one that others are compared with.
func (a *asker) from(row string) {
	a.f = *serve(a.tool, row)
	a.base = a.base[:0]
	for _, q := range a.asks {
		a.base = append(a.base, a.outcome(q))
	}
}

// compare asks every question of another row and reports the first difference.
func (a *asker) compare(path, row string) {
	a.t.Helper()
	a.f = *serve(a.tool, row)
	for i, q := range a.asks {
		if got := a.outcome(q); got != a.base[i] {
			a.t.Errorf("%s: %s tells through %s\n%s\n%s", a.tool.Name, path, q, a.base[i], got)
			return
		}
	}
}

// hiddenVariants are values that a hidden field may have; to a caller without
// the flag all are one.
var hiddenVariants = []string{
	`"alpha"`, `null`, `7`, `["alpha","beta"]`, `[{"alpha":{}}]`, `"\u202e password alpha"`, omit,
}

// TestReview10NoAnswerDependsOnAHiddenField: for every gated field of every tool, rows
// that differ only there give byte-equal answers to every operator.
func TestReview10NoAnswerDependsOnAHiddenField(t *testing.T) {
	if testing.Short() {
		t.Skip("asks some hundred thousand questions")
	}
	fields := 0
	for _, tool := range tools(t) {
		companions := map[string]bool{}
		leaves(tool.Model, "", false, func(path string, f *catalog.Field, _ bool) {
			if f.Companion != "" {
				companions[path[:len(path)-len(f.Name)]+f.Companion] = true
			}
		})
		ask := newAsker(t, tool, "alpha")
		leaves(tool.Model, "", false, func(path string, f *catalog.Field, gated bool) {
			if !gated || f.Mark&catalog.Derived != 0 {
				return
			}
			fields++
			base := build(tool.Model, "", nil, plain)
			if tool.Log && path == "text" {
				// Parts of the line are fields of their own and shown: only what
				// no shown field holds may vary.
				const line = `"Jun  9 12:00:00 fw filterlog[1]: 6,,,1001,igb0,match,block,in,4,0x0,,64,1,0,DF,17,udp,80,%s,%s,4001,53,60"`
				a := build(tool.Model, "", map[string]string{path: fmt.Sprintf(line, "10.0.0.1", "10.0.0.2")}, plain)
				b := build(tool.Model, "", map[string]string{path: fmt.Sprintf(line, "10.0.99.1", "10.99.0.2")}, plain)
				ask.from(a)
				ask.compare(path, b)
				return
			}
			ask.from(base)
			for _, v := range hiddenVariants {
				// Whether a companion is null decides, by the contract, whether a
				// shown time is one that is stored; its value may not show.
				if companions[path] && (v == "null" || v == omit) {
					continue
				}
				ask.compare(path, build(tool.Model, "", map[string]string{path: v}, plain))
			}
		})
	}
	if fields < 50 {
		t.Fatalf("only %d hidden fields were tried", fields)
	}
}

// TestReview10NoAnswerDependsOnAMaskedSecret: the same for what the scrubber masks, in
// every text of every tool.
func TestReview10NoAnswerDependsOnAMaskedSecret(t *testing.T) {
	if testing.Short() {
		t.Skip("asks some hundred thousand questions")
	}
	pairs := [][2]string{
		{"-----BEGIN PRIVATE KEY-----\nQUJDalpha\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nbetagammabeta\n-----END PRIVATE KEY-----"},
		{"https://user:alpha@host.example/", "https://user:betagamma@host.example/"},
		{"x\npassword alpha\ny", "x\npassword betagamma\ny"},
	}
	fields := 0
	for _, tool := range tools(t) {
		ask := newAsker(t, tool, "alpha")
		leaves(tool.Model, "", false, func(path string, f *catalog.Field, gated bool) {
			if gated || f.Kind != catalog.String || len(f.Values) > 0 || f.Mark&catalog.Derived != 0 {
				return
			}
			for _, p := range pairs {
				strict := f.Mark&catalog.MayEmbed != 0
				a, maskedA := textsafe.Scrub(p[0], strict)
				b, maskedB := textsafe.Scrub(p[1], strict)
				if !maskedA || !maskedB || a != b {
					continue // this kind of text is not masked here
				}
				fields++
				row := func(s string) string {
					q, _ := jsontext.AppendQuote(nil, s)
					if f.List {
						q = []byte("[" + string(q) + "]")
					}
					return build(tool.Model, "", map[string]string{path: string(q)}, plain)
				}
				ask.from(row(p[0]))
				ask.compare(path, row(p[1]))
				break // one kind of secret a field is enough
			}
		})
	}
	if fields < 50 {
		t.Fatalf("only %d masked texts were tried", fields)
	}
}
