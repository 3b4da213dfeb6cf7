package apidocs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/test/fakedocs"
)

func contractOf(t testing.TB, doc []byte) *contract.Contract {
	t.Helper()
	ix, err := openapi.Parse(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return contract.Of(ix)
}

// differing returns the names of the dimensions with a difference.
func differing(d *Diff) []string {
	var out []string
	for _, x := range append(slices.Clone(d.Dimensions), d.Defaults) {
		if x.Total > 0 {
			out = append(out, x.Name)
		}
		if x.Total != x.Added+x.Removed+x.Changed {
			out = append(out, x.Name+": the total is wrong")
		}
	}
	return out
}

var dimensions = []string{
	"paths_methods", "operation_ids", "parameters", "schemas_models", "fields", "enums", "required_packages",
	"auth_metadata", "allowed_privileges", "applies_immediately", "extensions", "version_metadata", "default_values",
}

func TestADocumentDoesNotDifferFromItself(t *testing.T) {
	a := contractOf(t, fakedocs.Encode(fakedocs.Small()))
	d := Compare(a, contractOf(t, fakedocs.Reordered(fakedocs.Small())))
	if got := differing(d); got != nil || d.ContractTotal() != 0 || len(d.Truncated) != 0 {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff(dimensions, d.Identical); diff != "" {
		t.Error(diff)
	}
}

// changes are one change a dimension of a document in upstream's style, which has
// a probe-like endpoint, list and model.
func changes(listPath, getPath, model, field, enumField, defaultField string) map[string]func(fakedocs.Tree) {
	op := func(t fakedocs.Tree) fakedocs.Tree { return fakedocs.At(t, "paths", getPath, "get") }
	label := func(from, to string) func(fakedocs.Tree) {
		return func(t fakedocs.Tree) {
			was := op(t)["description"].(string)
			if !strings.Contains(was, from) {
				panic(from + " is not in " + was)
			}
			op(t)["description"] = strings.Replace(was, from, to, 1)
		}
	}
	props := func(t fakedocs.Tree) fakedocs.Tree {
		return fakedocs.At(t, "components", "schemas", model, "properties")
	}
	return map[string]func(fakedocs.Tree){
		"paths_methods": func(t fakedocs.Tree) { delete(fakedocs.At(t, "paths", getPath), "get") },
		"operation_ids": func(t fakedocs.Tree) { op(t)["operationId"] = "another" },
		"parameters": func(t fakedocs.Tree) {
			l := fakedocs.At(t, "paths", listPath, "get")
			l["parameters"] = l["parameters"].([]any)[1:]
		},
		"schemas_models": func(t fakedocs.Tree) {
			fakedocs.At(t, "components", "schemas")["Another"] = fakedocs.Tree{"type": "object"}
		},
		"fields": func(t fakedocs.Tree) { fakedocs.At(props(t), field)["type"] = "integer" },
		"enums": func(t fakedocs.Tree) {
			f := fakedocs.At(props(t), enumField)
			f["enum"] = append(f["enum"].([]any), "another")
		},
		"required_packages":   label("**Required packages**: [ None ]", "**Required packages**: [ pfSense-pkg-x ]"),
		"auth_metadata":       label("KeyAuth ]", "KeyAuth, OtherAuth ]"),
		"allowed_privileges":  label("page-all,", "page-all, api-v2-another,"),
		"applies_immediately": label("**Applies immediately**: No", "**Applies immediately**: Not Applicable"),
		"extensions":          func(t fakedocs.Tree) { op(t)["x-extra"] = true },
		"version_metadata":    func(t fakedocs.Tree) { fakedocs.At(t, "info")["version"] = "v9.9.9" },
		"default_values":      func(t fakedocs.Tree) { fakedocs.At(props(t), defaultField)["default"] = "another" },
	}
}

func TestEachChangeShowsInItsOwnDimensionAlone(t *testing.T) {
	a := contractOf(t, fakedocs.Encode(fakedocs.Small()))
	all := changes("/api/v2/firewall/aliases", "/api/v2/services/probe", "Probe", "mode", "kinds", "mode")
	// The enumeration of a list stands below items.
	all["enums"] = func(tr fakedocs.Tree) {
		items := fakedocs.At(tr, "components", "schemas", "Probe", "properties", "kinds", "items")
		items["enum"] = append(items["enum"].([]any), "another")
	}
	for _, name := range dimensions {
		tree := fakedocs.Small()
		all[name](tree)
		b := contractOf(t, fakedocs.Encode(tree))
		for _, d := range []*Diff{Compare(a, b), Compare(b, a)} {
			if got := differing(d); !slices.Equal(got, []string{name}) {
				t.Errorf("a change of %s shows in %v", name, got)
			}
			if len(d.Identical) != 12 {
				t.Errorf("%s: identical are %v", name, d.Identical)
			}
		}
	}
}

func TestOrderIsNoDifferenceAndNullIsAValue(t *testing.T) {
	a := contractOf(t, fakedocs.Encode(fakedocs.Small()))
	tree := fakedocs.Small()
	fakedocs.At(tree, "components", "schemas", "FirewallAlias", "properties", "type")["enum"] = []any{"port", "network", "host"}
	op := fakedocs.At(tree, "paths", "/api/v2/services/probe", "get")
	op["description"] = strings.Replace(op["description"].(string), "page-all, api-v2-services-probe-get", "api-v2-services-probe-get, page-all, page-all", 1)
	l := fakedocs.At(tree, "paths", "/api/v2/firewall/aliases", "get")
	slices.Reverse(l["parameters"].([]any))
	if got := differing(Compare(a, contractOf(t, fakedocs.Encode(tree)))); got != nil {
		t.Errorf("%v", got)
	}
	delete(fakedocs.At(tree, "components", "schemas", "Probe", "properties", "depth"), "default")
	d := Compare(a, contractOf(t, fakedocs.Encode(tree)))
	want := []Difference{{Changed, "Probe.depth", "null", "none"}}
	if diff := cmp.Diff(want, d.Defaults.Shown); diff != "" || d.ContractTotal() != 0 {
		t.Error(diff)
	}
}

func TestTotalsAreTrueAndValuesBounded(t *testing.T) {
	tree := fakedocs.Small()
	fakedocs.Large(tree, "Large", 100)
	a := contractOf(t, fakedocs.Encode(tree))
	for i := range 100 {
		f := fakedocs.At(tree, "components", "schemas", "Large", "properties", fmt.Sprintf("option_%03d", i))
		f["enum"] = []any{strings.Repeat("v", 190), strings.Repeat("w", 190), i}
	}
	d := Compare(a, contractOf(t, fakedocs.Encode(tree)))
	e := d.Dimensions[5]
	if e.Name != "enums" || e.Total != 100 || e.Changed != 100 || len(e.Shown) != MaxShown || !slices.Equal(d.Truncated, []string{"enums"}) {
		t.Errorf("%s: total %d, shown %d, truncated %v", e.Name, e.Total, len(e.Shown), d.Truncated)
	}
	seen := map[string]bool{}
	for _, x := range e.Shown {
		if len([]rune(x.B)) > maxShownValue || seen[x.B] {
			t.Errorf("%d characters: %s", len([]rune(x.B)), x.B)
		}
		seen[x.B] = true
	}
}

func TestASecretDefaultDiffersByItsHashAlone(t *testing.T) {
	tree := fakedocs.Small()
	a := contractOf(t, fakedocs.Encode(tree))
	fakedocs.At(tree, "components", "schemas", "Probe", "properties", "seed")["default"] = "0x00112233445566778899aabbccddeeff"
	d := Compare(a, contractOf(t, fakedocs.Encode(tree)))
	if d.Defaults.Total != 1 || d.ContractTotal() != 0 {
		t.Fatalf("%+v", d.Defaults)
	}
	x := d.Defaults.Shown[0]
	for _, v := range []string{x.A, x.B} {
		if !strings.HasPrefix(v, openapi.SecretPrefix) || strings.Contains(v, "0x") {
			t.Errorf("%q", v)
		}
	}
}

// realDocument returns pfREST's own document, which is not part of the repository.
func realDocument(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../shared/appliance/openapi.json")
	if os.IsNotExist(err) {
		t.Skip("../shared/appliance/openapi.json is not there: pfREST's own document is not tried")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheRealDocumentAgainstItselfAndAgainstOneChangeADimension(t *testing.T) {
	doc := realDocument(t)
	tree := fakedocs.Decode(doc)
	a := contractOf(t, doc)
	if b, err := a.Encode(); err != nil || len(b) > 1<<20 {
		t.Errorf("the contract has %d bytes: %v", len(b), err)
	}
	for name, other := range map[string][]byte{"itself": doc, "a copy with its members in another order": fakedocs.Reordered(tree)} {
		if got := differing(Compare(a, contractOf(t, other))); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	all := changes("/api/v2/firewall/aliases", "/api/v2/firewall/rule", "FirewallRule", "protocol", "type", "floating")
	all["parameters"] = func(tr fakedocs.Tree) {
		l := fakedocs.At(tr, "paths", "/api/v2/firewall/aliases", "get")
		l["parameters"] = l["parameters"].([]any)[1:]
	}
	// The answers other than 200 are four fifths of the document, and nothing of
	// them is compared.
	for _, item := range fakedocs.At(tree, "paths") {
		for verb := range item.(fakedocs.Tree) {
			r := fakedocs.At(item.(fakedocs.Tree), verb, "responses")
			maps.DeleteFunc(r, func(code string, _ any) bool { return code != "200" })
		}
	}
	if got := differing(Compare(a, contractOf(t, fakedocs.Encode(tree)))); got != nil {
		t.Fatalf("without the refusals: %v", got)
	}
	// What the changes touch, to be put back after each.
	touched := map[string]fakedocs.Tree{
		"/api/v2/firewall/aliases": fakedocs.At(tree, "paths"), "/api/v2/firewall/rule": fakedocs.At(tree, "paths"),
		"FirewallRule": fakedocs.At(tree, "components", "schemas"), "info": tree,
	}
	for _, name := range dimensions {
		was := map[string]fakedocs.Tree{}
		for key, in := range touched {
			was[key] = fakedocs.Copy(fakedocs.At(in, key))
		}
		all[name](tree)
		if got := differing(Compare(a, contractOf(t, fakedocs.Encode(tree)))); !slices.Equal(got, []string{name}) {
			t.Errorf("a change of %s shows in %v", name, got)
		}
		for key, in := range touched {
			in[key] = was[key]
		}
		delete(fakedocs.At(tree, "components", "schemas"), "Another")
	}
}

func TestP2TheRealDocumentNamesThePrivilegesThatAreDerived(t *testing.T) {
	c := contractOf(t, realDocument(t))
	tools, err := catalog.Select(catalog.ProfileAuditor, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := CrossCheck(tools, c, c)
	if r.Counts[Match] != 94 || len(r.Rows) != 94 || !r.Clean() || r.PageAll != 0 {
		for _, row := range r.Rows {
			if row.Verdict != Match {
				t.Logf("%+v", row)
			}
		}
		t.Errorf("%v", r.Counts)
	}
}

func TestP2EveryVerdictOfTheCrossCheck(t *testing.T) {
	const p = "/api/v2/firewall/aliases"
	tool, ok := catalog.Lookup("pfsense_get_firewall_aliases")
	if !ok || tool.Path != p {
		t.Fatal("the catalog has changed")
	}
	with := func(privileges string) *contract.Contract {
		tree := fakedocs.Small()
		fakedocs.At(tree, "paths", p, "get")["description"] = fakedocs.Details("x", "Plural", "FirewallAlias", privileges, "None", "No")
		return contractOf(t, fakedocs.Encode(tree))
	}
	without := func(change func(fakedocs.Tree)) *contract.Contract {
		tree := fakedocs.Small()
		change(tree)
		return contractOf(t, fakedocs.Encode(tree))
	}
	good := with("page-all, api-v2-firewall-aliases-get")
	noPath := without(func(tr fakedocs.Tree) { delete(fakedocs.At(tr, "paths"), p) })
	noGet := without(func(tr fakedocs.Tree) {
		fakedocs.At(tr, "paths", p)["post"] = fakedocs.At(tr, "paths", p)["get"]
		delete(fakedocs.At(tr, "paths", p), "get")
	})
	noText := without(func(tr fakedocs.Tree) { fakedocs.At(tr, "paths", p, "get")["description"] = "nothing" })
	for name, c := range map[string]struct {
		up, app *contract.Contract
		want    Verdict
		note    string
		clean   bool
	}{
		"the same set":                         {good, with("api-v2-firewall-aliases-get, page-all, api-v2-firewall-aliases-get"), Match, "", true},
		"page-all is not compared":             {good, with("api-v2-firewall-aliases-get"), Match, "", true},
		"another set":                          {good, with("page-all, api-v2-other-get"), Drift, "different", false},
		"a larger set":                         {good, with("page-all, api-v2-firewall-aliases-get, api-v2-other-get"), Drift, "different", false},
		"no published document":                {nil, good, Explained, "not consulted", true},
		"neither document":                     {nil, nil, Explained, "not consulted", true},
		"no appliance":                         {good, nil, SingleSource, "no appliance's document", true},
		"no appliance, and another derivation": {with("page-all, api-v2-other-get"), nil, PinnedDisagreement, "derived", false},
		"agreed, and another derivation":       {with("page-all, api-v2-other-get"), with("page-all, api-v2-other-get"), PinnedDisagreement, "derived", false},
		"page-all alone on both sides":         {with("page-all"), with("page-all"), PinnedDisagreement, "nothing but page-all", false},
		"the path is missing":                  {good, noPath, Explained, "does not have the path", true},
		"the method is missing":                {good, noGet, Explained, "without GET", true},
		"the text is missing":                  {good, noText, Explained, "does not state", true},
		"the list is none":                     {good, with("page-all, , x"), Explained, "that is none", true},
		"the published text is missing":        {noText, good, Explained, "does not state", true},
	} {
		r := CrossCheck([]*catalog.Tool{tool}, c.up, c.app)
		if row := r.Rows[0]; row.Verdict != c.want || !strings.Contains(row.Note, c.note) || r.Counts[c.want] != 1 || r.Clean() != c.clean {
			t.Errorf("%s: %+v, clean %v", name, row, r.Clean())
		}
		if got := r.PageAll; got != 0 && name != "page-all alone on both sides" || got == 0 && name == "page-all alone on both sides" {
			t.Errorf("%s: %d rows with page-all only", name, got)
		}
	}
}
