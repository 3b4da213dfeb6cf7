package fakedocs

import (
	"bytes"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tree is a JSON object of a document, to be looked at and changed by tests.
type Tree = map[string]any

// Version is the package version that the small document is of.
const Version = "v2.10.0"

// Small returns a document of a handful of endpoints and models that has every
// form upstream's generator writes: nested models behind items and allOf, needs
// in request bodies, enumerations of lists, conditions, members outside the model.
func Small() Tree {
	return Tree{
		"openapi": "3.0.0",
		"servers": []any{Tree{"url": "/", "description": "This firewall"}},
		"info": Tree{
			"title": "Pretend REST documentation", "version": Version,
			"license":     Tree{"name": "Apache 2.0", "url": "https://pretend.example/licence"},
			"description": "### Start<br>- [Ids](https://pfrest.org/WORKING_WITH_OBJECT_IDS/)<br>",
		},
		"security": []any{Tree{"KeyAuth": []any{}}},
		"tags":     []any{Tree{"name": "FIREWALL"}},
		"paths": Tree{
			"/api/v2/firewall/alias": Tree{
				"get":    Operation("getFirewallAliasEndpoint", "Singular", "FirewallAlias", "GET", "/api/v2/firewall/alias"),
				"post":   withBody(Operation("postFirewallAliasEndpoint", "Singular", "FirewallAlias", "POST", "/api/v2/firewall/alias"), "FirewallAlias", nil, "name", "type"),
				"patch":  withBody(Operation("patchFirewallAliasEndpoint", "Singular", "FirewallAlias", "PATCH", "/api/v2/firewall/alias"), "FirewallAlias", Tree{"id": Tree{"type": "integer"}}, "id"),
				"delete": Operation("deleteFirewallAliasEndpoint", "Singular", "FirewallAlias", "DELETE", "/api/v2/firewall/alias"),
			},
			"/api/v2/firewall/aliases": Tree{
				"get": Operation("getFirewallAliasesEndpoint", "Plural", "FirewallAlias", "GET", "/api/v2/firewall/aliases"),
			},
			"/api/v2/firewall/schedules": Tree{
				"get": Operation("getFirewallSchedulesEndpoint", "Plural", "FirewallSchedule", "GET", "/api/v2/firewall/schedules"),
			},
			"/api/v2/firewall/schedule": Tree{
				"post": withBody(Operation("postFirewallScheduleEndpoint", "Singular", "FirewallSchedule", "POST", "/api/v2/firewall/schedule"), "FirewallSchedule", nil, "name", "timerange"),
			},
			"/api/v2/services/probe": Tree{
				"get": Operation("getServicesProbeEndpoint", "Singular", "Probe", "GET", "/api/v2/services/probe"),
			},
		},
		"components": Tree{
			"schemas": Tree{
				"Success":                   Tree{"type": "object", "properties": Tree{"code": Tree{"type": "integer"}}},
				"FirewallAlias":             model(aliasFields()),
				"FirewallSchedule":          model(scheduleFields()),
				"FirewallScheduleTimeRange": model(Tree{"day": text("Days of the month.", 64), "hour": text("From and to.", 64), "month": text("Months.", 64)}),
				"Probe":                     model(probeFields()),
			},
			"securitySchemes": Tree{"KeyAuth": Tree{"type": "apiKey", "in": "header", "name": "x-api-key"}},
		},
	}
}

func model(fields Tree) Tree { return Tree{"type": "object", "properties": fields} }

// field returns a field's schema with what upstream writes for each.
func field(typ, description string, more Tree) Tree {
	f := Tree{"type": typ, "description": description + "<br>", "nullable": false, "readOnly": false, "writeOnly": false}
	for k, v := range more {
		f[k] = v
	}
	return f
}

func text(description string, max int) Tree {
	return field("string", description, Tree{"minLength": 0, "maxLength": max})
}

func aliasFields() Tree {
	return Tree{
		"name":    text("What rules call it.", 31),
		"type":    field("string", "What its entries are.", Tree{"enum": []any{"host", "network", "port"}, "maxLength": 1024}),
		"descr":   text("A note for people.", 1024),
		"address": field("array", "Its entries.", Tree{"items": Tree{"type": "string", "maxLength": 1024}, "minItems": 0}),
		"detail":  field("array", "A note on each entry.", Tree{"items": Tree{"type": "string", "maxLength": 1024}, "minItems": 0}),
	}
}

func scheduleFields() Tree {
	return Tree{
		"name":   text("What rules call it.", 64),
		"active": field("boolean", "Whether it holds now.", Tree{"readOnly": true, "nullable": true}),
		"timerange": field("array", "When it holds.", Tree{"items": Tree{"allOf": []any{
			Tree{"$ref": "#/components/schemas/FirewallScheduleTimeRange"},
			Tree{"type": "object", "required": []any{"month", "day"}},
		}}}),
	}
}

func probeFields() Tree {
	const when = "<br>This field is only available when the following conditions are met:<br>- `mode` must be equal to `'deep'`<br>- `limit` must be equal to `10`"
	return Tree{
		"mode":   field("string", "How it looks.", Tree{"enum": []any{"plain", "deep"}, "default": "plain"}),
		"kinds":  field("array", "What it looks for.", Tree{"items": Tree{"type": "string", "enum": []any{"any", "one", "two"}}, "default": []any{"any"}}),
		"limit":  field("integer", "How often it looks.", Tree{"minimum": 1, "maximum": 65535, "default": 10}),
		"depth":  field("integer", strings.Repeat("How far it looks into what it finds. ", 8)+when, Tree{"nullable": true, "default": nil}),
		"secret": field("string", "Its password.", Tree{"writeOnly": true, "default": ""}),
		"seed":   field("string", "Where it begins.", Tree{"default": "0x9f31c07be2d84a56a1b0c9d8e7f60512"}),
		"parent": Tree{"description": "What it belongs to.", "allOf": []any{Tree{"$ref": "#/components/schemas/FirewallAlias"}}},
		"self":   Tree{"description": "Itself again.", "$ref": "#/components/schemas/Probe"},
		"either": Tree{"description": "One or the other.", "oneOf": []any{Tree{"type": "integer"}, Tree{"type": "string"}}},
	}
}

// Details returns an operation's description in upstream's layout.
func Details(text, kind, model, privileges, packages, applies string) string {
	return "<h3>Description:</h3>" + text + "<br><h3>Details:</h3>**Endpoint type**: " + kind +
		"<br>**Associated model**: " + model + "<br>**Parent model**: None<br>**Requires authentication**: Yes" +
		"<br>**Supported authentication modes:** [ BasicAuth, JWTAuth, KeyAuth ]<br>**Allowed privileges**: [ " + privileges +
		" ]<br>**Required packages**: [ " + packages + " ]<br>**Applies immediately**: " + applies + "<br>**Utilizes cache**: None"
}

// Operation returns an operation with all that upstream writes.
func Operation(id, kind, model, method, path string) Tree {
	verb := map[string]string{"GET": "Reads", "POST": "Creates", "PATCH": "Changes", "DELETE": "Removes"}[method]
	data := any(Tree{"allOf": []any{Tree{"type": "object", "properties": Tree{"id": Tree{"type": "integer"}}}, Tree{"$ref": "#/components/schemas/" + model}}})
	params := []any{Tree{"in": "query", "name": "id", "required": true, "description": "Which object.", "schema": Tree{"oneOf": []any{Tree{"type": "integer"}, Tree{"type": "string"}}}}}
	if kind == "Plural" {
		data = Tree{"type": "array", "items": data}
		params = []any{
			Tree{"in": "query", "name": "limit", "description": "At most so many.", "schema": Tree{"type": "integer", "default": 0}},
			Tree{"in": "query", "name": "offset", "description": "From here on.", "schema": Tree{"type": "integer", "default": 0}},
		}
	}
	op := Tree{
		"operationId": id, "deprecated": false, "tags": []any{"FIREWALL"},
		"description": Details(verb+" what is at "+path+".", kind, model, "page-all, "+privilege(path, method), "None", "No"),
		"responses": Tree{
			"200": Tree{"description": "Done.", "content": Tree{"application/json": Tree{"schema": Tree{"allOf": []any{
				Tree{"$ref": "#/components/schemas/Success"}, Tree{"type": "object", "properties": Tree{"data": data}},
			}}}}},
			"401": refusal("Who asks is not known."), "403": refusal("Who asks may not."), "404": refusal("There is none."),
		},
	}
	if method != "POST" && method != "PATCH" {
		op["parameters"] = params
	}
	return op
}

func refusal(text string) Tree {
	return Tree{"description": text, "content": Tree{"application/json": Tree{"schema": Tree{"allOf": []any{
		Tree{"$ref": "#/components/schemas/Success"},
		Tree{"type": "object", "properties": Tree{"data": Tree{"oneOf": []any{Tree{"type": "array", "items": Tree{"type": "object"}}, Tree{"type": "object"}}}}},
	}}}}}
}

// withBody adds a request body: the model, members outside it, and what must be
// given.
func withBody(op Tree, model string, outside Tree, required ...any) Tree {
	parts := []any{}
	for _, k := range sortedKeys(outside) {
		parts = append(parts, Tree{"type": "object", "properties": Tree{k: outside[k]}, "required": []any{k}})
		required = slices.DeleteFunc(required, func(r any) bool { return r == k })
	}
	parts = append(parts, Tree{"$ref": "#/components/schemas/" + model}, Tree{"type": "object", "required": required})
	op["requestBody"] = Tree{"content": Tree{"application/json": Tree{"schema": Tree{"allOf": parts}}}}
	return op
}

func privilege(path, method string) string {
	return strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(path, "/")) + "-" + strings.ToLower(method)
}

