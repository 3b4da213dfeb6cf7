package replay

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	records  = "../../../shared/appliance/responses"
	document = "../../../shared/appliance/openapi.json"

	documentPath = "/api/v2/schema/openapi"
)

// record is one recorded exchange.
type record struct {
	name    string
	path    string // without query
	query   url.Values
	status  int
	headers map[string]string
	body    []byte // JSON, or the text of a page
	isJSON  bool
}

// needRecords skips the test where the record is absent.
func needRecords(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(records + "/*.json")
	if err != nil || len(files) == 0 {
		t.Skipf("skipped: no recorded answers of a real appliance in %s", records)
	}
	return files
}

func load(t testing.TB, file string) record {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Request struct{ Path string }
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r := record{name: strings.TrimSuffix(filepath.Base(file), ".json"), status: raw.Status, headers: raw.Headers}
	u, err := url.Parse(raw.Request.Path)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r.path, r.query = u.Path, u.Query()
	var text string
	if json.Unmarshal(raw.Body, &text) == nil {
		r.body = []byte(text)
		return r
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw.Body); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	r.body, r.isJSON = append(out.Bytes(), '\n'), true
	return r
}

// Appliance serves the recorded GET of every path: objects as recorded, lists
// in the pages that are asked for. It knows nothing else, and fails its test for
// a request that a reader must not make.
type Appliance struct {
	t     testing.TB
	whole map[string]record
}

// NewAppliance returns the recorded appliance. Where there is no record the test
// is skipped and says so.
func NewAppliance(t testing.TB) *Appliance {
	t.Helper()
	a := &Appliance{t: t, whole: map[string]record{}}
	for _, f := range needRecords(t) {
		if base := filepath.Base(f); !strings.HasPrefix(base, "GET_api_") || strings.Contains(base, "__limit5") {
			continue
		}
		r := load(t, f)
		if r.status == 200 {
			a.whole[r.path] = r
		}
	}
	return a
}

// data returns the recorded data of a path, decoded on its own.
func (a *Appliance) data(path string) (any, bool) {
	r, ok := a.whole[path]
	if !ok {
		return nil, false
	}
	v := decode(a.t, r.body)
	env, _ := v.(map[string]any)
	d, ok := env["data"]
	return d, ok
}

func decode(t testing.TB, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// ServeHTTP answers one request.
func (a *Appliance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == documentPath && r.Method == http.MethodGet && r.Header.Get("X-Api-Key") == "" {
		w.Header().Set("Content-Type", "application/json")
		http.ServeFile(w, r, document)
		return
	}
	rec, ok := a.whole[r.URL.Path]
	if !ok || r.Method != http.MethodGet || r.Header.Get("Content-Type") != "" || r.Header.Get("Authorization") != "" {
		a.t.Errorf("an unexpected request: %s %s, content type %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		http.Error(w, "", http.StatusTeapot)
		return
	}
	body := rec.body
	if r.URL.RawQuery != "" {
		body = a.page(rec, r.URL.Query())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body) //nolint:errcheck // the test says what is missing
}

// page cuts a recorded list as upstream does: logs from their newest end.
func (a *Appliance) page(rec record, q url.Values) []byte {
	for k := range q {
		if k != "limit" && k != "offset" {
			a.t.Errorf("%s: %q went upstream", rec.path, k)
		}
	}
	limit, offset := atoi(q.Get("limit")), atoi(q.Get("offset"))
	var env struct{ Data []json.RawMessage }
	if err := json.Unmarshal(rec.body, &env); err != nil {
		a.t.Errorf("%s: %v", rec.path, err)
	}
	rows := env.Data
	if strings.HasPrefix(rec.path, "/api/v2/status/logs/") {
		end := max(len(rows)-offset, 0)
		rows = rows[max(end-limit, 0):end]
	} else {
		rows = rows[min(offset, len(rows)):]
		rows = rows[:min(limit, len(rows))]
	}
	out := []byte(`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[`)
	for i, r := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, r...)
	}
	return append(out, "]}\n"...)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
