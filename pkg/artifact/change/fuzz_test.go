package change_test

import (
	"bytes"
	"testing"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

func FuzzMembers(f *testing.F) {
	in := at.Intent()
	m, err := in.Members()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Identity, m.Intent, m.Snapshot)
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		got, err := change.Members{a, b, c}.Open()
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
		got, err := change.Description(s, change.Printable)
		if err != nil {
			return
		}
		if again, err := change.Description(got, change.Stored); err != nil || again != got || !canon.Normal(got) {
			t.Fatalf("%q: %q, %v", s, again, err)
		}
	})
}