// At returns the object below a path of member names; it panics when there is
// none, which is the test's mistake.
func At(t Tree, names ...string) Tree {
	for _, n := range names {
		below, ok := t[n].(Tree)
		if !ok {
			panic("fakedocs: no object at " + strings.Join(names, " / "))
		}
		t = below
	}
	return t
}

// Encode returns a document as JSON, members sorted.
func Encode(t Tree) []byte {
	b, err := json.Marshal(t, json.Deterministic(true))
	if err != nil {
		panic(err) // a tree of maps, slices and plain values
	}
	return b
}

// Reordered returns a document as JSON, members in the opposite order.
func Reordered(t Tree) []byte {
	var b bytes.Buffer
	reversed(&b, t)
	return b.Bytes()
}

func reversed(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case Tree:
		b.WriteByte('{')
		keys := sortedKeys(v)
		slices.Reverse(keys)
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(k) + ": ")
			reversed(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			reversed(b, e)
		}
		b.WriteByte(']')
	default:
		one, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(one)
	}
}

func sortedKeys(t Tree) []string {
	keys := make([]string, 0, len(t))
	for k := range t {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Big returns a document of the size and shape of upstream's own: 267 paths, 186
// models and a little over 4 MB.
func Big() []byte {
	t := Small()
	paths, schemas := At(t, "paths"), At(t, "components", "schemas")
	for i := range 180 {
		name := fmt.Sprintf("Pretend%03d", i)
		fields := Tree{}
		for f := range 12 {
			fields[fmt.Sprintf("field_%02d", f)] = text(fmt.Sprintf("The field %d of the model %s, which holds a text.", f, name), 1024)
		}
		if i == 0 {
			for f := range 285 {
				fields[fmt.Sprintf("more_%03d", f)] = text(fmt.Sprintf("One of many, the %d.", f), 1024)
			}
		}
		schemas[name] = model(fields)
	}
	for i := range 260 {
		name, path := fmt.Sprintf("Pretend%03d", i%180), fmt.Sprintf("/api/v2/pretend/thing_%03d", i)
		item := Tree{}
		for method, op := range map[string]string{"GET": "get", "PATCH": "patch", "POST": "post", "DELETE": "delete"} {
			if i%2 == 0 && op == "delete" || i%3 == 0 && op == "patch" {
				continue
			}
			o := Operation(fmt.Sprintf("%sThing%03dEndpoint", op, i), "Singular", name, method, path)
			if method == "POST" {
				withBody(o, name, nil, "field_00", "field_01")
			}
			for code := 405; code < 415; code++ {
				At(o, "responses")[strconv.Itoa(code)] = refusal("The request with this long explanation of what went wrong cannot be answered.")
			}
			item[op] = o
		}
		paths[path] = item
	}
	return Encode(t)
}

// Large adds a model with so many fields.
func Large(t Tree, name string, fields int) {
	f := Tree{}
	for i := range fields {
		f[fmt.Sprintf("option_%03d", i)] = text(fmt.Sprintf("Option %d: %s", i, strings.Repeat("it does what it says. ", 5)), 1024)
	}
	At(t, "components", "schemas")[name] = model(f)
}

// Decode returns a document as a tree, numbers to the digit; it panics on what is
// none.
func Decode(doc []byte) Tree {
	d := jsonv1.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var t Tree
	if err := d.Decode(&t); err != nil {
		panic(err)
	}
	return exact(t).(Tree)
}

// exact makes numbers values that are written as they were read, and copies
// everything else.
func exact(v any) any {
	switch v := v.(type) {
	case Tree:
		out := make(Tree, len(v))
		for k, e := range v {
			out[k] = exact(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = exact(e)
		}
		return out
	case jsonv1.Number:
		return jsontext.Value(v)
	}
	return v
}

// Copy returns a copy of a tree that shares nothing with it.
func Copy(t Tree) Tree { return exact(t).(Tree) }
