package keeper_test

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
)

// An index's Name says what kind of index it is and not which TPM it is in: another TPM
// with the same secret can be counted up to any value, and so to that of an older store.
// The record of the founding says which TPM it was.
func TestN3AnotherTPMWithTheSameIndexAndValueIsAQuarantine(t *testing.T) {
	for what, edit := range map[string]func(*anchor.Facts){
		"another endorsement key": func(x *anchor.Facts) { x.EKDigest = strings.Repeat("e5", 32) },
		"another assurance":       func(x *anchor.Facts) { x.Assurance = anchor.Software },
	} {
		// The TPM is away at the start, or it is there already.
		for _, away := range []bool{true, false} {
			fake := anchortest.New(41)
			c := config(t, fake)
			founded(t, c)
			fake.Change(edit)
			if !away && what == "another assurance" {
				continue // refused at the start: TestN6AStoreIsOpenedAsItWasFounded
			}
			if away {
				fake.Break(anchortest.Unavailable)
			}
			k := open(t, c)
			fake.Break(anchortest.Works)
			s, err := k.Current()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // it does not end by itself
				k.Check(t.Context(), s)
				if word := k.Quarantine(); word != "anchor_name" {
					t.Errorf("%s, away %v: %q", what, away, word)
				}
			}
		}
	}
	// One that shows no key is not another one: an owner may have closed that hierarchy.
	fake := anchortest.New(41)
	c := config(t, fake)
	founded(t, c)
	fake.Change(func(x *anchor.Facts) { x.EKDigest = "" })
	if k := open(t, c); !k.Status().Constructible {
		t.Errorf("%+v", k.Status())
	}
}
