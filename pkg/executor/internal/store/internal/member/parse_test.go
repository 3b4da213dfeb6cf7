package member

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/canon"
)

// FuzzParse: what Parse takes, the general decoder takes as canonical and reads alike.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":null,"b":true,"c":false,"d":"x","e":{"f":[1,"y",[]]}}`, `{"a":9223372036854775807}`, `{"a":9223372036854775808}`,
		`{"a":01}`, `{"b":1,"a":1}`, `{"a":1,"a":1}`, `{"a":-1}`, `{"a":"\n"}`, `{"a":"é"}`, ` {}`, `{} `, `{"a":1,}`, `{"a":[1,]}`, `{,}`, `{"a":{"b":{"c":{"d":{}}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Parse(b)
		if err != nil {
			return
		}
		want, err := canon.DecodeExact(b)
		if err != nil {
			t.Fatalf("%q is taken and is not canonical: %v", b, err)
		}
		if d := cmp.Diff(want, any(o)); d != "" {
			t.Fatalf("%q: %s", b, d)
		}
	})
}

func TestParseTakesNoOtherForm(t *testing.T) {
	for _, s := range []string{
		``, `{`, `[]`, `1`, `null`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":"x`, `{"a":nul}`, `{"a":01}`, `{"a":-1}`, `{"a":1.5}`, `{"b":1,"a":1}`,
		`{"a":1,"a":1}`, `{"a":1,}`, `{"a":[1,]}`, `{"a":"\u0041"}`, `{"a":"é"}`, ` {}`, `{} `, `{"a": 1}`, `{"a":9223372036854775808}`, `{"a":{"b":{"c":{"d":{}}}}}`,
	} {
		if o, err := Parse([]byte(s)); err == nil {
			t.Errorf("%s was taken: %v", s, o)
		}
	}
}
