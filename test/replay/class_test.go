package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

// classByID is what each recorded response_id must become. It is written from
// the table of error classes, not from the client.
var classByID = map[string]string{
	"AUTH_AUTHENTICATION_FAILED":       pfrest.ClassAuthentication,
	"AUTH_AUTHORIZATION_FAILED":        pfrest.ClassAuthorization,
	"ENDPOINT_INTERFACE_NOT_ALLOWED":   pfrest.ClassPolicy,
	"ENDPOINT_REST_API_IS_NOT_ENABLED": pfrest.ClassAPIDisabled,
	"MODEL_MISSING_REQUIRED_PACKAGE":   pfrest.ClassPackageAbsent,
	"MODEL_OBJECT_NOT_FOUND":           pfrest.ClassNotFound,
	"MODEL_PARENT_OBJECT_NOT_FOUND":    pfrest.ClassNotFound,

	// Ours to avoid: a request the appliance does not understand.
	"QUERY_FILTER_NOT_FOUND":                        pfrest.ClassClientBug,
	"MODEL_REQUIRES_ID":                             pfrest.ClassClientBug,
	"ENDPOINT_LIMIT_FIELD_INVALID_TYPE":             pfrest.ClassClientBug,
	"ENDPOINT_OFFSET_FIELD_INVALID_TYPE":            pfrest.ClassClientBug,
	"ENDPOINT_METHOD_NOT_ALLOWED":                   pfrest.ClassClientBug,
	"ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE": pfrest.ClassClientBug,
	"CONTENT_HANDLER_ENCODE_NOT_FOUND":              pfrest.ClassClientBug,
	"CONTENT_HANDLER_DECODE_NOT_FOUND":              pfrest.ClassClientBug,
	"CONTENT_HANDLER_CANNOT_DECODE_CONTENT":         pfrest.ClassClientBug,
	"BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED": pfrest.ClassClientBug,
	"ENDPOINT_ACCEPT_NOT_SUPPORTED":                 pfrest.ClassClientBug,

	// A PHP failure, and what has no remedy of its own.
	"ENDPOINT_RECEIVED_UNEXPECTED_ERROR":                pfrest.ClassAPI,
	"MODEL_CANNOT_GET_CONFIG_PATH_WITHOUT_PARENT_MODEL": pfrest.ClassAPI,
	"MODEL_CACHE_MODELSET_MISSING_SIGNATURE":            pfrest.ClassAPI,
}

// classOf returns the class a recorded answer must become.
func classOf(rec record, id string) string {
	if c := classByID[id]; c != "" {
		return c
	}
	switch {
	case rec.status == 404 && !rec.isJSON:
		return pfrest.ClassNotInstalled
	case rec.status == 405:
		return pfrest.ClassClientBug
	}
	return pfrest.ClassAPI
}

// TestEveryRecordedErrorGetsItsClass answers a read with each recorded error and
// wants its class, and no word of the appliance in what is shown.
func TestEveryRecordedErrorGetsItsClass(t *testing.T) {
	files := needRecords(t)
	seen := map[string]int{}
	for _, f := range files {
		rec := load(t, f)
		if rec.status == 200 {
			continue
		}
		var env struct {
			ResponseID string `json:"response_id"`
			Message    string
		}
		if rec.isJSON {
			if err := json.Unmarshal(rec.body, &env); err != nil {
				t.Fatal(rec.name, err)
			}
		}
		if rec.name == "HEAD_aliases" { // no body to a HEAD: not an answer to a GET
			continue
		}
		t.Run(rec.name, func(t *testing.T) {
			c := serve(t, one(rec))
			_, err := c.Get(context.Background(), pfrest.Caller{UID: 1000}, "/api/v2/firewall/aliases", pfrest.Page{Limit: 1})
			e, ok := errors.AsType[*errs.Error](err)
			if !ok {
				t.Fatalf("no coded error: %v", err)
			}
			want := classOf(rec, env.ResponseID)
			seen[want]++
			if e.Class != want {
				t.Errorf("status %d %s is %q, not %q", rec.status, env.ResponseID, e.Class, want)
			}
			shown := e.Error() + " " + e.Next
			for _, w := range strings.FieldsFunc(env.Message, func(r rune) bool { return r == '`' || r == '.' || r == '#' }) {
				if w = strings.TrimSpace(w); len(w) > 12 && strings.Contains(shown, w) {
					t.Errorf("the appliance's words are shown: %q in %q", w, shown)
				}
			}
		})
	}
	for _, c := range []string{pfrest.ClassAuthentication, pfrest.ClassAuthorization, pfrest.ClassPolicy, pfrest.ClassAPIDisabled, pfrest.ClassPackageAbsent, pfrest.ClassNotFound, pfrest.ClassNotInstalled, pfrest.ClassClientBug, pfrest.ClassAPI} {
		if seen[c] == 0 {
			t.Errorf("no recorded error was of the class %s", c)
		}
	}
}

