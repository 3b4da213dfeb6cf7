package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/textsafe"
)

// maxText is the bound of one text that is shown (readtool).
const maxText = 16 << 10

// expect says what of a recorded value a model's field is to show. It is
// written apart from readtool: over maps, not over a stream.
func expect(f *catalog.Field, up map[string]any, flag bool) (want any, shown bool) {
	if f.Gate != catalog.Shown && !flag {
		if f.List {
			return []any{}, true
		}
		return nil, true
	}
	v, sent := up[f.UpName()]
	if !sent {
		return nil, false
	}
	if f.Mark&catalog.RequestTime != 0 && up[f.Companion] == nil {
		return nil, true
	}
	if f.List && v != nil {
		list, ok := v.([]any)
		if !ok {
			return nil, true
		}
		out := []any{}
		for _, e := range list {
			out = append(out, scalar(f, e, flag))
		}
		return out, true
	}
	return scalar(f, v, flag), true
}

func scalar(f *catalog.Field, v any, flag bool) any {
	switch v := v.(type) {
	case map[string]any:
		if f.Kind != catalog.Object {
			return nil
		}
		return object(f.Model, v, flag)
	case string:
		if f.Kind != catalog.String {
			return nil
		}
		if f.Mark&catalog.TrimEnd != 0 {
			v = strings.TrimRight(v, "\r\n")
		}
		if slices.Contains(f.Values, v) {
			return v
		}
		v, _ = textsafe.Scrub(v, f.Mark&catalog.MayEmbed != 0)
		return textsafe.Clean(v, maxText)
	case json.Number:
		if f.Kind == catalog.Integer && !strings.ContainsAny(string(v), ".eE") || f.Kind == catalog.Number {
			return v
		}
		return nil
	case bool:
		if f.Kind == catalog.Boolean {
			return v
		}
		return nil
	}
	return nil
}

func object(m *catalog.Model, up map[string]any, flag bool) map[string]any {
	out := map[string]any{}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Mark&catalog.Derived != 0 {
			continue
		}
		if v, shown := expect(f, up, flag); shown {
			out[f.Name] = v
		}
	}
	return out
}

// rowsOf returns the recorded rows a tool speaks of, in its order.
func rowsOf(t *testing.T, a *Appliance, tool *catalog.Tool) ([]map[string]any, bool) {
	t.Helper()
	path := tool.Path
	if tool.Reads != nil {
		path = tool.Reads.Path
	}
	data, ok := a.data(path)
	if !ok {
		return nil, false
	}
	if !tool.List {
		o, ok := data.(map[string]any)
		if !ok {
			t.Fatalf("%s: the record is no object", path)
		}
		return []map[string]any{o}, true
	}
	list, ok := data.([]any)
	if !ok {
		t.Fatalf("%s: the record is no list", path)
	}
	var out []map[string]any
	for _, e := range list {
		o := e.(map[string]any)
		if tool.Reads == nil {
			out = append(out, o)
			continue
		}
		children, _ := o[tool.Reads.Field].([]any)
		for _, c := range children {
			child := c.(map[string]any)
			child["parent_id"] = o["id"]
			out = append(out, child)
		}
	}
	if tool.Log {
		slices.Reverse(out)
	}
	return out, true
}

// result is a tool's structured content, decoded on its own.
type result struct {
	Rows     []map[string]any
	Object   map[string]any
	Returned int
	Matched  *int
	Scanned  int
	Complete bool
	Notes    []string
}

