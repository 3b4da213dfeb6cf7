package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/test/fakedocs"
)

func parsed(t testing.TB, tree fakedocs.Tree) *Index {
	t.Helper()
	ix, err := Parse(bytes.NewReader(fakedocs.Encode(tree)))
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func fieldOf(t testing.TB, ix *Index, model, name string) Field {
	t.Helper()
	m, ok := ix.Model(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	for _, f := range m.Fields {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no field %s.%s", model, name)
	return Field{}
}

func TestAnOperationIsReadFromItsLabels(t *testing.T) {
	ix := parsed(t, fakedocs.Small())
	got, ok := ix.Operation("/api/v2/firewall/alias", "PATCH")
	want := &Operation{
		Path: "/api/v2/firewall/alias", Verb: "PATCH", ID: "patchFirewallAliasEndpoint",
		Description: "Changes what is at /api/v2/firewall/alias.", Type: "Singular", Model: "FirewallAlias",
		Auth: "yes", Applies: "no", AuthModes: List{Stated: true, Items: []string{"BasicAuth", "JWTAuth", "KeyAuth"}},
		Privileges: List{Stated: true, Items: []string{"page-all", "api-v2-firewall-alias-patch"}}, Packages: List{Stated: true},
		Params: []Param{{Name: "id", Place: "body", Type: "integer", Required: true}},
		Body:   "FirewallAlias", Required: []string{"id"}, Adds: []Param{{Name: "id", Type: "integer"}},
	}
	if d := cmp.Diff(want, got); !ok || d != "" {
		t.Error(d)
	}
	got, _ = ix.Operation("/api/v2/firewall/aliases", "GET")
	if d := cmp.Diff([]Param{
		{Name: "limit", Place: "query", Type: "integer", Description: "At most so many."},
		{Name: "offset", Place: "query", Type: "integer", Description: "From here on."},
	}, got.Params); d != "" || len(got.Adds) != 1 {
		t.Error(d, got.Adds)
	}
	if d := cmp.Diff([]string{"DELETE", "GET", "PATCH", "POST"}, ix.Verbs("/api/v2/firewall/alias")); d != "" {
		t.Error(d)
	}
	for _, none := range [][2]string{{"/api/v2/firewall/alias", "PUT"}, {"/api/v2/firewall/ali", "GET"}, {"", ""}} {
		if _, ok := ix.Operation(none[0], none[1]); ok || len(ix.Verbs("/api/v2/firewall/ali")) > 0 {
			t.Errorf("%v is found", none)
		}
	}
	if ix.Version != fakedocs.Version || ix.License != "Apache 2.0" || ix.OpenAPI != "3.0.0" || len(ix.Hash) != 64 || ix.Bytes == 0 {
		t.Errorf("%+v", ix)
	}
}

func TestAFieldKeepsWhatMatters(t *testing.T) {
	ix := parsed(t, fakedocs.Small())
	for _, c := range []struct {
		model string
		want  Field
	}{
		{"FirewallAlias", Field{Name: "type", Type: "string", Description: "What its entries are.", Required: Yes, Enum: []string{"host", "network", "port"}, MaxLength: 1024}},
		{"FirewallAlias", Field{Name: "address", Type: "array", Item: "string", Description: "Its entries.", Required: No, MaxLength: 1024}},
		{"FirewallSchedule", Field{Name: "timerange", Type: "array", Item: "object", Model: "FirewallScheduleTimeRange", Description: "When it holds.", Required: Yes}},
		{"FirewallSchedule", Field{Name: "active", Type: "boolean", Description: "Whether it holds now.", Required: No, Nullable: true, ReadOnly: true}},
		// No endpoint creates a time range alone: the list that nests it says what it needs.
		{"FirewallScheduleTimeRange", Field{Name: "month", Type: "string", Description: "Months.", Required: Yes, MaxLength: 64}},
		{"FirewallScheduleTimeRange", Field{Name: "hour", Type: "string", Description: "From and to.", Required: No, MaxLength: 64}},
		{"Probe", Field{Name: "mode", Type: "string", Description: "How it looks.", Enum: []string{"plain", "deep"}, Default: `"plain"`}},
		{"Probe", Field{Name: "kinds", Type: "array", Item: "string", Description: "What it looks for.", Enum: []string{"any", "one", "two"}, Default: `["any"]`}},
		{"Probe", Field{Name: "limit", Type: "integer", Description: "How often it looks.", Minimum: "1", Maximum: "65535", Default: "10"}},
		{"Probe", Field{Name: "secret", Type: "string", Description: "Its password.", WriteOnly: true, Default: `""`}},
		{"Probe", Field{Name: "seed", Type: "string", Description: "Where it begins.", Default: SecretPrefix + digest(`"0x9f31c07be2d84a56a1b0c9d8e7f60512"`)}},
		{"Probe", Field{Name: "parent", Model: "FirewallAlias", Description: "What it belongs to."}},
		{"Probe", Field{Name: "self", Model: "Probe", Description: "Itself again."}},
		{"Probe", Field{Name: "either", Type: "integer or string", Description: "One or the other."}},
	} {
		if d := cmp.Diff(c.want, fieldOf(t, ix, c.model, c.want.Name), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s.%s: %s", c.model, c.want.Name, d)
		}
	}
}

func TestAConditionIsKeptOutOfTheCut(t *testing.T) {
	f := fieldOf(t, parsed(t, fakedocs.Small()), "Probe", "depth")
	if f.Condition != "`mode` must be equal to `'deep'`; `limit` must be equal to `10`" {
		t.Error(f.Condition)
	}
	if len(f.Description) > MaxFieldText || f.Cut == 0 || strings.Contains(f.Description, "only available") || f.Default != "null" {
		t.Errorf("%+v", f)
	}
}

func TestP2ALabelThatChangesStopsMatching(t *testing.T) {
	tree := fakedocs.Small()
	op := fakedocs.At(tree, "paths", "/api/v2/firewall/aliases", "get")
	change := func(from, to string) *Operation {
		t.Helper()
		was := op["description"].(string)
		if !strings.Contains(was, from) {
			t.Fatalf("%q is not there", from)
		}
		op["description"] = strings.Replace(was, from, to, 1)
		defer func() { op["description"] = was }()
		got, _ := parsed(t, tree).Operation("/api/v2/firewall/aliases", "GET")
		return got
	}
	if got := change("**Allowed privileges**", "**Permitted privileges**"); got.Privileges.Stated || got.Model != "FirewallAlias" {
		t.Errorf("%+v", got)
	}
	if got := change("**Requires authentication**: Yes", "**Requires authentication**: Maybe"); got.Auth != "" {
		t.Errorf("%+v", got)
	}
	if got := change("<h3>Details:</h3>", "<h3>More:</h3>"); got.Privileges.Stated || !strings.Contains(got.Description, "More") {
		t.Errorf("%+v", got)
	}
	for _, list := range []string{"[ ]", "[]", "[ a, ]", "[ a, , b ]", "a, b", "[ a", "[ a b ]"} {
		got := change("[ page-all, api-v2-firewall-aliases-get ]", list)
		if !got.Privileges.Stated || !got.Privileges.Malformed || got.Privileges.Items != nil {
			t.Errorf("%s: %+v", list, got.Privileges)
		}
	}
	if got := change("[ page-all, api-v2-firewall-aliases-get ]", "[b,  a ,b]"); !cmp.Equal(got.Privileges, List{Stated: true, Items: []string{"b", "a"}}) {
		t.Errorf("%+v", got.Privileges)
	}
	if got := change("page-all, api-v2-firewall-aliases-get", "None"); !cmp.Equal(got.Privileges, List{Stated: true}) {
		t.Errorf("%+v", got.Privileges)
	}
	// In bold marks of the other kind, and with the colon inside them.
	if got := change("**Endpoint type**: Plural", "<b>Endpoint type:</b> Plural"); got.Type != "Plural" {
		t.Errorf("%+v", got)
	}
}

func TestTheOrderOfMembersIsNothing(t *testing.T) {
	tree := fakedocs.Small()
	fakedocs.At(tree, "info")["x-build"] = fakedocs.Tree{"b": 1, "a": 2}
	one, err := Parse(bytes.NewReader(fakedocs.Encode(tree)))
	if err != nil {
		t.Fatal(err)
	}
	two, err := Parse(bytes.NewReader(fakedocs.Reordered(tree)))
	if err != nil {
		t.Fatal(err)
	}
	if one.Hash == two.Hash {
		t.Fatal("the documents are the same, so this shows nothing")
	}
	if d := cmp.Diff(one, two, cmp.AllowUnexported(Index{}), cmpopts.IgnoreFields(Index{}, "Hash", "Bytes")); d != "" {
		t.Error(d)
	}
}

func TestExtensionsAreFoundDownToDepthFive(t *testing.T) {
	tree := fakedocs.Small()
	tree["x-1"] = "root"
	fakedocs.At(tree, "info")["x-2"] = []any{2}
	fakedocs.At(tree, "components", "schemas", "Probe")["x-4"] = true
	fakedocs.At(tree, "paths", "/api/v2/services/probe", "get")["x-4"] = fakedocs.Tree{"z": 1, "a": "b"}
	fakedocs.At(tree, "paths", "/api/v2/services/probe", "get", "responses")["x-5"] = nil
	fakedocs.At(tree, "paths", "/api/v2/services/probe", "get", "responses", "401")["x-6"] = "too deep"
	tree["tags"].([]any)[0].(fakedocs.Tree)["x-3"] = strings.Repeat("long ", 100)
	// A field is no extension, whatever its name.
	fakedocs.At(tree, "components", "schemas", "Probe", "properties")["x-field"] = fakedocs.Tree{"type": "string"}
	ix := parsed(t, tree)
	want := []Extension{
		{"/components/schemas/Probe/x-4", "true"},
		{"/info/x-2", "[2]"},
		{"/paths/~1api~1v2~1services~1probe/get/responses/x-5", "null"},
		{"/paths/~1api~1v2~1services~1probe/get/x-4", `{"a":"b","z":1}`},
		{"/tags/0/x-3", ""},
		{"/x-1", `"root"`},
	}
	got := ix.Extensions()
	if len(got) == len(want) && strings.Contains(got[4].Value, "sha256") && len(got[4].Value) <= MaxValue {
		want[4].Value = got[4].Value
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	fieldOf(t, ix, "Probe", "x-field")
}

func TestMarkupAndLinksDoNotGetIn(t *testing.T) {
	tree := fakedocs.Small()
	op := fakedocs.At(tree, "paths", "/api/v2/services/probe", "get")
	op["description"] = fakedocs.Details(`Reads<script>steal()</script> <a href="https://evil.example">it</a> at https://evil.example/x `+"\u202e", "Singular", "Probe", "page-all", "None", "Yes")
	fakedocs.At(tree, "components", "schemas", "Probe", "properties", "mode")["description"] = "See <style>x</style>//evil.example/y now<br>"
	ix := parsed(t, tree)
	got, _ := ix.Operation("/api/v2/services/probe", "GET")
	if got.Description != "Reads it at [link removed]" || got.Applies != "yes" {
		t.Errorf("%q", got.Description)
	}
	if f := fieldOf(t, ix, "Probe", "mode"); f.Description != "See [link removed] now" {
		t.Errorf("%q", f.Description)
	}
}

func TestWhatIsNoDocumentIsCorrupt(t *testing.T) {
	good := string(fakedocs.Encode(fakedocs.Small()))
	tree := func(change func(fakedocs.Tree)) string {
		x := fakedocs.Small()
		change(x)
		return string(fakedocs.Encode(x))
	}
	twice := strings.Replace(good, `"Success":`, `"Probe":{"type":"object"},"Success":`, 1)
	for name, doc := range map[string]string{
		"nothing":                 "",
		"half of it":              good[:len(good)/2],
		"something behind it":     good + "{}",
		"a list":                  "[" + good + "]",
		"a text":                  `"openapi"`,
		"a web page":              "<html></html>",
		"bytes that are no UTF-8": strings.Replace(good, "Pretend REST", "Pretend \xff REST", 1),
		"no version":              tree(func(x fakedocs.Tree) { delete(x, "openapi") }),
		"an older format":         tree(func(x fakedocs.Tree) { x["openapi"] = "2.0" }),
		"no paths":                tree(func(x fakedocs.Tree) { x["paths"] = fakedocs.Tree{} }),
		"paths that are none":     tree(func(x fakedocs.Tree) { x["paths"] = "x" }),
		"no models":               tree(func(x fakedocs.Tree) { delete(x, "components") }),
		"a model twice":           twice,
		"an operation twice":      strings.Replace(good, `"get":`, `"get":{},"get":`, 1),
		"a field twice":           strings.Replace(good, `"code":`, `"code":{},"code":`, 1),
		"nested without end":      strings.Replace(good, `"tags":[`, `"tags":[`+strings.Repeat("[", 20000), 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(doc))
			e, ok := errors.AsType[*errs.Error](err)
			if !ok || e.Class != ClassCorrupt || e.Err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOddNamesAreLeftOutAndCounted(t *testing.T) {
	tree := fakedocs.Small()
	schemas := fakedocs.At(tree, "components", "schemas")
	schemas["Not a name"] = fakedocs.Tree{"type": "object"}
	schemas[strings.Repeat("N", 65)] = fakedocs.Tree{"type": "object"}
	fakedocs.At(tree, "components", "schemas", "Probe", "properties")["with blank"] = fakedocs.Tree{"type": "string"}
	fakedocs.At(tree, "paths")["api/v2/no/slash"] = fakedocs.Tree{"get": fakedocs.Tree{}}
	fakedocs.At(tree, "paths")["/api/v2/\u202ex"] = fakedocs.Tree{"get": fakedocs.Tree{}}
	ix := parsed(t, tree)
	if ix.Odd != 5 || len(ix.ModelNames()) != 5 || len(ix.Operations()) != 8 {
		t.Errorf("odd %d, models %d, operations %d", ix.Odd, len(ix.ModelNames()), len(ix.Operations()))
	}
}

func TestWrongTypesAreNotStated(t *testing.T) {
	tree := fakedocs.Small()
	fakedocs.At(tree, "paths", "/api/v2/services/probe")["get"] = fakedocs.Tree{
		"operationId": []any{1}, "description": fakedocs.Tree{"a": "b"}, "parameters": "none", "requestBody": 7, "responses": []any{},
	}
	fakedocs.At(tree, "components", "schemas", "Probe")["properties"] = fakedocs.Tree{
		"a": fakedocs.Tree{"type": []any{"string", "null"}, "enum": "x", "nullable": fakedocs.Tree{"deep": []any{1}}, "readOnly": "yes", "maxLength": -1, "minimum": "1", "items": "x", "$ref": "elsewhere.json"},
		"b": "no schema",
	}
	ix := parsed(t, tree)
	if got, _ := ix.Operation("/api/v2/services/probe", "GET"); !cmp.Equal(*got, Operation{Path: "/api/v2/services/probe", Verb: "GET"}) {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"a", "b"} {
		if f := fieldOf(t, ix, "Probe", name); !cmp.Equal(f, Field{Name: name}) {
			t.Errorf("%+v", f)
		}
	}
}

func TestOneTokenCannotFillTheMemory(t *testing.T) {
	long := strings.Repeat("word ", 2<<20/5)
	good := string(fakedocs.Encode(fakedocs.Small()))
	for name, doc := range map[string]string{
		"a description":     strings.Replace(good, `"What rules call it.<br>"`, `"`+long+`"`, 1),
		"something skipped": strings.Replace(good, `"tags":[`, `"tags":["`+long+`",`, 1),
		"a name":            strings.Replace(good, `"Success":`, `"`+long+`":1,"Success":`, 1),
		"a default":         strings.Replace(good, `"default":"plain"`, `"default":["`+strings.Repeat(`a","`, 1<<19)+`"]`, 1),
		"an extension":      strings.Replace(good, `"info":{`, `"info":{"x-a":["`+strings.Repeat(`a","`, 1<<19)+`"],`, 1),
	} {
		if doc == good {
			t.Fatalf("%s: the document has not changed", name)
		}
		r := &counted{r: strings.NewReader(doc)}
		_, err := Parse(r)
		if e, ok := errors.AsType[*errs.Error](err); !ok || e.Msg != "the document holds more than an index keeps" {
			t.Errorf("%s: %v", name, err)
		}
		if r.n >= len(doc) {
			t.Errorf("%s: it was read to its end", name)
		}
	}
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func TestTheReadersErrorComesBack(t *testing.T) {
	mine := errors.New("the line broke")
	doc := fakedocs.Encode(fakedocs.Small())
	_, err := Parse(io.MultiReader(bytes.NewReader(doc[:1000]), iotest.ErrReader(mine)))
	if err != mine {
		t.Errorf("got %v", err)
	}
	ix, err := Parse(iotest.OneByteReader(bytes.NewReader(doc)))
	if err != nil || ix.Bytes != int64(len(doc)) {
		t.Error(err)
	}
}

// hostile are documents built to take memory or time, each of at most 8 MiB.
func hostile(yield func(name string, doc []byte) bool) {
	const size = 8 << 20
	wrap := func(paths, fields string) []byte {
		return []byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{}}` + paths + `},"components":{"schemas":{"A":{"properties":{` + fields + `}}}}}`)
	}
	many := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-1000; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	some := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, h := range []struct {
		name string
		doc  []byte
	}{
		{"as many fields as fit", wrap("", some(32_000, `"f%d":{},`))},
		{"as many operations as fit", wrap(","+some(17_000, `"/p%d":{"get":{}},`), `"a":{}`)},
		{"as many values as fit", wrap("", `"a":{"enum":[`+some(140_000, `"v%d",`)+`]}`)},
		{"as many parameters as fit", wrap(`,"/b":{"get":{"parameters":[`+some(74_000, `{"name":"p%d"},`)+`]}}`, `"a":{}`)},
		{"as many models as fit", []byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{}}},"components":{"schemas":{` + some(40_000, `"M%d":{},`) + `}}}`)},
		{"fields", wrap("", many(`"f%d":{},`))},
		{"paths", wrap(","+many(`"/p%d":{"get":{}},`), `"a":{}`)},
		{"enumerated values", wrap("", `"a":{"enum":[`+many(`"v%d",`)+`]}`)},
		{"required names", wrap(`,"/b":{"post":{"requestBody":{"content":{"application/json":{"schema":{"required":[`+many(`"v%d",`)+`]}}}}}}`, `"a":{}`)},
		{"members of one object", wrap("", `"a":{"x":{`+many(`"v%d":1,`)+`}}`)},
		{"extensions", wrap(`,"/b":{`+many(`"x-%d":1,`)+`}`, `"a":{}`)},
		{"nested arrays", wrap("", `"a":{"x":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}`)},
		{"nested schemas", wrap("", `"a":`+strings.Repeat(`{"items":`, 4000)+`{}`+strings.Repeat("}", 4000))},
		{"alternatives", wrap("", `"a":{"oneOf":[`+many(`{"type":"t%d"},`)+`]}`)},
		{"members of a body", wrap(`,"/b":{"post":{"requestBody":{"content":{"application/json":{"schema":{"properties":{`+many(`"m%d":{},`)+`}}}}}}}`, `"a":{}`)},
		{"one long text", wrap("", `"a":{"description":"`+strings.Repeat("word ", 200_000)+`"}`)},
		{"one long privilege list", wrap(`,"/b":{"get":{"description":"<h3>Details:</h3>**Allowed privileges**: [ `+many(`p%d,`)+`x ]"}}`, `"a":{}`)},
	} {
		if !yield(h.name, h.doc) {
			return
		}
	}
}

func TestADocumentCannotFillTheMemory(t *testing.T) {
	for name, doc := range hostile {
		t.Run(name, func(t *testing.T) {
			before, begun := heap(), time.Now()
			ix, err := Parse(bytes.NewReader(doc))
			if e, ok := errors.AsType[*errs.Error](err); err != nil && (!ok || e.Class != ClassCorrupt) {
				t.Fatal(err)
			}
			kept := int64(heap()) - int64(before)
			runtime.KeepAlive(ix)
			runtime.KeepAlive(doc)
			t.Logf("%v, kept %d KiB, %v", err, kept>>10, time.Since(begun))
			if kept > MaxKept {
				t.Errorf("%d bytes are kept", kept)
			}
		})
	}
}

// heap returns the bytes that are live.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func FuzzIndex(f *testing.F) {
	f.Add(fakedocs.Encode(fakedocs.Small()))
	f.Add(fakedocs.Reordered(fakedocs.Small()))
	f.Add([]byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{"parameters":[{"name":"x"}]}}},"components":{"schemas":{"A":{"properties":{"a":{"items":{"$ref":"#/components/schemas/A"}}}}}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		ix, err := Parse(bytes.NewReader(doc))
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); !ok || e.Class != ClassCorrupt {
				t.Fatal(err)
			}
			return
		}
		if len(ix.Operations()) == 0 || len(ix.ModelNames()) == 0 {
			t.Fatal("an empty index")
		}
		for _, op := range ix.Operations() {
			if got, ok := ix.Operation(op.Path, op.Verb); !ok || got != op || !printable(op.Description, MaxDescription) || !printable(op.ID, MaxName) {
				t.Fatalf("%+v", op)
			}
		}
		for _, name := range ix.ModelNames() {
			m, ok := ix.Model(name)
			if !ok || !isModelName(name) {
				t.Fatal(name)
			}
			for _, f := range m.Fields {
				if !printable(f.Description, MaxFieldText) || !printable(f.Condition, MaxCondition) || len(f.Default) > MaxValue || f.Name == "" {
					t.Fatalf("%+v", f)
				}
			}
		}
	})
}

func printable(s string, max int) bool {
	n := 0
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0x202e {
			return false
		}
		n++
	}
	return n <= max
}