// TestAMissingPrivilegeIsNamedByItsTool wants the one privilege a tool needs in
// its error: the appliance never says it.
func TestAMissingPrivilegeIsNamedByItsTool(t *testing.T) {
	files := needRecords(t)
	i := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "/ERR_403_low_users.json") })
	if i < 0 {
		t.Skip("skipped: the recorded 403 is not there")
	}
	r := reader(t, serve(t, one(load(t, files[i]))))
	for _, name := range []string{"pfsense_get_users", "pfsense_get_firewall_rules", "pfsense_get_status_openvpn_server_routes"} {
		tool, ok := catalog.Lookup(name)
		if !ok {
			t.Fatal(name)
		}
		_, err := r.Run(context.Background(), pfrest.Caller{UID: 1000}, tool, nil, nil)
		path := tool.Path
		if tool.Reads != nil {
			path = tool.Reads.Path
		}
		if want := catalog.PrivilegeFor(path, "GET"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not name %s", name, err, want)
		}
	}
}

// TestRecordedVariantsOfSettings plays the answers of changed settings: links
// are said once and dropped, exposed secrets do not get through.
func TestRecordedVariantsOfSettings(t *testing.T) {
	files := needRecords(t)
	for _, x := range []struct {
		record, tool string
		note         string
		never        []string
	}{
		{"VAR_hateoas_list", "pfsense_get_firewall_aliases", "HATEOAS", []string{"_links", "href"}},
		{"VAR_exposed_users", "pfsense_get_users", "", []string{"$2y$", "password", "ipsecpsk"}},
		{"VAR_ifdescr_rules", "pfsense_get_firewall_rules", "interface_names", nil},
		{"VAR_ifreal_rules", "pfsense_get_firewall_rules", "interface_names", nil},
		{"VAR_readonly_get", "pfsense_get_firewall_aliases", "", nil},
	} {
		i := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+x.record+".json") })
		if i < 0 {
			t.Errorf("no record %s", x.record)
			continue
		}
		rec := load(t, files[i])
		var env struct{ Data []json.RawMessage }
		if err := json.Unmarshal(rec.body, &env); err != nil {
			t.Fatal(err)
		}
		tool, ok := catalog.Lookup(x.tool)
		if !ok {
			t.Fatal(x.tool)
		}
		args := `{"limit":` + string('0'+rune(len(env.Data))) + `}`
		v, got := run(t, reader(t, serve(t, one(rec))), tool, args)
		if len(v.Rows) != len(env.Data) {
			t.Errorf("%s: %d rows of %d", x.record, len(v.Rows), len(env.Data))
		}
		if x.note != "" && !slices.ContainsFunc(v.Notes, func(n string) bool { return strings.Contains(n, x.note) }) {
			t.Errorf("%s: no note about %s in %q", x.record, x.note, v.Notes)
		}
		for _, w := range x.never {
			if strings.Contains(string(got.JSON), w) {
				t.Errorf("%s: %q got through", x.record, w)
			}
		}
	}
}
