package opctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person who sets writing up is asked once where the counter is, and for a witness
// host what it takes to reach that.
func TestSetupForWritingAsksWhereTheCounterIs(t *testing.T) {
	s := firewall(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{
		"--write", "--plain", "--url", s.URL, "--identity", "mcp-reader", "--key-file", file("read.key", "the-key-0123456789\n"),
		"--account", "mcp-writer", "--write-key-file", file("write.key", "the-other-0123456789\n"), "--store-id", "office",
	}
	const where = "witness host (https://HOST[:PORT]) [device:/dev/tpmrm0]: "
	code, shown, out := interview(t, func(x *person) {
		x.asks(where)
		x.types("\n")
		x.asks(question)
		x.types("yes\n")
	}, args...)
	if code != ExitOK || !strings.Contains(out, `backend = "tpm-local"`) || strings.Contains(out, "remote") {
		t.Errorf("this host's TPM: %d\n%s\n%s", code, shown, out)
	}
	file("ca.pem", "no certificate")
	code, shown, out = interview(t, func(x *person) {
		x.asks(where)
		x.types("https://192.0.2.77:7443\n")
		x.asks("(cert.pem, key.pem): ")
		x.types(dir + "\n")
		x.asks(question)
		x.types("yes\n")
	}, args...)
	if code != ExitFail || !strings.Contains(shown, "the file ca.pem for the witness host is no PEM file") || strings.Contains(out, "executord.toml") {
		t.Errorf("a witness host: %d\n%s\n%s", code, shown, out)
	}
}
