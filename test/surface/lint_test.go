package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/suite"
)

const (
	maxDesc = 250 // characters of a description
	maxName = 64  // of a name with the server's key in front, as hosts build it
	hostKey = "pf"
)

var plainName = regexp.MustCompile(`^[a-z0-9_]+$`)

// members of a served tool: nothing else, and no icons.
var members = []string{"name", "description", "inputSchema", "outputSchema", "annotations"}

// lint returns what real clients choke on.
func lint(x tool) (bad []string) {
	fault := func(format string, a ...any) { bad = append(bad, x.Name+": "+fmt.Sprintf(format, a...)) }
	var all map[string]json.RawMessage
	if err := json.Unmarshal(x.raw, &all); err != nil {
		fault("%v", err)
		return bad
	}
	for _, m := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(members, m) {
			fault("member %s", m)
		}
	}
	if !plainName.MatchString(x.Name) || len(hostKey)+len(x.Name) >= maxName {
		fault("name")
	}
	if n := utf8.RuneCountInString(x.Desc); n == 0 || n > maxDesc {
		fault("a description of %d characters", n)
	}
	if strings.ContainsAny(x.Desc, "<>\n") {
		fault("markup in the description")
	}
	for _, part := range []struct {
		where  string
		schema json.RawMessage
		must   bool
	}{{"input", x.In, true}, {"output", x.Out, false}} {
		if len(part.schema) == 0 {
			if part.must {
				fault("no %s schema", part.where)
			}
			continue
		}
		d := json.NewDecoder(bytes.NewReader(part.schema))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			fault("%s schema: %v", part.where, err)
			continue
		}
		root, ok := v.(map[string]any)
		if !ok || root["type"] != "object" {
			fault("the %s schema's root is not of type object", part.where)
			continue
		}
		if _, ok := root["properties"].(map[string]any); !ok {
			fault("the %s schema's root has no properties", part.where)
		}
		for _, k := range []string{"anyOf", "oneOf", "allOf", "not", "if", "enum", "const"} {
			if root[k] != nil {
				fault("%s at the root of the %s schema", k, part.where)
			}
		}
		schema(part.where, root, fault)
	}
	return bad
}

// keywords are those that a served schema may use, and what each may hold.
var keywords = map[string]string{
	"type": "text", "const": "text", "properties": "schemas", "items": "schema", "anyOf": "list", "required": "texts", "enum": "texts",
	"additionalProperties": "closed", "minimum": "number", "maximum": "number", "maxItems": "number",
	"maxLength": "number", "minLength": "number", "description": "text", "pattern": "text",
}

// schema walks one schema. Property names are not keywords: a field may be
// called type.
func schema(at string, v any, fault func(string, ...any)) {
	s, ok := v.(map[string]any)
	if !ok {
		fault("%s: not an object but %v", at, v)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		here := at + "." + k
		kind, known := keywords[k]
		if !known {
			fault("%s: a keyword that no schema of ours needs", here)
			continue
		}
		switch kind {
		case "text":
			if _, ok := s[k].(string); !ok {
				fault("%s is no text", here)
			}
		case "texts":
			list, ok := s[k].([]any)
			for _, e := range list {
				text, isText := e.(string)
				ok = ok && isText && (k != "enum" || strings.Trim(text, "0123456789") != "")
			}
			if !ok {
				fault("%s is no list of texts, or holds a blank or bare digits", here)
			}
		case "number":
			n, ok := s[k].(json.Number)
			f, err := n.Float64()
			if !ok || err != nil || math.Abs(f) > 1<<53 {
				fault("%s is no number that every client can read", here)
			}
		case "closed":
			if s[k] != false {
				schema(here, s[k], fault)
			}
		case "schema":
			schema(here, s[k], fault)
		case "schemas":
			m, ok := s[k].(map[string]any)
			if !ok {
				fault("%s is no object", here)
			}
			for _, name := range slices.Sorted(maps.Keys(m)) {
				schema(here+"."+name, m[name], fault)
			}
		case "list":
			list, ok := s[k].([]any)
			if !ok || len(list) == 0 {
				fault("%s is no list", here)
			}
			for i, e := range list {
				schema(fmt.Sprintf("%s[%d]", here, i), e, fault)
			}
		}
	}
}

func TestWhatIsServedIsWhatRealClientsTake(t *testing.T) {
	_, c := begin(t, suite.Options{Settings: extended})
	tools, _ := list(t, c)
	if want := len(catalog.Tools()) + len(guidance); len(tools) != want {
		t.Errorf("%d tools, want %d", len(tools), want)
	}
	for _, x := range tools {
		for _, bad := range lint(x) {
			t.Error(bad)
		}
		if len(x.Out) == 0 {
			t.Errorf("%s: no output schema", x.Name)
		}
	}
}

func TestTheLintCanFail(t *testing.T) {
	good := `{"name":"a_1","description":"d","inputSchema":{"type":"object","properties":{"type":{"type":"string"}},"additionalProperties":false},"outputSchema":{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["n"]},"annotations":{}}`
	check := func(raw string) []string {
		x := tool{raw: json.RawMessage(raw)}
		if err := json.Unmarshal(x.raw, &x); err != nil {
			t.Fatal(err)
		}
		return lint(x)
	}
	if bad := check(good); len(bad) > 0 {
		t.Fatalf("a good tool is refused: %q", bad)
	}
	for _, x := range []struct{ from, to string }{
		{`"a_1"`, `"a-1"`},
		{`"a_1"`, `"A1"`},
		{`"a_1"`, `"` + strings.Repeat("a", 62) + `"`},
		{`"d"`, `""`},
		{`"d"`, `"` + strings.Repeat("é", 251) + `"`},
		{`"d"`, `"a<br>b"`},
		{`"annotations"`, `"icons":[],"annotations"`},
		{`"annotations"`, `"title":"T","annotations"`},
		{`{"type":"object","properties":{"type"`, `{"properties":{"type"`},
		{`{"type":"object","properties":{"n"`, `{"type":"array","properties":{"n"`},
		{`{"type":"object","properties":{"n"`, `{"type":"object","anyOf":[{"type":"object"}],"properties":{"n"`},
		{`{"type":"object","properties":{"type"`, `{"type":"object","oneOf":[{"type":"object"}],"properties":{"type"`},
		{`{"type":"integer"}`, `{"type":["integer","null"]}`},
		{`{"type":"integer"}`, `true`},
		{`{"type":"integer"}`, `{"$ref":"#/x"}`},
		{`{"type":"integer"}`, `{"type":"integer","$id":"x"}`},
		{`{"type":"integer"}`, `{"type":"integer","maximum":9223372036854775807}`},
		{`{"type":"string"}`, `{"type":"string","enum":["","a"]}`},
		{`{"type":"string"}`, `{"type":"string","enum":["0","a"]}`},
		{`{"type":"string"}`, `{"allOf":[{"type":"string"}]}`},
		{`"additionalProperties":false`, `"additionalProperties":true`},
		{`"required"`, `"$defs":{},"required"`},
	} {
		raw := strings.Replace(good, x.from, x.to, 1)
		if raw == good {
			t.Fatalf("%s is not in the sample", x.from)
		}
		if len(check(raw)) == 0 {
			t.Errorf("%s passes", x.to)
		}
	}
}
