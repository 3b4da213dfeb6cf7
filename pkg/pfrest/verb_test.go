package pfrest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// forbidden looks for ways to send something else than a GET, or to send by
// another way than the one transport, in the source of this package.
func forbidden(t *testing.T, name string, src any) (bad []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		word := ""
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); !ok || x.Name != "http" {
				return true
			}
			switch n.Sel.Name {
			case "MethodGet":
				return true
			case "Client", "DefaultClient", "DefaultTransport", "NewRequest", "NewRequestWithContext", "Get", "Post", "PostForm", "Head":
				word = n.Sel.Name
			default:
				if strings.HasPrefix(n.Sel.Name, "Method") {
					word = n.Sel.Name
				}
			}
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil {
				switch strings.ToUpper(s) {
				case "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE":
					word = s
				}
				if s == "Authorization" { // in lower case it is a class
					word = s
				}
			}
		}
		if word != "" {
			bad = append(bad, set.Position(n.Pos()).String()+": "+word)
		}
		return true
	})
	return bad
}

func TestThereIsNoVerbButGET(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		for _, b := range forbidden(t, path, nil) {
			t.Error(b)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files, %v", files, err)
	}
	for _, src := range []string{`http.MethodPatch`, `http.NewRequest`, `http.Client{}`, `"delete"`, `"Authorization"`} {
		if len(forbidden(t, "x.go", "package x\nvar _ = "+src)) == 0 {
			t.Errorf("%s passes", src)
		}
	}
}

func TestNoOtherHeaderIsEverSent(t *testing.T) {
	h := headers("k")
	if len(h) != 3 || h.Get("X-API-Key") != "k" || h.Get("Accept") != "application/json" || h.Get("User-Agent") != userAgent {
		t.Fatalf("%v", h)
	}
}