func run(t *testing.T, r *readtool.Reader, tool *catalog.Tool, args string) (result, readtool.Result) {
	t.Helper()
	got, err := r.Run(context.Background(), pfrest.Caller{UID: 1000, Session: 1}, tool, []byte(args), nil)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	var v result
	d := json.NewDecoder(strings.NewReader(string(got.JSON)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return v, got
}

// all reads every row of a list by offset, as a client would.
func all(t *testing.T, r *readtool.Reader, tool *catalog.Tool, flag string, most int) []map[string]any {
	t.Helper()
	var rows []map[string]any
	for {
		args := fmt.Sprintf(`{"limit":%d,"offset":%d%s}`, tool.MaxLimit, len(rows), flag)
		v, got := run(t, r, tool, args)
		if v.Returned != len(v.Rows) || got.Rows != v.Returned {
			t.Errorf("%s: returned %d, %d rows, %d", args, v.Returned, len(v.Rows), got.Rows)
		}
		checkNotes(t, got)
		rows = append(rows, v.Rows...)
		if len(v.Rows) == 0 || v.Complete || len(rows) >= most {
			if v.Complete && v.Matched != nil && *v.Matched != len(rows) {
				t.Errorf("complete with %d of %d rows", len(rows), *v.Matched)
			}
			return rows
		}
	}
}

// checkNotes fails on drift: these answers are what the models were made from.
func checkNotes(t *testing.T, got readtool.Result) {
	t.Helper()
	if got.Drift != 0 {
		t.Errorf("%d values do not fit the model: %q", got.Drift, got.Notes)
	}
	for _, n := range got.Notes {
		if strings.Contains(n, "unexpected type") || strings.Contains(n, "does not send") || strings.Contains(n, "left out") || strings.Contains(n, "cut") && strings.Contains(n, "too large") {
			t.Errorf("note %q", n)
		}
	}
}

// TestEveryToolShowsTheRecordedValues runs every tool of the table over the
// recorded answers, with the identifying fields and without them.
func TestEveryToolShowsTheRecordedValues(t *testing.T) {
	a := NewAppliance(t)
	r := reader(t, serve(t, a))
	tools, values := 0, 0
	for _, tool := range catalog.Tools() {
		if tool.Path == "" {
			continue
		}
		rows, ok := rowsOf(t, a, tool)
		if !ok {
			t.Errorf("%s: no recorded answer of %s", tool.Name, tool.Path)
			continue
		}
		tools++
		for _, flag := range []bool{false, true} {
			if flag && !catalog.HasGate(tool.Model) {
				continue
			}
			t.Run(tool.Name+"/identifying_"+strconv.FormatBool(flag), func(t *testing.T) {
				values += compare(t, r, tool, rows, flag)
			})
		}
	}
	if tools < 90 || values < 3000 {
		t.Errorf("only %d tools and %d values were compared", tools, values)
	}
	t.Logf("%d tools, %d values", tools, values)
}

// compare reads the tool and compares every row and field.
func compare(t *testing.T, r *readtool.Reader, tool *catalog.Tool, rows []map[string]any, flag bool) (values int) {
	t.Helper()
	flagArg := ""
	if flag {
		flagArg = `,"include_identifying_metadata":true`
	}
	var got []map[string]any
	if tool.List {
		// A log has thousands of lines of one form: the newest ones will do.
		most := 100_000
		if tool.Log {
			most = 2 * tool.MaxLimit
		}
		got = all(t, r, tool, flagArg, most)
		if tool.Log && len(got) < len(rows) {
			rows = rows[:len(got)]
		}
	} else {
		v, res := run(t, r, tool, "{"+strings.TrimPrefix(flagArg, ",")+"}")
		checkNotes(t, res)
		got = []map[string]any{v.Object}
	}
	if len(got) != len(rows) {
		t.Fatalf("%d rows, recorded %d", len(got), len(rows))
	}
	for i, row := range rows {
		want := object(tool.Model, row, flag)
		for _, f := range tool.Model.Fields {
			if f.Mark&catalog.Derived != 0 {
				delete(got[i], f.Name)
			}
		}
		if tool.Log { // the id is the place in one answer: not the same in two
			delete(want, "id")
			delete(got[i], "id")
		}
		values += len(want)
		if d := cmp.Diff(want, got[i]); d != "" {
			t.Fatalf("row %d (-recorded +shown):\n%s", i, d)
		}
	}
	return values
}

// TestAWrongValueWouldBeSeen proves that the comparison can fail: a changed
// value, a missing row and a value that a gate should have hidden.
func TestAWrongValueWouldBeSeen(t *testing.T) {
	a := NewAppliance(t)
	tool, _ := catalog.Lookup("pfsense_get_firewall_rules")
	rows, _ := rowsOf(t, a, tool)
	r := reader(t, serve(t, a))
	got := all(t, r, tool, "", 1000)
	for name, change := range map[string]func(up map[string]any){
		"a changed text":    func(up map[string]any) { up["descr"] = "another" },
		"a changed boolean": func(up map[string]any) { up["disabled"] = !up["disabled"].(bool) },
		"a changed number":  func(up map[string]any) { up["tracker"] = json.Number("9007199254740993") },
		"a null":            func(up map[string]any) { up["statetype"] = nil },
		"a missing field":   func(up map[string]any) { delete(up, "type") },
		"a longer list":     func(up map[string]any) { up["interface"] = append(up["interface"].([]any), "lan") },
	} {
		up := map[string]any{}
		for k, v := range rows[3] {
			up[k] = v
		}
		change(up)
		if cmp.Equal(object(tool.Model, up, false), got[3]) {
			t.Errorf("%s is not seen", name)
		}
	}
	if cmp.Equal(object(tool.Model, rows[3], true), got[3]) {
		t.Error("the identifying fields make no difference")
	}
}
