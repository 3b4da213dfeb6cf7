package openapi

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// realDocument returns pfREST's own document, which is not part of the
// repository.
func realDocument(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "appliance", "openapi.json"))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("../shared/appliance/openapi.json is not there: pfREST's own document is not tried")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestTheRealDocumentIsIndexedWhole(t *testing.T) {
	ix, err := Parse(bytes.NewReader(realDocument(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(ix.Operations()) != 694 || len(ix.ModelNames()) != 186 || ix.Odd != 0 || ix.Version != "v2.10.0" || ix.License != "Apache 2.0" || len(ix.Extensions()) != 0 {
		t.Errorf("%d operations, %d models, %d odd, version %s", len(ix.Operations()), len(ix.ModelNames()), ix.Odd, ix.Version)
	}
	for _, op := range ix.Operations() {
		if op.Type == "" || op.Auth == "" || op.Applies == "" || op.ID == "" || op.Description == "" ||
			!op.Privileges.Stated || op.Privileges.Malformed || !op.Packages.Stated || !op.AuthModes.Stated {
			t.Errorf("a label of %s %s was not read: %+v", op.Verb, op.Path, op)
		}
	}
	fields, conditions, needs, nested, enums := 0, 0, 0, 0, 0
	for _, name := range ix.ModelNames() {
		m, _ := ix.Model(name)
		for _, f := range m.Fields {
			fields++
			if f.Condition != "" {
				conditions++
			}
			if f.Required != Unknown {
				needs++
			}
			if f.Model != "" {
				nested++
			}
			if f.Enum != nil {
				enums++
			}
			if strings.Contains(f.Default, "0x32ca") {
				t.Errorf("the default of %s.%s is a key of the appliance", name, f.Name)
			}
		}
	}
	// What the document has, counted by another program.
	if fields != 2164 || conditions != 697 || nested != 35 || enums != 213 || needs < 1500 {
		t.Errorf("%d fields, %d conditions, %d nested, %d enumerations, %d needs", fields, conditions, nested, enums, needs)
	}
	if f := fieldOf(t, ix, "OutboundNATMapping", "source_hash_key"); !strings.HasPrefix(f.Default, SecretPrefix) {
		t.Errorf("%+v", f)
	}
	if f := fieldOf(t, ix, "FreeRADIUSUser", "password_encryption"); strings.HasPrefix(f.Default, SecretPrefix) {
		t.Errorf("a word of an enumeration is taken for a secret: %+v", f)
	}
	if m, _ := ix.Model("ACMECertificateDomain"); len(m.Fields) != 297 {
		t.Errorf("%d fields", len(m.Fields))
	}
}
