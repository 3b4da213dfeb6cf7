package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/test/fakedocs"
)

func TestTheProgramSaysWhereItIsAndPlaysTheSite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"--cert-dir", dir}, in, io.Discard) }()
	line := make([]byte, 512)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, w := range strings.Fields(string(line[:n])) {
		k, v, _ := strings.Cut(w, "=")
		at[k] = v
	}
	if !strings.HasPrefix(string(line[:n]), "ready addr=127.0.0.1:") || at["ca"] != filepath.Join(dir, "docs-ca.pem") {
		t.Fatal(string(line[:n]))
	}
	ca, err := os.ReadFile(at["ca"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c, err := tls.Dial("tcp", at["addr"], &tls.Config{RootCAs: roots, ServerName: fakedocs.Host})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /ENDPOINT_TYPES/ HTTP/1.1\r\nHost: pfrest.org\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if page, err := io.ReadAll(c); err != nil || !bytes.Contains(page, []byte("Pretend guide: endpoint types")) {
		t.Error(err)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestABadCommandLineIsRefused(t *testing.T) {
	for code, list := range map[int][][]string{
		0: {{"--help"}},
		1: {{"--cert-dir", t.TempDir(), "--listen", "0.0.0.0:0"}, {"--cert-dir", t.TempDir(), "--document", "/none"}},
		2: {{}, {"--cert-dir", "x", "more"}, {"--nothing"}},
	} {
		for _, args := range list {
			if got := run(t.Context(), args, io.Discard, io.Discard); got != code {
				t.Errorf("%v: exit code %d", args, got)
			}
		}
	}
}
