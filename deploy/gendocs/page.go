package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/readtool"
)

const intro = `# READ tools

<!-- Made by "make generate" from pkg/catalog. Change the table, not this page. -->

%d tools read the appliance, each by one fixed GET; none can change it. %d are the toolset ` + "`all`" + `, which is
the default; %d more are the toolset ` + "`extended`" + `, off unless it is named in ` + "`PFSENSE_TOOLSETS`" + `. Which of them a
server offers is for its profile, allow-list and toolsets to say: ` + "`pfsense_mcp_info`" + ` tells.

## What all of them share

A **list** answers ` + "`{rows, returned, matched, scanned, complete, notes}`" + `, an **object** ` + "`{object, notes}`" + `; a log adds
` + "`coverage`" + `: how many lines were read, and the times of the first and the last.

| argument | of | meaning |
|---|---|---|
| ` + "`limit`" + ` | lists | most rows in the answer; 100 unless given, at most what the tool says |
| ` + "`offset`" + ` | lists | matching rows to skip |
| ` + "`fields`" + ` | lists | names to keep; ` + "`a.b`" + ` for a field of nested rows |
| ` + "`where`" + ` | lists | up to 8 texts ` + "`field op value`" + `, all of which must hold; op is ` + "`= != < > <= >= contains startswith`" + ` |
| ` + "`include_identifying_metadata`" + ` | tools with hidden fields | true shows them |

- **Every value can be null**, whatever the appliance's own document says: null is not zero, not empty, not false. A
  name that is missing in a row was not sent.
- **Comparing.** Texts are compared as they are shown: ` + "`=`" + ` letter by letter, ` + "`contains`" + ` and ` + "`startswith`" + ` whatever
  the case. A field that is compared as an address matches a host whatever port stands with it, a network what lies in
  it, ` + "`:443`" + ` the port, and a MAC address however it is written. Numbers are compared by value. A list matches when one of
  its entries does. Null matches nothing but ` + "`= null`" + `, not even ` + "`!= x`" + `.
- **Hidden** fields identify people, hosts or networks. Without the argument they are null, a list is ` + "`[]`" + `, and
  ` + "`where`" + ` and ` + "`fields`" + ` refuse their names.
- **Left out** fields are in no answer at all, with no argument. Those marked as secret are keys and passwords.
- Texts come from the appliance and from people: control characters and the like are shown escaped, what looks like a
  secret is masked and counted in ` + "`notes`" + `.
- **Privilege** is what the user of the READ key needs on the appliance for the tool. ` + "`mcpctl privileges`" + ` prints them all.
`

// page returns the reference of the tools.
func page(tools []*catalog.Tool) []byte {
	var b bytes.Buffer
	more := 0
	for _, t := range tools {
		if t.Toolset == catalog.SetExtended {
			more++
		}
	}
	fmt.Fprintf(&b, intro, len(tools), len(tools)-more, more)
	var sets []string
	for _, t := range tools {
		if !slices.Contains(sets, t.Toolset) {
			sets = append(sets, t.Toolset)
		}
	}
	slices.SortFunc(sets, func(a, b string) int {
		return slices.Index(catalog.Toolsets(), a) - slices.Index(catalog.Toolsets(), b)
	})
	b.WriteString("\n## The tools\n\n| tool | shows | toolset |\n|---|---|---|\n")
	each := func(do func(*catalog.Tool)) {
		for _, set := range sets {
			for _, t := range tools {
				if t.Toolset == set {
					do(t)
				}
			}
		}
	}
	each(func(t *catalog.Tool) {
		core := ""
		if t.Core {
			core = ", core"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s%s |\n", t.Name, t.Name, cell(t.Title), t.Toolset, core)
	})
	set := ""
	each(func(t *catalog.Tool) {
		if t.Toolset != set {
			set = t.Toolset
			fmt.Fprintf(&b, "\n## Toolset %s\n", set)
		}
		tool(&b, t)
	})
	return b.Bytes()
}

// tool writes one tool.
func tool(b *bytes.Buffer, t *catalog.Tool) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s\n\n", t.Name, cell(t.Desc), cell(t.Interpret))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, value)
		}
	}
	row("arguments", arguments(t))
	shape := "object"
	if t.List {
		shape = fmt.Sprintf("list, at most %d rows an answer", t.MaxLimit)
	}
	row("answers", shape+", "+strings.ReplaceAll(t.Kind, "_", " "))
	if t.Path == "" {
		row("reads", "no appliance")
	} else {
		row("reads", "`GET "+t.Path+"`")
	}
	if t.Reads != nil {
		row("in fact", fmt.Sprintf("the list `%s` of `GET %s`: its own endpoint always answers an empty list", t.Reads.Field, t.Reads.Path))
	}
	row("privilege", quoted(catalog.Privileges(t)))
	if t.Package != "" {
		row("package", "`"+t.Package+"`; the notes say whether it is installed")
	}
	if t.Since != "" {
		since := "REST API " + t.Since
		if t.Instead != "" {
			since += "; with an older one `" + t.Instead + "` shows the configuration"
		}
		row("since", since)
	}
	if k := t.Caution; k != nil {
		row("with REST API "+k.UpTo+" or older", cell(k.Note))
	}
	row("capability", "`"+t.Capability+"`")
	row("hidden without the argument", hidden(t.Model, ""))
	if out := leftOut(t.Model, ""); out != "" {
		row("left out", out)
	}
	row("see also", quoted(t.Related))
	b.WriteString("\n| field | type | about |\n|---|---|---|\n")
	fields(b, t.Model, "")
}

