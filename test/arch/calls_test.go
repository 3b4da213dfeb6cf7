package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// callRule says that a name of a package may be used in the listed places
// alone (paths relative to the module, prefixes).
type callRule struct {
	pkg, name string // name "" means the import itself
	only      []string
	reason    string
}

var callRules = []callRule{
	{"os", "Exit", []string{"pkg/daemon", "cmd/", "deploy/"}, "only the shell of a program ends it"},
	{"log", "Fatal", nil, "it ends the program from anywhere"},
	{"log", "Fatalf", nil, "it ends the program from anywhere"},
	{"flag", "Parse", []string{"pkg/daemon", "cmd/", "deploy/"}, "the command line belongs to the shell of a program"},
	{"os", "Getenv", []string{"pkg/sd", "pkg/conf", "deploy/"}, "settings come from one place"},
	{"os", "LookupEnv", []string{"pkg/sd", "pkg/conf", "deploy/"}, "settings come from one place"},
	{"unsafe", "", nil, "memory safety is what Go is for"},
	{"golang.org/x/sys/unix", "", []string{"pkg/sandbox", "pkg/rpc", "pkg/sd", "pkg/secretfile", "pkg/shim", "pkg/executor/internal/store", "pkg/supervise/internal/pty"}, "system calls stand where they are reviewed"},
	{"log/slog", "Default", nil, "a logger is a Config field"},
	{"log/slog", "SetDefault", nil, "a logger is a Config field"},
	{"net/http", "DefaultClient", nil, "a client has bounds of its own"},
	{"net/http", "DefaultTransport", nil, "a client has bounds of its own"},
	{"net/http", "Get", nil, "it uses the default client"},
	{"net/http", "Post", nil, "it uses the default client"},
	{"time", "Sleep", nil, "waiting has a context or a timer"},
}

// checkFile finds uses that the rules forbid, init functions, and package-level
// variables that are not errors, tables or assertions.
func checkFile(rel string, f *ast.File, fset *token.FileSet) []string {
	var bad []string
	at := func(n ast.Node) string { return rel + ":" + strconv.Itoa(fset.Position(n.Pos()).Line) }
	imports := map[string]string{} // local name to path
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		imports[name] = path
		for _, r := range callRules {
			if r.name == "" && r.pkg == path && !allowed(rel, r.only) {
				bad = append(bad, at(imp)+" imports "+path+": "+r.reason)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil {
			return true
		}
		for _, r := range callRules {
			if r.name == sel.Sel.Name && imports[id.Name] == r.pkg && !allowed(rel, r.only) {
				bad = append(bad, at(n)+" uses "+r.pkg+"."+r.name+": "+r.reason)
			}
		}
		return true
	})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				bad = append(bad, at(d)+" is an init function: start-up has one order, written in main")
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				bad = append(bad, checkVars(at, d)...)
			}
		}
	}
	return bad
}

// checkVars finds package-level variables that can hold state: a map, slice,
// struct or function literal is a table, errors.New and regexp.MustCompile make
// constants, `var _` is an assertion. Anything made by make, new, or left zero
// is state.
func checkVars(at func(ast.Node) string, d *ast.GenDecl) []string {
	var bad []string
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || v.Names[0].Name == "_" {
			continue
		}
		if len(v.Values) == 0 && embedded(d, v) {
			continue // filled by the linker from a file of the tree
		}
		if len(v.Values) == 0 {
			bad = append(bad, fmt.Sprintf("%s: the package-level variable %s starts empty, so it holds state", at(v), v.Names[0].Name))
			continue
		}
		for _, val := range v.Values {
			call, ok := val.(*ast.CallExpr)
			if !ok {
				continue
			}
			if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "make" || id.Name == "new") {
				bad = append(bad, fmt.Sprintf("%s: the package-level variable %s is made by %s, so it holds state", at(v), v.Names[0].Name, id.Name))
			}
		}
	}
	return bad
}

// embedded says whether a variable carries a go:embed directive.
func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, g := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if g == nil {
			continue
		}
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// allowed says whether a file stands in one of the places.
func allowed(rel string, places []string) bool {
	for _, p := range places {
		if rel == p || strings.HasPrefix(rel, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

func TestOnlyTheRightPlacesCallTheRightThings(t *testing.T) {
	files := 0
	for _, p := range allPackages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(rel, "test/") || strings.HasPrefix(rel, "proto/") {
			continue
		}
		for _, name := range p.GoFiles {
			files++
			path := filepath.Join(p.Dir, name)
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			want(t, checkFile(rel+"/"+name, f, fset))
		}
	}
	if files == 0 {
		t.Fatal("no file was read")
	}
}

func TestTheCallRuleCanFail(t *testing.T) {
	for src, naming := range map[string]string{
		`package x; import "os"; func f() { os.Exit(1) }`:                                 "os.Exit",
		`package x; import "unsafe"; type t = unsafe.Pointer`:                             "unsafe",
		`package x; import "golang.org/x/sys/unix"; func f() { unix.Getpid() }`:           "x/sys/unix",
		`package x; import web "net/http"; func f() { web.DefaultClient.Get("") }`:        "DefaultClient",
		`package x; import "time"; func f() { time.Sleep(1) }`:                            "time.Sleep",
		`package x; func init() {}`:                                                       "init function",
		`package x; var counter int`:                                                      "counter",
		`package x; var cache = make(map[string]int)`:                                     "cache",
		`package x; import "log/slog"; func f() { slog.SetDefault(nil); slog.Default() }`: "slog.SetDefault",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, checkFile("pkg/mcpserver/x.go", f, fset), naming)
	}
}

// sizes: habits ask for under 400 lines a file and 1,000 a package; rows of the
// tables and generated code are data and do not count.
const (
	maxFile    = 600
	maxPackage = 1000
)

// checkSizes finds files and packages that are probably two of something.
func checkSizes(lines map[string]map[string]int) []string {
	var bad []string
	for pkg, files := range lines {
		total := 0
		for name, n := range files {
			total += n
			if n > maxFile {
				bad = append(bad, fmt.Sprintf("%s/%s has %d lines, at most %d", pkg, name, n, maxFile))
			}
		}
		if total > maxPackage && !sizeExcepted[pkg] {
			bad = append(bad, fmt.Sprintf("%s has %d lines of code, at most %d: ask what it is really two of", pkg, total, maxPackage))
		}
	}
	return bad
}

// sizeExcepted are packages over the bound with a reason.
var sizeExcepted = map[string]bool{}

// codeLines counts the lines of a file that are neither blank nor comment.
func codeLines(src string) int {
	n := 0
	for line := range strings.Lines(src) {
		if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "//") {
			n++
		}
	}
	return n
}

func TestFilesAndPackagesStaySmall(t *testing.T) {
	lines := map[string]map[string]int{}
	for _, p := range allPackages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(rel, "proto/") || strings.HasPrefix(rel, "test/") {
			continue
		}
		files := map[string]int{}
		for _, name := range p.GoFiles {
			if rel == "pkg/catalog" && (strings.HasPrefix(name, "rows_") || strings.HasPrefix(name, "models_")) {
				continue
			}
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = codeLines(string(src))
		}
		lines[rel] = files
	}
	want(t, checkSizes(lines))
}

func TestTheSizeRuleCanFail(t *testing.T) {
	mustFail(t, checkSizes(map[string]map[string]int{"pkg/x": {"a.go": 601}}), "a.go")
	mustFail(t, checkSizes(map[string]map[string]int{"pkg/x": {"a.go": 500, "b.go": 501}}), "really two of")
}
