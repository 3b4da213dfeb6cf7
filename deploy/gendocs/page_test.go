package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
)

func TestThePageInTheTreeIsMadeFromTheTable(t *testing.T) {
	have, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := page(catalog.Tools()); !bytes.Equal(have, want) {
		t.Errorf("docs/tools.md (%d bytes) is not what the table makes (%d bytes): run make generate", len(have), len(want))
	}
}

// TestThePageSaysAllThatTheTableSays looks for every name, endpoint, privilege,
// package and field, and for every field that is left out.
func TestThePageSaysAllThatTheTableSays(t *testing.T) {
	text := string(page(catalog.Tools()))
	_, sections, _ := strings.Cut(text, "\n## Toolset ")
	parts := map[string]string{}
	for _, s := range strings.Split(sections, "\n### ")[1:] {
		name, rest, _ := strings.Cut(s, "\n")
		parts[name] = rest
	}
	if len(parts) != len(catalog.Tools()) {
		t.Fatalf("%d tools are described", len(parts))
	}
	var fields func(t *testing.T, part, prefix string, m *catalog.Model)
	fields = func(t *testing.T, part, prefix string, m *catalog.Model) {
		for _, f := range m.Fields {
			if !strings.Contains(part, "\n| `"+prefix+f.Name+"` | ") {
				t.Errorf("no row for %s%s", prefix, f.Name)
			}
			if f.Kind == catalog.Object {
				fields(t, part, prefix+f.Name+".", f.Model)
			}
		}
		for _, x := range m.Excluded {
			if !strings.Contains(part, "`"+prefix+x.Field+"` (") {
				t.Errorf("%s%s is not said to be left out", prefix, x.Field)
			}
		}
	}
	for _, tool := range catalog.Tools() {
		t.Run(tool.Name, func(t *testing.T) {
			part := parts[tool.Name]
			for _, p := range catalog.Privileges(tool) {
				if !strings.Contains(part, "`"+p+"`") {
					t.Errorf("privilege %s is missing", p)
				}
			}
			for _, want := range []string{tool.Desc, "GET " + tool.Path, "`" + tool.Package, tool.Capability} {
				if tool.Path == "" && strings.HasPrefix(want, "GET ") || want == "`" {
					continue
				}
				if !strings.Contains(part, strings.ReplaceAll(want, "|", "\\|")) {
					t.Errorf("%q is missing", want)
				}
			}
			if catalog.HasGate(tool.Model) != strings.Contains(part, "\n- hidden without the argument: ") ||
				catalog.HasGate(tool.Model) != strings.Contains(part, "`include_identifying_metadata`") {
				t.Error("what is hidden is not said")
			}
			fields(t, part, "", tool.Model)
		})
	}
}

// TestAChangeOfTheTableChangesThePage proves that a stale page is seen.
func TestAChangeOfTheTableChangesThePage(t *testing.T) {
	whole := page(catalog.Tools())
	for name, change := range map[string]func(*catalog.Tool, *catalog.Model){
		"description": func(t *catalog.Tool, _ *catalog.Model) { t.Desc += " more" },
		"package":     func(t *catalog.Tool, _ *catalog.Model) { t.Package += "x" },
		"limit":       func(t *catalog.Tool, _ *catalog.Model) { t.MaxLimit++ },
		"gate":        func(_ *catalog.Tool, m *catalog.Model) { m.Fields[0].Gate = catalog.Device },
		"field":       func(_ *catalog.Tool, m *catalog.Model) { m.Fields = m.Fields[1:] },
		"left out": func(_ *catalog.Tool, m *catalog.Model) {
			m.Excluded = append(m.Excluded, catalog.Exclusion{Field: "x"})
		},
	} {
		tools := catalog.Tools()
		for i, row := range tools {
			if row.Name == "pfsense_get_cron_jobs" {
				changed, model := *row, *row.Model
				model.Fields = append([]catalog.Field(nil), model.Fields...)
				model.Excluded = append([]catalog.Exclusion(nil), model.Excluded...)
				changed.Model = &model
				change(&changed, &model)
				tools[i] = &changed
			}
		}
		if bytes.Equal(page(tools), whole) {
			t.Errorf("a change of the %s is not seen", name)
		}
	}
}
