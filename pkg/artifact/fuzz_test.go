package artifact_test

import (
	"bytes"
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
)

// fuzz holds one parser to what all of them promise: no input makes it panic, what
// it takes encodes to the same bytes, and what it refuses it refuses with a Fault.
func fuzz(f *testing.F, name string) {
	var own kind
	for _, k := range kinds() {
		f.Add(k.file(f))
		if k.name == name {
			own = k
		}
	}
	if own.parse == nil {
		f.Fatal("no such kind")
	}
	f.Add([]byte(`{"schema_version":2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := own.parse(in)
		if err != nil {
			if artifact.ClassOf(err) == "" {
				t.Fatalf("%v is no Fault", err)
			}
			return
		}
		again, err := artifact.Encode(a)
		if err != nil || !bytes.Equal(in, again) {
			t.Fatalf("%q encodes to %q, %v", in, again, err)
		}
		_ = artifact.Verify(a, at.Public(at.KeyX())) // must not panic
	})
}

func FuzzParsePreview(f *testing.F)               { fuzz(f, "preview") }
func FuzzParseAuthorization(f *testing.F)         { fuzz(f, "authorization") }
func FuzzParsePending(f *testing.F)               { fuzz(f, "pending") }
func FuzzParseConfirmation(f *testing.F)          { fuzz(f, "confirmation") }
func FuzzParseObservation(f *testing.F)           { fuzz(f, "observation") }
func FuzzParseReconciliation(f *testing.F)        { fuzz(f, "reconciliation") }
func FuzzParseRollbackRequest(f *testing.F)       { fuzz(f, "rollback request") }
func FuzzParseRollback(f *testing.F)              { fuzz(f, "rollback") }
func FuzzParseRollbackAuthorization(f *testing.F) { fuzz(f, "rollback authorization") }
func FuzzParseAnchorStatus(f *testing.F)          { fuzz(f, "anchor status") }
func FuzzParseRebaseline(f *testing.F)            { fuzz(f, "rebaseline") }
func FuzzParseExportHead(f *testing.F)            { fuzz(f, "export head") }
