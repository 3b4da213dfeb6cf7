package exchange

import (
	"bytes"
	"encoding/json/jsontext"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
)

func TestX10TheTableHasOneEntryAndItIsTheApprovedChange(t *testing.T) {
	want := []Entry{{"ALIAS_WRITE", "FIREWALL_ALIAS_DESCRIPTION", "PATCH", "/api/v2/firewall/alias", "set_firewall_alias_description_v1"}}
	got := Allowed()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v", got)
	}
	got[0].Path = "/api/v2/user" // a caller's copy
	if !reflect.DeepEqual(Allowed(), want) {
		t.Error("the table can be changed")
	}
}

// members reads a body by its tokens: the names in order and the kind of each value.
func members(t rapid.TB, b []byte) (names []string, kinds string, values []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		t.Fatalf("%s: %v", b, err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		names = append(names, name.String())
		v, err := d.ReadValue()
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		kinds += string(v.Kind())
		values = append(values, v.Clone())
	}
	if _, err := d.ReadToken(); err != nil || d.InputOffset() != int64(len(b)) {
		t.Fatalf("%s: something behind it", b)
	}
	return names, kinds, values
}

func TestX11TheBodyHasFourMembersOfTheseTypesWhateverTheChange(t *testing.T) {
	// By type: nothing but an integer of 64 bits and two texts goes in.
	if typ := reflect.TypeFor[Change](); typ.NumField() != 3 || typ.Field(0).Type.Kind() != reflect.Int64 || typ.Field(1).Type.Kind() != reflect.String || typ.Field(2).Type.Kind() != reflect.String {
		t.Fatal("a change carries something else")
	}
	rapid.Check(t, func(t *rapid.T) {
		c := Change{
			Locator: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 3), rapid.Int64Range(1<<31-3, 1<<31+1)).Draw(t, "locator"),
			Name:    rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_]{0,33}`)).Draw(t, "name"),
			Descr:   rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\x{80}-\x{3000}"\\<>&/\x{2028}\t]{0,300}`)).Draw(t, "descr"),
		}
		b, err := c.Body()
		if err != nil {
			if b != nil || errs.CodeOf(err) != errs.Invalid || class(err) != "not_sent" {
				t.Fatalf("%+v: %s, %v", c, b, err)
			}
			return
		}
		names, kinds, values := members(t, b)
		if strings.Join(names, " ") != "id name descr apply" || kinds != `0""f` {
			t.Fatalf("%s", b)
		}
		name, errName := jsontext.AppendUnquote(nil, values[1])
		descr, errDescr := jsontext.AppendUnquote(nil, values[2])
		if string(values[0]) != strconv.FormatInt(c.Locator, 10) || errName != nil || errDescr != nil || string(name) != c.Name || string(descr) != c.Descr {
			t.Fatalf("%+v became %s", c, b)
		}
		if c.Locator < 0 || c.Locator > change.MaxLocator || len(b) > 8<<10 || len(c.Descr) > change.MaxDescription {
			t.Fatalf("%+v is out of bounds", c)
		}
	})
}

