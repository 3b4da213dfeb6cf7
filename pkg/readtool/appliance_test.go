package readtool

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
)

// appliance starts a pretend appliance and the real client for it.
func appliance(t testing.TB, o fakepf.Options) (*fakepf.Server, *pfrest.Client) {
	t.Helper()
	s := fakepf.Start(t, o)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	var eps []pfrest.Endpoint
	for _, p := range catalog.Endpoints() {
		eps = append(eps, pfrest.Endpoint(p))
	}
	c, err := pfrest.New(pfrest.Config{BaseURL: s.URL(), Key: secretfile.New([]byte(fakepf.ReadKey)), TLSMode: "auto", CAFile: ca, Endpoints: eps})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return s, c
}

func TestEveryToolAnswersOnThePretendAppliance(t *testing.T) {
	_, client := appliance(t, fakepf.Options{})
	r := reader(t, Config{Client: client})
	answered := 0
	for _, tool := range catalog.Tools() {
		if tool.Path == "" {
			continue
		}
		args := `{}`
		if catalog.HasGate(tool.Model) {
			args = `{"include_identifying_metadata":true}`
		}
		res, err := r.Run(t.Context(), pfrest.Caller{UID: 1}, tool, []byte(args), nil)
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		answered++
		if err := validate(resolve(t, OutputSchema(tool)), res.JSON); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		for _, n := range res.Notes {
			for _, bad := range []string{"unexpected type", "does not know", "does not send", "left out"} {
				if strings.Contains(n, bad) {
					t.Errorf("%s: %s", tool.Name, n)
				}
			}
		}
	}
	t.Logf("%d tools answered", answered)
}

// BenchmarkStatesThroughTheClient reads 10,000 states over TLS in pages and
// filters them; beside it the floor: the raw GETs of the same pages and a bare
// token scan. The second may cost at most twice the first.
func BenchmarkStatesThroughTheClient(b *testing.B) {
	const n = 10_000
	s, client := appliance(b, fakepf.Options{States: n})
	tool := statesTool(b)
	b.Run("raw GETs and token scan", func(b *testing.B) {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(s.CAPEM())
		h := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableCompression: true}}
		var body bytes.Buffer
		for b.Loop() {
			for at := 0; at < n; at += pageSize {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, fmt.Sprintf("%s%s?limit=%d&offset=%d", s.URL(), tool.Path, pageSize, at), nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("X-API-Key", fakepf.ReadKey)
				req.Header.Set("Accept", "application/json")
				res, err := h.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				body.Reset()
				if _, err := body.ReadFrom(res.Body); err != nil {
					b.Fatal(err)
				}
				res.Body.Close()
				dec := jsontext.NewDecoder(&body)
				for {
					if _, err := dec.ReadToken(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
	for name, args := range map[string]string{
		"gate shut": `{"where":["protocol = udp"]}`,
		"gate open": `{"where":["source = 192.168.0.0/16"],"include_identifying_metadata":true}`,
	} {
		b.Run("tool, "+name, func(b *testing.B) {
			r := reader(b, Config{Client: client, ScanRows: n + 1})
			for b.Loop() {
				res, err := r.Run(b.Context(), pfrest.Caller{UID: 1}, tool, []byte(args), nil)
				if err != nil || res.Scanned != n {
					b.Fatal(res.Scanned, err)
				}
			}
		})
	}
}
