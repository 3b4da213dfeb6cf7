package fieldcases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/fakepf/php"
	"pfsensemcp/test/suite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	if executordDir != "" {
		_ = os.RemoveAll(executordDir)
	}
	os.Exit(code)
}

var me = pfrest.Caller{UID: 1000, Session: 1}

// rig is a pretend appliance with the tools that read it.
type rig struct {
	*fakepf.Server
	t      *testing.T
	client *pfrest.Client
	reader *readtool.Reader
}

func appliance(t *testing.T, o fakepf.Options) *rig {
	t.Helper()
	s := fakepf.Start(t, o)
	c, err := pfrest.New(config(t, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r, err := readtool.New(readtool.Config{
		Client: c, ResultBytes: readtool.MaxResultBytes, ScanRows: 20_000, InterfaceNames: mcpserver.NewInterfaceNames(c).Get,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Server: s, t: t, client: c, reader: r}
}

// config is a client's that believes the appliance.
func config(t *testing.T, s *fakepf.Server) pfrest.Config {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	var eps []pfrest.Endpoint
	for _, p := range catalog.Endpoints() {
		eps = append(eps, pfrest.Endpoint(p))
	}
	return pfrest.Config{BaseURL: s.URL(), Key: secretfile.New([]byte(fakepf.ReadKey)), TLSMode: "auto", CAFile: ca, Endpoints: eps}
}

// answer is a tool's answer, or its error.
type answer struct {
	Rows     []map[string]any
	Object   map[string]any
	Returned int
	Matched  *int
	Scanned  int
	Complete bool
	Notes    []string
	Coverage *struct {
		Lines int
		First string `json:"first_time"`
		Last  string `json:"last_time"`
	}

	raw string
	err *errs.Error
}

// call runs a tool, named without its prefix; args is a JSON object.
func (r *rig) call(name, args string) answer {
	r.t.Helper()
	tool, ok := catalog.Lookup("pfsense_get_" + name)
	if !ok {
		r.t.Fatalf("no tool %s", name)
	}
	return r.run(tool, args)
}

func (r *rig) run(tool *catalog.Tool, args string) (a answer) {
	r.t.Helper()
	res, err := r.reader.Run(context.Background(), me, tool, []byte(args), nil)
	if err != nil {
		e, ok := errors.AsType[*errs.Error](err)
		if !ok {
			r.t.Fatalf("%s %s: an error without a code: %v", tool.Name, args, err)
		}
		a.err, a.raw = e, e.Error()+"\n"+e.Next
		return a
	}
	d := json.NewDecoder(strings.NewReader(string(res.JSON)))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		r.t.Fatalf("%s %s: %v", tool.Name, args, err)
	}
	a.raw = string(res.JSON)
	return a
}

// good fails the test when the answer is an error.
func (a answer) good(t *testing.T) answer {
	t.Helper()
	if a.err != nil {
		t.Fatalf("%v (class %s)", a.err, a.err.Class)
	}
	return a
}

// refused fails the test unless the answer is an error of the class.
func (a answer) refused(t *testing.T, class string) *errs.Error {
	t.Helper()
	if a.err == nil {
		t.Fatalf("want class %s, got an answer: %.300s", class, a.raw)
	}
	if a.err.Class != class {
		t.Fatalf("want class %s, got %s: %v", class, a.err.Class, a.err)
	}
	return a.err
}

// note returns the first note that holds the text.
func (a answer) note(text string) string {
	for _, n := range a.Notes {
		if strings.Contains(n, text) {
			return n
		}
	}
	return ""
}

// column returns one field of every row, as text.
func (a answer) column(field string) []string {
	var out []string
	for _, r := range a.Rows {
		out = append(out, fmt.Sprint(r[field]))
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fields makes a row to insert: names and values in turn.
func fields(kv ...any) php.Object {
	var o php.Object
	for i := 0; i < len(kv); i += 2 {
		o = append(o, php.Member{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}

// insert puts rows at the end of a model.
func (r *rig) insert(model string, rows ...php.Object) {
	r.t.Helper()
	for _, row := range rows {
		if err := r.Insert(model, 1<<30, row); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) clear(model string) {
	r.t.Helper()
	if err := r.Clear(model); err != nil {
		r.t.Fatal(err)
	}
}

// tools calls each for every tool that asks an appliance.
func tools(each func(*catalog.Tool)) {
	for _, t := range catalog.Tools() {
		if t.Path != "" {
			each(t)
		}
	}
}

// queries returns the query strings that were sent to a path.
func (r *rig) queries(path string) []string {
	var out []string
	for _, q := range r.RequestsTo(path) {
		out = append(out, q.Query)
	}
	return out
}
