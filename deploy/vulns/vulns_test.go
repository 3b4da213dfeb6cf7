package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is a database entry about a function that mcpsign calls.
const entry = `{"schema_version":"1.3.1","id":"GO-2099-0001","modified":"2099-01-01T00:00:00Z","published":"2099-01-01T00:00:00Z",
"summary":"made up","details":"made up","affected":[{"package":{"name":"stdlib","ecosystem":"Go"},
"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
"ecosystem_specific":{"imports":[{"path":"crypto/ed25519","symbols":["Verify","VerifyWithOptions","verify","Sign","PrivateKey.Sign"]}]}}],
"database_specific":{"url":"https://pkg.go.dev/vuln/GO-2099-0001","review_status":"REVIEWED"}}`

// TestAVulnerabilityThatAProgramReachesIsFound proves that the scan reads a
// directory of entries: it would find nothing in a database it cannot read.
func TestAVulnerabilityThatAProgramReachesIsFound(t *testing.T) {
	t.Chdir("../..")
	db := t.TempDir()
	if err := os.WriteFile(filepath.Join(db, "GO-2099-0001.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := scan(db, "./cmd/mcpsign")
	if err != nil {
		t.Fatal(err)
	}
	f, ok := found["GO-2099-0001"]
	if !ok || !strings.Contains(f.where, "crypto/ed25519") || !strings.Contains(f.where, "pfsensemcp/") {
		t.Fatalf("found: %v", found)
	}
	if err := judge(&bytes.Buffer{}, found, nil); err == nil || !strings.Contains(err.Error(), "no version is without it") {
		t.Errorf("a finding that nobody accepted: %v", err)
	}
	var said bytes.Buffer
	if err := judge(&said, found, map[string]string{"GO-2099-0001": "the reason"}); err != nil || !strings.Contains(said.String(), "because: the reason") {
		t.Errorf("an accepted finding: %v\n%s", err, said.String())
	}
	if err := judge(&said, nil, map[string]string{"GO-2099-0001": "the reason"}); err == nil {
		t.Error("an accepted finding that is gone stays in the list")
	}
	// A directory without entries is no database.
	if _, err := scan(t.TempDir(), "./cmd/mcpsign"); err == nil {
		t.Log("govulncheck takes an empty directory for a database: run counts the entries")
	}
}

func TestTheListOfAcceptedFindingsNamesAReasonForEach(t *testing.T) {
	t.Chdir("../..")
	if _, err := readAccepted(acceptedFile); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"GO-2099-0001", "GO-2099-0001 no", "CVE-1 a reason of five whole words", "GO-2099-0001 a reason of five words\nGO-2099-0001 a reason of five words"} {
		path := filepath.Join(t.TempDir(), "accepted.txt")
		if err := os.WriteFile(path, []byte("# c\n\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAccepted(path); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestAScanOfNothingIsAFault(t *testing.T) {
	for _, stream := range []string{"", `{"config":{}}`, `{"SBOM":{"modules":[{"path":"pfsensemcp"}]}}`, `{"SBOM":`} {
		if _, err := parse([]byte(stream)); err == nil {
			t.Errorf("%q passes for a scan", stream)
		}
	}
}
