package fakedocs

import (
	"encoding/json/v2"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"

	"pfsensemcp/test/fakepf"
)

// OfficeVersion is the package version that Office is of: one patch after the
// pretend appliance's own, as the published documentation usually is.
const OfficeVersion = "v2.10.1"

// Office returns the document of the pretend appliance as the site would publish
// it: the same endpoints, models and labels, with descriptions, one version later.
func Office() ([]byte, error) {
	pf, err := fakepf.New(fakepf.Options{})
	if err != nil {
		return nil, err
	}
	defer pf.Close()
	rec := httptest.NewRecorder()
	pf.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/v2/schema/openapi", nil))
	var t Tree
	if err := json.Unmarshal(rec.Body.Bytes(), &t); err != nil || rec.Code != http.StatusOK {
		return nil, errors.Join(errors.New("the pretend appliance gives no document"), err)
	}
	At(t, "info")["version"] = OfficeVersion
	At(t, "info")["license"] = Tree{"name": "Apache 2.0"}
	for path, item := range At(t, "paths") {
		for verb, op := range item.(Tree) {
			describe(op.(Tree), verb, path)
		}
	}
	return Encode(t), nil
}

// describe writes what the appliance's own document leaves out.
func describe(op Tree, verb, path string) {
	was, _ := op["description"].(string)
	_, details, _ := strings.Cut(was, "<h3>Details:</h3>")
	what := map[string]string{"get": "Reads", "post": "Creates", "put": "Replaces", "patch": "Changes", "delete": "Removes"}[verb]
	words := strings.NewReplacer("/", " ", "_", " ").Replace(strings.TrimPrefix(path, "/api/v2/"))
	op["description"] = "<h3>Description:</h3>" + what + " the office's " + words + ".<br><h3>Details:</h3>" + details
}
