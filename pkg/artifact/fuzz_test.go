package artifact

import (
	"bytes"
	"testing"

	"pfsensemcp/pkg/canon"
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
			if ClassOf(err) == "" {
				t.Fatalf("%v is no Fault", err)
			}
			return
		}
		again, err := Encode(a)
		if err != nil || !bytes.Equal(in, again) {
			t.Fatalf("%q encodes to %q, %v", in, again, err)
		}
		_ = Verify(a, public(keyX)) // must not panic
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

func FuzzParseAuthorities(f *testing.F) {
	b, err := owners().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := ParseAuthorities(in)
		if err != nil {
			return
		}
		if again, err := l.Encode(); err != nil || len(again) > MaxAuthorities+1 { // the line end
			t.Fatalf("%q: %q, %v", in, again, err)
		}
	})
}

func FuzzParsePins(f *testing.F) {
	b, err := (&Pins{Executors: []Pin{{StoreID: storeID, NVIndexName: nvIndexName, ApplianceTarget: exampleIntent().Appliance, Attestation: executorKey, Authorities: *owners()}}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ParsePins(in)
		if err != nil {
			return
		}
		b, err := p.Encode()
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if _, err := ParsePins(b); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
	})
}

func FuzzMembers(f *testing.F) {
	in := exampleIntent()
	m, err := in.Members()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Identity, m.Intent, m.Snapshot)
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		got, err := Members{a, b, c}.Open()
		if err != nil {
			return
		}
		again, err := got.Members()
		if err != nil || !bytes.Equal(again.Identity, a) || !bytes.Equal(again.Intent, b) || !bytes.Equal(again.Snapshot, c) {
			t.Fatalf("%q %q %q: %v", a, b, c, err)
		}
	})
}

func FuzzDescription(f *testing.F) {
	f.Add("DMZ web servers")
	f.Add("e\u0301\u202e\U000e0041")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Description(s, Printable)
		if err != nil {
			return
		}
		if again, err := Description(got, Stored); err != nil || again != got || !canon.Normal(got) {
			t.Fatalf("%q: %q, %v", s, again, err)
		}
	})
}
