package replay

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/secretfile"
)

const records = "../../../shared/appliance/responses"

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

// appliance serves the recorded GET of every path: objects as recorded, lists
// in the pages that are asked for. It knows nothing else.
type appliance struct {
	t     *testing.T
	whole map[string]record
	asked []string
}

// listsOf keeps of each path the record with the most in it.
func newAppliance(t *testing.T) *appliance {
	t.Helper()
	a := &appliance{t: t, whole: map[string]record{}}
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
func (a *appliance) data(path string) (any, bool) {
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

func (a *appliance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
func (a *appliance) page(rec record, q url.Values) []byte {
	for k := range q {
		if k != "limit" && k != "offset" {
			a.t.Errorf("%s: %q went upstream", rec.path, k)
		}
	}
	limit, offset := atoi(q.Get("limit")), atoi(q.Get("offset"))
	var env struct{ Data []json.RawMessage }
	if err := json.Unmarshal(rec.body, &env); err != nil {
		a.t.Fatalf("%s: %v", rec.path, err)
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

// serve starts an HTTPS server with the handler and returns a client that
// believes it and knows every endpoint of the table.
func serve(t *testing.T, h http.Handler) *pfrest.Client {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = nil
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	var eps []pfrest.Endpoint
	for _, p := range catalog.Endpoints() {
		eps = append(eps, pfrest.Endpoint(p))
	}
	c, err := pfrest.New(pfrest.Config{BaseURL: srv.URL, Key: secretfile.New([]byte("replay-key")), TLSMode: "auto", CAFile: ca, Endpoints: eps})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func reader(t *testing.T, c *pfrest.Client) *readtool.Reader {
	t.Helper()
	r, err := readtool.New(readtool.Config{Client: c, ResultBytes: readtool.MaxResultBytes, ScanRows: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// one serves one recorded answer to every request.
func one(rec record) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range rec.headers {
			if slices.Contains([]string{"content-type", "retry-after", "www-authenticate", "location"}, k) {
				w.Header().Set(k, v)
			}
		}
		w.WriteHeader(rec.status)
		io.Copy(w, bytes.NewReader(rec.body)) //nolint:errcheck // the test says what is missing
	}
}
