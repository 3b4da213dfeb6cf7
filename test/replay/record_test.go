package replay

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/secretfile"
)

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
