package derive

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/test/fakedocs"
)

const path = "/api/v2/firewall/aliases"

func contractOf(t *testing.T, doc []byte) *contract.Contract {
	t.Helper()
	ix, err := openapi.Parse(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return contract.Of(ix)
}

// with is a document whose description of the endpoint names these privileges.
func with(t *testing.T, privileges string) *contract.Contract {
	t.Helper()
	tree := fakedocs.Small()
	fakedocs.At(tree, "paths", path, "get")["description"] = fakedocs.Details("x", "Plural", "FirewallAlias", privileges, "None", "No")
	return contractOf(t, fakedocs.Encode(tree))
}

func changed(t *testing.T, change func(fakedocs.Tree)) *contract.Contract {
	t.Helper()
	tree := fakedocs.Small()
	change(tree)
	return contractOf(t, fakedocs.Encode(tree))
}

func TestP2ThereIsNoPrivilegeUnlessTheDocumentNamesExactlyTheDerivedOne(t *testing.T) {
	const own = "api-v2-firewall-aliases-get"
	for name, tt := range map[string]struct {
		c            *contract.Contract
		path, method string
		want, why    string
	}{
		"one, and page-all":       {with(t, "page-all, "+own), path, "GET", own, ""},
		"one alone":               {with(t, own), path, "get", own, ""},
		"one twice":               {with(t, own+", page-all, "+own), path, "GET", own, ""},
		"page-all alone":          {with(t, "page-all"), path, "GET", "", PageAllOnly},
		"two":                     {with(t, own+", api-v2-other-get"), path, "GET", "", Several},
		"another one":             {with(t, "page-all, api-v2-other-get"), path, "GET", "", Disagreement},
		"another case":            {with(t, "page-all, API-v2-firewall-aliases-get"), path, "GET", "", Disagreement},
		"an empty entry":          {with(t, "page-all, , "+own), path, "GET", "", Malformed},
		"nothing between":         {with(t, ""), path, "GET", "", Malformed},
		"none, in words":          {with(t, "None"), path, "GET", "", NotStated},
		"no such path":            {with(t, own), "/api/v2/nowhere", "GET", "", NoPath},
		"no such method":          {with(t, own), path, "PATCH", "", NoMethod},
		"no description":          {changed(t, func(tr fakedocs.Tree) { delete(fakedocs.At(tr, "paths", path, "get"), "description") }), path, "GET", "", NotStated},
		"a description without":   {changed(t, func(tr fakedocs.Tree) { fakedocs.At(tr, "paths", path, "get")["description"] = "x" }), path, "GET", "", NotStated},
		"a path that is none":     {with(t, own), "api/v2/firewall/aliases", "GET", "", NoRule},
		"a method that is none":   {with(t, own), path, "GET1", "", NoRule},
		"nothing in the document": {&contract.Contract{}, path, "GET", "", NoPath},
	} {
		if got, why := Privilege(tt.c, tt.path, tt.method); got != tt.want || why != tt.why {
			t.Errorf("%s: %q, %q; want %q, %q", name, got, why, tt.want, tt.why)
		}
	}
}

func TestTheRealDocumentProvesTheSevenPrivilegesOfTheWriteIdentity(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "..", "shared", "appliance", "openapi.json"))
	if err != nil {
		t.Skip("the real document is not beside the repository")
	}
	c := contractOf(t, b)
	for _, e := range catalog.ExecutorEndpoints() {
		if p, why := Privilege(c, e.Path, e.Method); p == "" {
			t.Errorf("%s %s: %s", e.Method, e.Path, why)
		}
	}
}
