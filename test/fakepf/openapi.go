package fakepf

import (
	"net/http"
	"slices"
	"strings"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// Version is the package version this appliance plays.
const Version = "v2.10.0"

// schema serves the schema document: without any credential, also while the
// API is switched off.
func (s *Server) schema(c *call) *answer {
	if c.path != "/api/v2/schema/openapi" {
		return html(404, pageGone)
	}
	if c.method != http.MethodGet {
		return fail(405, "ENDPOINT_METHOD_NOT_ALLOWED", "Resource at "+c.path+" does not support the requested HTTP method `"+c.method+"`")
	}
	a := success(nil)
	a.id = ""
	if a.body = s.opt.OpenAPI; a.body == nil {
		a.body = document(s.set)
	}
	return a
}

// document writes a small OpenAPI document from the tables: every path and
// method, every model and its fields with their types. Its texts are ours.
func document(set *data.Set) []byte {
	paths := php.Object{}
	for _, p := range sortedKeys(set.Endpoints) {
		e := set.Endpoints[p]
		ops := php.Object{}
		for _, m := range e.Methods {
			ops = append(ops, php.Member{Key: strings.ToLower(m), Value: operation(set, e, m)})
		}
		paths = append(paths, php.Member{Key: p, Value: ops})
	}
	schemas := php.Object{}
	for _, name := range sortedKeys(set.Models) {
		props := php.Object{}
		for _, f := range set.Models[name].Fields {
			props = append(props, php.Member{Key: f.Name, Value: fieldSchema(&f)})
		}
		schemas = append(schemas, php.Member{Key: name, Value: php.Object{{Key: "type", Value: "object"}, {Key: "properties", Value: props}}})
	}
	doc := php.Object{
		{Key: "openapi", Value: "3.0.0"},
		{Key: "info", Value: php.Object{{Key: "title", Value: "Pretend appliance"}, {Key: "version", Value: Version}}},
		{Key: "components", Value: php.Object{
			{Key: "schemas", Value: schemas},
			{Key: "securitySchemes", Value: php.Object{{Key: "KeyAuth", Value: php.Object{{Key: "type", Value: "apiKey"}, {Key: "in", Value: "header"}, {Key: "name", Value: "X-API-Key"}}}}},
		}},
		{Key: "paths", Value: paths},
	}
	return append(php.Append(nil, doc), '\n')
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func operation(set *data.Set, e *data.Endpoint, method string) php.Object {
	kind, pkg, parent := "Singular", "None", "None"
	if e.Many {
		kind = "Plural"
	}
	if e.Package != "" {
		pkg = e.Package
	}
	if e.Parent != "" {
		parent = e.Parent
	}
	words := strings.FieldsFunc(strings.TrimPrefix(e.Path, "/api/v2/"), func(r rune) bool { return r == '/' || r == '_' })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	op := php.Object{
		{Key: "operationId", Value: strings.ToLower(method) + strings.Join(words, "") + "Endpoint"},
		{Key: "deprecated", Value: false},
		{Key: "description", Value: "<h3>Details:</h3>**Endpoint type**: " + kind + "<br>**Associated model**: " + e.Model + "<br>**Parent model**: " + parent +
			"<br>**Allowed privileges**: [ page-all, " + Privilege(e.Path, method) + " ]<br>**Required packages**: [ " + pkg + " ]"},
	}
	if e.Many && method == "GET" {
		param := func(name string, def int64) php.Object {
			return php.Object{{Key: "in", Value: "query"}, {Key: "name", Value: name}, {Key: "schema", Value: php.Object{{Key: "type", Value: "integer"}, {Key: "default", Value: def}}}}
		}
		op = append(op, php.Member{Key: "parameters", Value: []any{param("limit", 0), param("offset", 0)}})
	}
	if m := set.Models[e.Model]; m != nil {
		var schema any = php.Object{{Key: "$ref", Value: "#/components/schemas/" + m.Name}}
		if e.Many {
			schema = php.Object{{Key: "type", Value: "array"}, {Key: "items", Value: schema}}
		}
		envelope := php.Object{{Key: "type", Value: "object"}, {Key: "properties", Value: php.Object{{Key: "data", Value: schema}}}}
		content := php.Object{{Key: jsonType, Value: php.Object{{Key: "schema", Value: envelope}}}}
		op = append(op, php.Member{Key: "responses", Value: php.Object{{Key: "200", Value: php.Object{{Key: "description", Value: "Success"}, {Key: "content", Value: content}}}}})
	}
	return op
}

func fieldSchema(f *data.Field) php.Object {
	t := map[byte]string{'s': "string", 'i': "integer", 'n': "number", 'b': "boolean", 'o': "object"}[f.Kind]
	one := php.Object{{Key: "type", Value: t}}
	if f.Of != "" {
		one = php.Object{{Key: "$ref", Value: "#/components/schemas/" + f.Of}}
	}
	if f.List {
		one = php.Object{{Key: "type", Value: "array"}, {Key: "items", Value: one}}
	}
	return append(one, php.Member{Key: "writeOnly", Value: f.WriteOnly})
}
