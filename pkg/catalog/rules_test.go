package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A rule is one property that the table as a whole must have. It is a value so
// that a test can also run it over rows that break it.
type rule struct {
	name  string
	check checkFunc
}

type (
	checkFunc func(rows []*Tool, fault faultFunc)
	faultFunc func(format string, args ...any)
)

var (
	toolName  = regexp.MustCompile(`^pfsense_(get_[a-z0-9]+(_[a-z0-9]+)*|mcp_info)$`)
	toolNamed = regexp.MustCompile(`pfsense_[a-z0-9_]+`)
	fieldName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*_?$`)
	pathShape = regexp.MustCompile(`^/api/v2(/[a-z0-9_]+)+$`)
	// A version of the REST API package, as its own version endpoint writes it.
	versionShape = regexp.MustCompile(`^[0-9]+(\.[0-9]+){2}$`)

	kinds = []string{Configuration, ApplyStatus, RuntimeStatus, DerivedState, History, CapabilityList, Identity}
)

// noKey are list models whose rows have no name of their own, with the reason.
var noKey = map[string]string{
	"FirewallState": "a state has no id; its ends are gated and not unique",
}

var rules = []rule{
	{"a tool's name has the contract's shape and stands once, as does its path", uniqueNames},
	{"a tool belongs to one known toolset, capability and result kind", knownSets},
	{"a path is one of the API's second version and only the local tool has none", paths},
	{"a list has a bound of 100 or 500 and an object none", bounds},
	{"texts are there, bounded and printable", texts},
	{"related tools exist, are others and stand once", related},
	{"a field has one name here and one upstream", fieldNames},
	{"exactly objects have a model", objects},
	{"every list has a key, and a key is a plain shown value", keys},
	{"marks and values fit the kind of the field", marks},
	{"a time of the request has a companion that says whether it is one", companions},
	{"a version is one, a substitute is another tool, and an older version is said to be wrong in words", versions},
	{"the id that stands for a name is a text, as is the name", standIns},
	{"only logs have derived fields, and they have their text", logs},
	{"one model name has one model", modelNames},
	{"one kind of data has one gate everywhere", evenGates},
}

// faults runs a check over rows.
func faults(check checkFunc, rows []*Tool) []string {
	var out []string
	check(rows, func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) })
	return out
}

// eachModel calls visit once for every model of the rows, nested ones too.
func eachModel(rows []*Tool, visit func(*Model)) {
	seen := map[*Model]bool{}
	var walk func(*Model)
	walk = func(m *Model) {
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		visit(m)
		for _, f := range m.Fields {
			walk(f.Model)
		}
	}
	for _, r := range rows {
		walk(r.Model)
	}
}

// eachField calls visit once for every field of every model of the rows.
func eachField(rows []*Tool, visit func(m *Model, f *Field)) {
	eachModel(rows, func(m *Model) {
		for i := range m.Fields {
			visit(m, &m.Fields[i])
		}
	})
}

func named(rows []*Tool, name string) bool {
	return slices.ContainsFunc(rows, func(r *Tool) bool { return r.Name == name })
}

func uniqueNames(rows []*Tool, fault faultFunc) {
	seen := map[string]bool{}
	for _, r := range rows {
		if !toolName.MatchString(r.Name) || len(r.Name) > 64 {
			fault("%s: name", r.Name)
		}
		if seen[r.Name] || seen[r.Path] {
			fault("%s: name or path twice", r.Name)
		}
		seen[r.Name], seen[r.Path] = true, true
	}
}

func knownSets(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if !slices.Contains(Toolsets(), r.Toolset) || r.Toolset == SetCore || r.Toolset == SetAll {
			fault("%s: toolset %q", r.Name, r.Toolset)
		}
		if (r.Toolset == SetExtended) != (r.Capability == ExtendedRead) {
			fault("%s: extended by toolset or capability alone", r.Name)
		}
		if r.Capability != ExtendedRead && !slices.Contains(ReadCapabilities(), r.Capability) {
			fault("%s: capability %q", r.Name, r.Capability)
		}
		if !slices.Contains(kinds, r.Kind) {
			fault("%s: result kind %q", r.Name, r.Kind)
		}
		if r.Core && r.Toolset == SetExtended {
			fault("%s: core holds no extended tool", r.Name)
		}
	}
}

func paths(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if (r.Path == "") != (r.Name == InfoTool) || r.Path != "" && !pathShape.MatchString(r.Path) {
			fault("%s: path %q", r.Name, r.Path)
		}
		if r.Reads != nil && (!pathShape.MatchString(r.Reads.Path) || r.Reads.Field == "" || r.Reads.Path == r.Path) {
			fault("%s: reads %+v", r.Name, *r.Reads)
		}
	}
}

func bounds(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if r.List && r.MaxLimit != 100 && r.MaxLimit != 500 || !r.List && r.MaxLimit != 0 {
			fault("%s: bound %d", r.Name, r.MaxLimit)
		}
		if !r.List && (r.Log || r.Reads != nil) {
			fault("%s: an object is no log and has no rows to read from a parent", r.Name)
		}
	}
}

func texts(rows []*Tool, fault faultFunc) {
	text := func(r *Tool, what, s string, most int) {
		if s == "" || utf8.RuneCountInString(s) > most || s != strings.TrimSpace(s) || strings.Contains(s, "  ") {
			fault("%s: %s is empty, badly spaced or longer than %d characters", r.Name, what, most)
		}
		if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) {
			fault("%s: %s holds a character that is not printable ASCII", r.Name, what)
		}
	}
	for _, r := range rows {
		text(r, "title", r.Title, 40)
		text(r, "description", r.Desc, 250)
		text(r, "interpretation", r.Interpret, 2000)
		if !strings.HasSuffix(r.Desc, ".") || !strings.HasSuffix(r.Interpret, ".") {
			fault("%s: a text does not end as a sentence", r.Name)
		}
	}
	eachField(rows, func(m *Model, f *Field) {
		if len(f.Desc) > 80 || strings.ContainsFunc(f.Desc, func(c rune) bool { return c < ' ' }) {
			fault("%s.%s: description", m.Name, f.Name)
		}
	})
}

func related(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if len(r.Related) == 0 {
			fault("%s: no related tool", r.Name)
		}
		for i, name := range r.Related {
			if name == r.Name || slices.Contains(r.Related[:i], name) || !named(rows, name) {
				fault("%s: related %q", r.Name, name)
			}
		}
		for _, name := range toolNamed.FindAllString(r.Desc+" "+r.Interpret, -1) {
			if !named(rows, name) {
				fault("%s: a text names %q", r.Name, name)
			}
		}
	}
}

func fieldNames(rows []*Tool, fault faultFunc) {
	eachModel(rows, func(m *Model) {
		names, ups := map[string]bool{}, map[string]bool{}
		for _, e := range m.Excluded {
			if ups[e.Field] || e.Field == "" || e.Why == "" {
				fault("%s: exclusion %q twice, without a name or without a reason", m.Name, e.Field)
			}
			ups[e.Field] = true
		}
		for i := range m.Fields {
			f := &m.Fields[i]
			if !fieldName.MatchString(f.Name) || f.Up == f.Name {
				fault("%s.%s: name", m.Name, f.Name)
			}
			if names[f.Name] || ups[f.UpName()] {
				fault("%s.%s: twice, or both modelled and excluded", m.Name, f.Name)
			}
			names[f.Name], ups[f.UpName()] = true, true
		}
	})
}

func objects(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if r.Model == nil || len(r.Model.Fields) == 0 {
			fault("%s: no model", r.Name)
		}
	}
	eachField(rows, func(m *Model, f *Field) {
		if f.Kind > Object || (f.Kind == Object) != (f.Model != nil) || f.Kind == Object && !f.List {
			fault("%s.%s: kind and model disagree", m.Name, f.Name)
		}
		if f.Kind == Object && (f.Gate != Shown || f.Mark != 0) {
			fault("%s.%s: gates and marks belong to the fields within", m.Name, f.Name)
		}
	})
}

func keys(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		has := r.Model != nil && slices.ContainsFunc(r.Model.Fields, func(f Field) bool { return f.Mark&Key != 0 })
		if r.Model == nil || r.List && has == (noKey[r.Model.Name] != "") {
			fault("%s: key", r.Name)
		}
	}
	eachField(rows, func(m *Model, f *Field) {
		if f.Mark&Key != 0 && (f.List || f.Gate != Shown || f.Mark&(FreeText|Volatile|Derived|RequestTime) != 0) {
			fault("%s.%s: key", m.Name, f.Name)
		}
	})
}

func marks(rows []*Tool, fault faultFunc) {
	const ofText = FreeText | MayEmbed | Address | TrimEnd | InterfaceName
	eachField(rows, func(m *Model, f *Field) {
		if f.Kind != String && (f.Mark&ofText != 0 || len(f.Values) > 0) {
			fault("%s.%s: a mark or a closed set of texts on another kind", m.Name, f.Name)
		}
		if f.Mark&MayEmbed != 0 && f.Mark&FreeText == 0 {
			fault("%s.%s: may embed a secret but is no free text", m.Name, f.Name)
		}
		if f.Mark&Address != 0 && f.Gate == Shown {
			fault("%s.%s: an address that is not gated", m.Name, f.Name)
		}
		for i, v := range f.Values {
			if slices.Contains(f.Values[:i], v) {
				fault("%s.%s: value %q twice", m.Name, f.Name, v)
			}
		}
	})
}

func companions(rows []*Tool, fault faultFunc) {
	eachField(rows, func(m *Model, f *Field) {
		if (f.Mark&RequestTime != 0) != (f.Companion != "") {
			fault("%s.%s: companion %q", m.Name, f.Name, f.Companion)
		}
		if f.Companion != "" && !slices.ContainsFunc(m.Fields, func(o Field) bool { return o.UpName() == f.Companion }) {
			fault("%s.%s: companion %q is no field", m.Name, f.Name, f.Companion)
		}
	})
}

func versions(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		if r.Since != "" && !versionShape.MatchString(r.Since) || r.Instead != "" && (r.Since == "" || r.Instead == r.Name || !named(rows, r.Instead)) {
			fault("%s: since %q, instead %q", r.Name, r.Since, r.Instead)
		}
		if k := r.Caution; k != nil && (!versionShape.MatchString(k.UpTo) || k.Note == "" || utf8.RuneCountInString(k.Note) > 250) {
			fault("%s: a caution of %q with %d bytes", r.Name, k.UpTo, len(k.Note))
		}
	}
}

func standIns(rows []*Tool, fault faultFunc) {
	eachField(rows, func(m *Model, f *Field) {
		if f.Mark&OrID == 0 {
			return
		}
		if f.Kind != String || f.List || !slices.ContainsFunc(m.Fields, func(o Field) bool { return o.UpName() == "id" && o.Kind == String && o.Gate == f.Gate }) {
			fault("%s.%s: no text id can stand for it", m.Name, f.Name)
		}
	})
}

func logs(rows []*Tool, fault faultFunc) {
	for _, r := range rows {
		derived, text := false, false
		for _, f := range r.Model.Fields {
			derived = derived || f.Mark&Derived != 0
			text = text || f.Name == "text" && f.Gate != Shown && f.Mark&MayEmbed != 0
		}
		if derived != r.Log || r.Log && !text {
			fault("%s: a log has derived fields and its line as gated free text", r.Name)
		}
	}
}

func modelNames(rows []*Tool, fault faultFunc) {
	seen := map[string]bool{}
	eachModel(rows, func(m *Model) {
		if m.Name == "" || seen[m.Name] {
			fault("%q: a model without a name, or a second one of the name", m.Name)
		}
		seen[m.Name] = true
	})
}
