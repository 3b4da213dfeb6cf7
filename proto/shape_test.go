package proto_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"pfsensemcp/proto/admin/v1"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/proto/guidance/v1"
	"pfsensemcp/proto/node/v1"
)

// files lists the descriptors under test; naming them links them in.
func files() []protoreflect.FileDescriptor {
	return []protoreflect.FileDescriptor{
		nodepb.File_proto_node_v1_node_proto,
		guidancepb.File_proto_guidance_v1_guidance_proto,
		docspb.File_proto_docs_v1_docs_proto,
		executorpb.File_proto_executor_v1_executor_proto,
		adminpb.File_proto_admin_v1_admin_proto,
	}
}

func TestEveryMessageSaysItsNextFreeField(t *testing.T) {
	paths, err := filepath.Glob("*/v1/*.proto")
	if err != nil || len(paths) != 5 {
		t.Fatalf("found %d protos: %v", len(paths), err)
	}
	free := regexp.MustCompile(`^// next free field: (\d+)$`)
	message := regexp.MustCompile(`^message (\w+) `)
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		said := 0
		pkg := strings.ReplaceAll(filepath.Dir(path), "/", ".")
		for sc := bufio.NewScanner(f); sc.Scan(); {
			line := sc.Text()
			if m := free.FindStringSubmatch(line); m != nil {
				said, _ = strconv.Atoi(m[1])
				continue
			}
			m := message.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(pkg + "." + m[1]))
			if err != nil {
				t.Fatalf("%s: %s is not in the generated code: run make generate", path, m[1])
			}
			next := 1
			fields := d.(protoreflect.MessageDescriptor).Fields()
			for i := range fields.Len() {
				next = max(next, int(fields.Get(i).Number())+1)
			}
			if said != next {
				t.Errorf("%s: %s says next free field %d, it is %d", path, m[1], said, next)
			}
			said = 0
		}
	}
}

func TestTheZeroOfEveryEnumIsUnspecified(t *testing.T) {
	for _, f := range files() {
		walkEnums(f, func(e protoreflect.EnumDescriptor) {
			if n := string(e.Values().ByNumber(0).Name()); !strings.HasSuffix(n, "_UNSPECIFIED") {
				t.Errorf("%s: zero is %s", e.FullName(), n)
			}
		})
	}
}

func walkEnums(f protoreflect.FileDescriptor, each func(protoreflect.EnumDescriptor)) {
	for i := range f.Enums().Len() {
		each(f.Enums().Get(i))
	}
	for i := range f.Messages().Len() {
		m := f.Messages().Get(i)
		for j := range m.Enums().Len() {
			each(m.Enums().Get(j))
		}
	}
}

// Guidance is reading matter: whatever its messages can carry, in any depth,
// must not be usable to reach or to permit anything.
func TestNoMessageOfGuidanceCanCarryPermission(t *testing.T) {
	banned := regexp.MustCompile(`endpoint|method|verb|path|token|key|secret$|header|body|grant|permission|privilege|credential`)
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		if m.ParentFile().Package() != "guidance.v1" {
			t.Errorf("%s comes from outside guidance.v1", m.FullName())
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			name := string(f.Name())
			if banned.MatchString(name) {
				t.Errorf("%s has a field %s", m.FullName(), name)
			}
			if strings.Contains(name, "capability") && (f.Kind() != protoreflect.StringKind || f.IsList()) {
				t.Errorf("%s.%s is not a plain name", m.FullName(), name)
			}
			switch f.Kind() {
			case protoreflect.MessageKind:
				walk(f.Message())
			case protoreflect.BytesKind:
				t.Errorf("%s.%s is bytes: nobody can say what it carries", m.FullName(), name)
			}
		}
	}
	services := guidancepb.File_proto_guidance_v1_guidance_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			walk(methods.Get(j).Input())
			walk(methods.Get(j).Output())
		}
	}
	if len(seen) < 6 {
		t.Fatalf("only %d messages were walked", len(seen))
	}
}

// The front is what the AI-facing daemon may say to the executor.
func TestTheFrontTakesNamesTextAndSignedFilesAlone(t *testing.T) {
	want := map[string]string{
		"GetWriteStatusRequest":          "",
		"RequestAliasDescriptionRequest": "alias_name description caller_uid",
		"SubmitArtifactRequest":          "kind artifact",
	}
	methods := executorpb.File_proto_executor_v1_executor_proto.Services().ByName("Front").Methods()
	if methods.Len() != len(want) {
		t.Errorf("Front has %d methods", methods.Len())
	}
	for i := range methods.Len() {
		in := methods.Get(i).Input()
		var names []string
		for j := range in.Fields().Len() {
			names = append(names, string(in.Fields().Get(j).Name()))
		}
		if got := strings.Join(names, " "); got != want[string(in.Name())] {
			t.Errorf("%s takes %q", in.Name(), got)
		}
	}
}