func TestX11TheBodyIsWrittenByteForByte(t *testing.T) {
	for c, want := range map[Change]string{
		web:                                `{"id":7,"name":"web_servers","descr":"DMZ web servers","apply":false}`,
		{0, "a", ""}:                       `{"id":0,"name":"a","descr":"","apply":false}`,
		{2147483647, "A_1", "q\"\\<&>/ä漢"}: `{"id":2147483647,"name":"A_1","descr":"q\"\\<&>/ä漢","apply":false}`,
		{1, "true", "false"}:               `{"id":1,"name":"true","descr":"false","apply":false}`,
		{1, "0", "two\nlines\tx"}:          `{"id":1,"name":"0","descr":"two\nlines\tx","apply":false}`,
	} {
		if got, err := c.Body(); err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	longest := Change{change.MaxLocator, strings.Repeat("n", 32), strings.Repeat(`"`, 1024)}
	if b, err := longest.Body(); err != nil || len(b) > maxBody {
		t.Errorf("the longest legal text: %d bytes, %v", len(b), err)
	}
}

func TestATextThatTheApplianceWouldNotStoreIsNotSent(t *testing.T) {
	s := serve(t, func(p *peer) {
		if h := p.head(); h != "" {
			t.Errorf("sent: %q", h)
		}
	})
	x := exchanger(t, config(t, s.URL, s.CA))
	for _, c := range []Change{
		{-1, "web", "x"},
		{1 << 31, "web", "x"},
		{1, "", "x"},
		{1, "_web", "x"},
		{1, "web servers", "x"},
		{1, strings.Repeat("n", 33), "x"},
		{1, "wéb", "x"},
		{1, "web", " "},
		{1, "web", "\t"},
		{1, "web", "x\n"},
		{1, "web", "\r\nx"},
		{1, "web", "a\x00b"},
		{1, "web", "a\x01b"},
		{1, "web", "a\x0bb"},
		{1, "web", "a\x1fb"},
		{1, "web", "a\ufffeb"},
		{1, "web", "a\uffffb"},
		{1, "web", "\xff"},
		{1, "web", "e\u0301"},
		{1, "web", strings.Repeat("ä", 513)},
		{1, "web", strings.Repeat("x", 1025)},
	} {
		conn, err := x.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := conn.Send(t.Context(), c); r.Effect() != None || r.Sent != 0 || class(r.Err) != "not_sent" {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// sources parses all non-test files below the directory.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		out[path] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// uses counts selectors of packages such as http.Client, and calls of methods by
// name and number of arguments such as ".Send/2".
func uses(f *ast.File) map[string]int {
	n := map[string]int{}
	ast.Inspect(f, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				n[id.Name+"."+x.Sel.Name]++
			}
		case *ast.CallExpr:
			if s, ok := x.Fun.(*ast.SelectorExpr); ok {
				n["."+s.Sel.Name+"/"+strconv.Itoa(len(x.Args))]++
			}
		}
		return true
	})
	return n
}

func TestX1ThereIsOneClientTypeAndOneWrite(t *testing.T) {
	total := map[string]int{}
	for _, f := range sources(t, ".") {
		for name, n := range uses(f) {
			total[name] += n
		}
	}
	for name, want := range map[string]int{
		"tls.Client": 1, ".DialContext/3": 1, ".Write/1": 1, "http.ReadResponse": 1,
		"http.Client": 0, "http.Transport": 0, "http.DefaultClient": 0, "http.DefaultTransport": 0, "http.NewRequest": 0, "http.NewRequestWithContext": 0,
		"http.Get": 0, "http.Post": 0, "http.PostForm": 0, "http.Head": 0, "http.ProxyFromEnvironment": 0, ".RoundTrip/1": 0, ".Do/1": 0, "tls.Dial": 0, "tls.DialWithDialer": 0,
		"net.Dial": 0, "net.DialTimeout": 0, "net.DialTCP": 0, ".Dial/2": 0, "io.WriteString": 0, ".ReadFrom/1": 0, ".WriteTo/1": 0, "io.Copy": 0, "io.CopyN": 0, "fmt.Fprintf": 0,
	} {
		if total[name] != want {
			t.Errorf("%s stands %d times, not %d", name, total[name], want)
		}
	}
}

func TestX1OnePlaceInTheProgramSends(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Skip("the sources of the module are not here")
	}
	var connects, sends, built []string
	for _, dir := range []string{"pkg", "cmd"} {
		for file, f := range sources(t, filepath.Join(root, dir)) {
			ours := strings.Contains(file, "/internal/exchange/")
			linked := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
				return i.Path.Value == `"pfsensemcp/pkg/executor/internal/exchange"`
			})
			n := uses(f)
			for range n[".Send/2"] {
				// The one type with a Send of two arguments is ours: nothing else
				// in the executor, gRPC's streams included, has such a method.
				if strings.Contains(file, "/executor") {
					sends = append(sends, file)
				}
			}
			for range n[".Connect/1"] {
				if strings.Contains(file, "/executor") {
					connects = append(connects, file)
				}
			}
			if n["exchange.New"] > 0 && !strings.HasSuffix(filepath.Dir(file), "test") {
				built = append(built, file)
			}
			if linked && !ours && !strings.Contains(file, "/executor/") {
				t.Errorf("%s imports the exchange", file)
			}
		}
	}
	for what, at := range map[string][]string{"sends": sends, "connects": connects, "builds an exchanger": built} {
		if len(at) != 1 {
			t.Errorf("%d places of the program, not one: it %s in %v", len(at), what, at)
		}
	}
}
