package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/test/fakepf"
)

func TestTheProgramSaysWhereItIsAndAnswers(t *testing.T) {
	dir := t.TempDir()
	p := paths{certDir: filepath.Join(dir, "certs"), key: filepath.Join(dir, "key"), writeKey: filepath.Join(dir, "write-key"), control: filepath.Join(dir, "c.sock")}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, fakepf.Options{}, p, in) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, w := range strings.Fields(line) {
		k, v, _ := strings.Cut(w, "=")
		at[k] = v
	}
	if !strings.HasPrefix(line, "ready url=https://127.0.0.1:") || at["ca"] != filepath.Join(p.certDir, "ca.pem") {
		t.Fatal(line)
	}
	ca, err := os.ReadFile(at["ca"])
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(p.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, "GET", at["url"]+"/api/v2/system/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", strings.TrimSpace(string(key)))
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	for file, mode := range map[string]os.FileMode{p.key: 0o600, p.writeKey: 0o600, p.certDir: 0o700, p.control: 0o600} {
		st, err := os.Stat(file)
		if err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", file, err, st.Mode().Perm())
		}
	}
	conn, err := net.Dial("unix", p.control)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.control); err == nil {
		t.Error("the control socket was left behind")
	}
}

func TestWrongUseIsRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"--cert-dir", t.TempDir(), "more"}, {"--nope"}, {"--rows", "x"}} {
		var out, err bytes.Buffer
		if code := run(args, &out, &err); code != 2 || err.Len() == 0 {
			t.Errorf("%q: %d %q", args, code, err.String())
		}
	}
	var out, err bytes.Buffer
	if code := run([]string{"--cert-dir", t.TempDir(), "--listen", "0.0.0.0:0"}, &out, &err); code != 1 || !strings.Contains(err.String(), "loopback") {
		t.Error(code, err.String())
	}
	if code := run([]string{"--help"}, &out, &err); code != 0 {
		t.Error(code)
	}
}
