package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reading() Reading {
	return Reading{
		Facts: Facts{
			Index: 0x01500020, Name: "000b" + strings.Repeat("5a", 32), Manufacturer: "IFX", EKDigest: strings.Repeat("e4", 32), Assurance: "hardware_witness",
		},
		Value: 41, Ticket: strings.Repeat("0f", 48),
	}
}

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	b, err := reading().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseReading(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(reading(), got); d != "" {
		t.Error(d)
	}
	o := Order{Expected: 41, Ticket: strings.Repeat("0f", 48)}
	if b, err = o.Encode(); err != nil {
		t.Fatal(err)
	}
	if got, err := ParseOrder(b); err != nil || got != o {
		t.Error(got, err)
	}
	if b, err = (Advanced{42}).Encode(); err != nil || string(b) != `{"value":42}` {
		t.Error(string(b), err)
	}
	for _, w := range []string{Malformed, Forbidden, NoRoute, Stale, Refused, Conflict, Name, Unavailable, Lockout, Unreachable} {
		b, err := (Refusal{w}).Encode()
		if err != nil || Status(w) == 0 {
			t.Fatal(w, err)
		}
		if got, err := ParseRefusal(b, Status(w)); err != nil || got.Word != w {
			t.Error(w, err)
		}
		if _, err := ParseRefusal(b, 200); err == nil {
			t.Error(w, "is believed under another status")
		}
	}
}

func TestAMessageOfAnotherShapeIsRefused(t *testing.T) {
	tick := strings.Repeat("0f", 48)
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `{"expected_current":41}`,
		`{"expected_current":"41","ticket":"` + tick + `"}`,
		`{"expected_current":-1,"ticket":"` + tick + `"}`,
		`{"expected_current":9223372036854775807,"ticket":"` + tick + `"}`,
		`{"expected_current":41.0,"ticket":"` + tick + `"}`,
		`{"expected_current":41,"expected_current":41,"ticket":"` + tick + `"}`,
		`{"expected_current":41,"ticket":"` + tick + `","x":1}`,
		`{"expected_current":41,"ticket":"` + strings.ToUpper(tick) + `"}`,
		`{"expected_current":41,"ticket":"` + tick[2:] + `"}`,
		` {"expected_current":41,"ticket":"` + tick + `"}`,
		`{"ticket":"` + tick + `","expected_current":41}`,
		`{"expected_current":41,"ticket":"` + tick + `"}` + strings.Repeat(" ", MaxBody),
	} {
		if _, err := ParseOrder([]byte(s)); err == nil {
			t.Errorf("%.60s is taken for an order", s)
		}
	}
	b, err := reading().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][2]string{
		{"hardware_witness", "hardware"}, {"0x01500020", "0x1500020"}, {"000b", "000c"}, {"IFX", "I X"}, {strings.Repeat("e4", 32), "e4"}, {`"value":41`, `"value":null`},
	} {
		if _, err := ParseReading([]byte(strings.Replace(string(b), row[0], row[1], 1))); err == nil {
			t.Errorf("%s instead of %s is accepted", row[1], row[0])
		}
	}
}

func FuzzAMessageIsReadInOneWayOrNot(f *testing.F) {
	b, err := reading().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"expected_current":41,"ticket":"` + strings.Repeat("0f", 48) + `"}`))
	f.Add([]byte(`{"error":"stale"}`))
	f.Add([]byte(`{"value":42}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseReading(b); err == nil {
			again(t, b, r.Encode)
		}
		if r, err := ParseOrder(b); err == nil {
			again(t, b, r.Encode)
		}
		if r, err := ParseAdvanced(b); err == nil {
			again(t, b, r.Encode)
		}
		if r, err := ParseRefusal(b, 503); err == nil {
			again(t, b, r.Encode)
		}
	})
}

func again(t *testing.T, b []byte, encode func() ([]byte, error)) {
	t.Helper()
	out, err := encode()
	if err != nil || string(out) != string(b) {
		t.Fatalf("%q is written as %q: %v", b, out, err)
	}
}
