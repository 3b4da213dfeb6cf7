package authority_test

import (
	"testing"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
)

func FuzzParseAuthorities(f *testing.F) {
	b, err := at.Owners().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := authority.Parse(in)
		if err != nil {
			return
		}
		if again, err := l.Encode(); err != nil || len(again) > authority.MaxSet+1 { // the line end
			t.Fatalf("%q: %q, %v", in, again, err)
		}
	})
}

func FuzzParsePins(f *testing.F) {
	b, err := (&authority.Pins{Executors: []authority.Pin{{Name: "edge", StoreID: at.StoreID, NVIndexName: at.NVIndexName, ApplianceTarget: at.Intent().Appliance, Attestation: at.Executor(), Authorities: *at.Owners()}}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := authority.ParsePins(in)
		if err != nil {
			return
		}
		b, err := p.Encode()
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if _, err := authority.ParsePins(b); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
	})
}