// arguments are the names in the schema that clients get.
func arguments(t *catalog.Tool) string {
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(readtool.InputSchema(t), &schema); err != nil {
		return ""
	}
	var names []string
	for _, n := range []string{"limit", "offset", "fields", "where", "include_identifying_metadata"} {
		if schema.Properties[n] != nil {
			names = append(names, n)
			delete(schema.Properties, n)
		}
	}
	for n := range schema.Properties { // none is expected: a new one must not be missing here
		names = append(names, n)
	}
	slices.Sort(names[len(names)-len(schema.Properties):])
	if len(names) == 0 {
		return "none"
	}
	return quoted(names)
}

// fields writes a row for each field, those of nested rows by dotted name.
func fields(b *bytes.Buffer, m *catalog.Model, prefix string) {
	for i := range m.Fields {
		f := &m.Fields[i]
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, f.Name, typeOf(f), cell(about(f)))
		if f.Kind == catalog.Object {
			fields(b, f.Model, prefix+f.Name+".")
		}
	}
}

func typeOf(f *catalog.Field) string {
	name := [...]string{"text", "integer", "number", "boolean", "object"}[f.Kind]
	if f.List {
		return "list of " + name
	}
	return name
}

// gates are the words for what a hidden field tells.
var gates = map[catalog.Gate]string{
	catalog.Network: "an address or a port of a host", catalog.Naming: "a name of a host, domain or peer",
	catalog.Personal: "a person", catalog.Device: "this device",
}

func about(f *catalog.Field) string {
	var parts []string
	add := func(yes bool, text string) {
		if yes {
			parts = append(parts, text)
		}
	}
	add(f.Desc != "", f.Desc)
	add(f.Gate != catalog.Shown, "hidden: it tells "+gates[f.Gate])
	add(f.Up != "" && f.Up != f.Name && f.Mark&catalog.Derived == 0, "`"+f.Up+"` of the appliance")
	add(f.Mark&catalog.Derived != 0, "read out of the line by this server")
	add(f.Mark&catalog.Key != 0, "names the row")
	add(f.Mark&catalog.Address != 0, "compared as an address")
	add(f.Mark&catalog.InterfaceName != 0, "an interface, named as the appliance's setting says")
	add(f.Mark&catalog.MayEmbed != 0, "free text in which people put secrets: masked strictly")
	add(f.Mark&catalog.RequestTime != 0, "null unless one is stored")
	add(len(f.Values) > 0, "known values "+quoted(f.Values)+"; others are passed on and noted")
	return strings.Join(parts, "; ")
}

// hidden lists the gated fields.
func hidden(m *catalog.Model, prefix string) string {
	var names []string
	var walk func(m *catalog.Model, prefix string)
	walk = func(m *catalog.Model, prefix string) {
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Gate != catalog.Shown {
				names = append(names, prefix+f.Name)
			} else if f.Kind == catalog.Object {
				walk(f.Model, prefix+f.Name+".")
			}
		}
	}
	walk(m, prefix)
	return quoted(names)
}

// leftOut lists the fields that no answer holds, with the reason.
func leftOut(m *catalog.Model, prefix string) string {
	var parts []string
	for _, x := range m.Excluded {
		secret := ""
		if x.Secret {
			secret = "secret: "
		}
		parts = append(parts, fmt.Sprintf("`%s%s` (%s%s)", prefix, x.Field, secret, cell(x.Why)))
	}
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Kind == catalog.Object {
			if more := leftOut(f.Model, prefix+f.Name+"."); more != "" {
				parts = append(parts, more)
			}
		}
	}
	return strings.Join(parts, ", ")
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		if out[i] = "`" + n + "`"; n == "" {
			out[i] = "empty"
		}
	}
	return strings.Join(out, ", ")
}

// cell makes a text fit one cell of a table.
func cell(s string) string { return strings.NewReplacer("\n", " ", "|", "\\|").Replace(s) }
