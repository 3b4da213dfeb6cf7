package readtool

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

// fake is an appliance in memory: lists by path, or an object, or an error.
type fake struct {
	data     map[string]string // path to the JSON of data
	errs     map[string]error
	walked   pfrest.Walked // merged into every walk's result
	changes  int           // restarts to make before the last reading
	requests []string
	opts     []pfrest.WalkOptions
	get      func(path string, p pfrest.Page) (pfrest.Answer, error)

	last  string // the list that was split last, and its rows
	split [][]byte
}

// rows returns the entries of a path's list.
func (f *fake) rows(path string) [][]byte {
	if list := f.data[path]; f.split == nil || list != f.last {
		f.last, f.split = list, split(list)
	}
	return f.split
}

func (f *fake) Get(_ context.Context, _ pfrest.Caller, ep pfrest.Endpoint, p pfrest.Page) (pfrest.Answer, error) {
	f.requests = append(f.requests, fmt.Sprintf("%s?%d", ep, p.Limit))
	if f.get != nil {
		return f.get(string(ep), p)
	}
	if err := f.errs[string(ep)]; err != nil {
		return pfrest.Answer{}, err
	}
	data := f.data[string(ep)]
	if p.Limit > 0 { // the newest lines, in ascending order
		rows := f.rows(string(ep))
		rows = rows[max(0, len(rows)-p.Limit):]
		data = "[" + string(bytes.Join(rows, []byte(","))) + "]"
	}
	return pfrest.Answer{Data: jsontext.Value(data), Links: f.walked.Links, Bytes: len(data)}, nil
}

func (f *fake) Walk(ctx context.Context, _ pfrest.Caller, ep pfrest.Endpoint, o pfrest.WalkOptions, each func(jsontext.Value, int) bool) (pfrest.Walked, error) {
	f.requests = append(f.requests, string(ep))
	f.opts = append(f.opts, o)
	if err := f.errs[string(ep)]; err != nil {
		return pfrest.Walked{}, err
	}
	w := f.walked
	rows := f.rows(string(ep))
	for range f.changes {
		for i := range min(3, len(rows)) {
			each(clone(rows[i]), i)
		}
		o.Restart()
	}
	w.Complete = true
	for i, r := range rows {
		if ctx.Err() != nil {
			return w, ctx.Err()
		}
		if w.Rows == o.MaxRows {
			w.Complete, w.More = false, true
			break
		}
		w.Rows++
		scratch := clone(r)
		more := each(scratch, i)
		for j := range scratch { // a row is only valid during the call
			scratch[j] = 'X'
		}
		if o.Progress != nil && w.Rows%o.PageSize == 0 {
			o.Progress(w.Rows)
		}
		if !more {
			w.Complete = false
			break
		}
	}
	return w, nil
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// split returns the entries of a JSON list.
func split(list string) [][]byte {
	if list == "" {
		return nil
	}
	var rows []jsontext.Value
	if err := json.Unmarshal([]byte(list), &rows); err != nil {
		panic(err)
	}
	out := make([][]byte, len(rows))
	for i, r := range rows {
		out[i] = r
	}
	return out
}

const testPath = "/api/v2/test/rows"

// testTool is a small list tool with every kind of field.
func testTool() *catalog.Tool {
	conn := &catalog.Model{Name: "Conn", Fields: []catalog.Field{
		{Name: "user", Gate: catalog.Personal},
		{Name: "port", Kind: catalog.Integer},
	}}
	return &catalog.Tool{
		Name: "pfsense_get_test_rows", Path: testPath, List: true, MaxLimit: 100, Kind: catalog.RuntimeStatus,
		Model: &catalog.Model{Name: "TestRow", Fields: []catalog.Field{
			{Name: "id", Kind: catalog.Integer, Mark: catalog.Key},
			{Name: "name", Mark: catalog.Key},
			{Name: "type", Values: []string{"host", "network"}},
			{Name: "interface", Mark: catalog.InterfaceName},
			{Name: "address", Gate: catalog.Network, Mark: catalog.Address},
			{Name: "bytes", Kind: catalog.Integer, Mark: catalog.Volatile},
			{Name: "options", Mark: catalog.FreeText | catalog.MayEmbed},
			{Name: "conns", Kind: catalog.Object, List: true, Model: conn},
		}},
	}
}

func rows(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"row%d","type":"host","interface":"lan","address":"10.0.0.%d:%d","bytes":%d,"options":"","conns":[]}`, i, i, i%250, 1000+i, i*10)
	}
	return "[" + b.String() + "]"
}

type answer struct {
	Rows     []map[string]jsontext.Value `json:"rows"`
	Object   map[string]jsontext.Value   `json:"object"`
	Returned int                         `json:"returned"`
	Matched  *int                        `json:"matched"`
	Scanned  int                         `json:"scanned"`
	Complete bool                        `json:"complete"`
	Coverage *struct {
		Lines int     `json:"lines"`
		First *string `json:"first_time"`
		Last  *string `json:"last_time"`
	} `json:"coverage"`
	Notes []string `json:"notes"`
}

func reader(t testing.TB, c Config) *Reader {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t testing.TB, r *Reader, tool *catalog.Tool, args string) (answer, Result) {
	t.Helper()
	res, err := r.Run(t.Context(), pfrest.Caller{}, tool, []byte(args), nil)
	if err != nil {
		e := errs.Public(err)
		t.Fatalf("%s %s: %s %q %q", tool.Name, args, e.Class, e.Msg, e.Next)
	}
	var a answer
	if err := json.Unmarshal(res.JSON, &a, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v: %s", err, res.JSON)
	}
	return a, res
}

func fails(t testing.TB, r *Reader, tool *catalog.Tool, args string) *errs.Error {
	t.Helper()
	res, err := r.Run(t.Context(), pfrest.Caller{}, tool, []byte(args), nil)
	if err == nil {
		t.Fatalf("%s is accepted: %s", args, res.JSON)
	}
	return errs.Public(err)
}

func hasNote(notes []string, part string) bool {
	for _, n := range notes {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}
