package guidance

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/proto/guidance/v1"
)

// forbidden are words that no field of guidance's API may be named after: what
// they name could be used to do something, and this layer only tells.
var forbidden = []string{
	"endpoint", "path", "method", "verb", "http", "privilege", "grant", "permission", "permit", "allow",
	"authorized", "authorization", "token", "key", "secret", "password", "credential", "signature", "nonce", "contract", "command", "body",
}

// checkClosure finds what must not be reachable from the calls of a service:
// fields named after a forbidden word, types of another package, and types that
// can carry anything.
func checkClosure(file protoreflect.FileDescriptor) (bad []string, messages int) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		if m.ParentFile().Package() != file.Package() {
			bad = append(bad, "it reaches "+string(m.FullName())+" of another package")
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			// secrets_intentionally_omitted names what is not there.
			name := strings.Replace(string(f.Name()), "secrets_intentionally_omitted", "", 1)
			for _, word := range forbidden {
				if strings.Contains(name, word) {
					bad = append(bad, string(f.FullName())+" is named after "+word)
				}
			}
			switch f.Kind() {
			case protoreflect.StringKind, protoreflect.BoolKind, protoreflect.Int64Kind:
			case protoreflect.MessageKind:
				if strings.Contains(name, "capability") {
					bad = append(bad, string(f.FullName())+" is a capability as an object")
				}
				walk(f.Message())
			default:
				bad = append(bad, string(f.FullName())+" is of the kind "+f.Kind().String()+", which can carry anything")
			}
		}
	}
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		for j := range s.Methods().Len() {
			walk(s.Methods().Get(j).Input())
			walk(s.Methods().Get(j).Output())
		}
	}
	return bad, len(seen)
}

func TestNoTypeOfTheAPICouldBeTakenForPermission(t *testing.T) {
	bad, messages := checkClosure(guidancepb.File_proto_guidance_v1_guidance_proto)
	for _, b := range bad {
		t.Error(b)
	}
	if messages != 6 {
		t.Errorf("%d message types are reachable", messages)
	}
}

func TestTheClosureRuleCanFail(t *testing.T) {
	for name, file := range map[string]protoreflect.FileDescriptor{
		"docs":       docspb.File_proto_docs_v1_docs_proto,
		"executor":   executorpb.File_proto_executor_v1_executor_proto,
		"descriptor": descriptorpb.File_google_protobuf_descriptor_proto,
	} {
		bad, messages := checkClosure(file)
		if name == "descriptor" {
			if len(bad) != 0 || messages != 0 {
				t.Errorf("a file without services has %d violations", len(bad))
			}
			continue
		}
		if len(bad) == 0 {
			t.Errorf("%s, which has endpoints or keys, passes", name)
		}
	}
}

// The matching has no clock, no environment, no file and no network to ask:
// what a file does not import it cannot use.
func TestTheMatchingImportsNothingThatCouldVary(t *testing.T) {
	may := map[string][]string{"service.go": {"context", "time"}, "registry.go": {"embed", "io/fs"}, "decode.go": {"io/fs"}}
	banned := []string{"time", "os", "net", "math/rand", "math/rand/v2", "crypto/rand", "context", "sync", "log", "log/slog", "embed", "io/fs", "syscall", "runtime", "os/exec", "reflect"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range banned {
				if (path == b || strings.HasPrefix(path, "net/")) && !contains(may[e.Name()], path) {
					t.Errorf("%s imports %s", e.Name(), path)
				}
			}
		}
	}
	if files < 8 {
		t.Errorf("%d files were looked at", files)
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
