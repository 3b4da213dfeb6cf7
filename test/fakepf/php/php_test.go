package php

import "testing"

func TestStringsAreEscapedTheWayPHPDoes(t *testing.T) {
	for in, want := range map[string]string{
		"a/b":         `"a\/b"`,
		"ä 漢":         `"\u00e4 \u6f22"`,
		"\U0001f600":  `"\ud83d\ude00"`,
		"\"\\\n\x01<": `"\"\\\n\u0001<"`,
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q is written %s, not %s", in, got, want)
		}
	}
}

func TestDecodeKeepsTheOrderAndTheLastOfTwoEqualKeys(t *testing.T) {
	v, err := Decode([]byte(`{"b":1,"a":[1.5,null,true,"x"],"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Append(nil, v)); got != `{"b":2,"a":[1.5,null,true,"x"]}` {
		t.Error(got)
	}
	for _, bad := range []string{``, `{`, `1 2`, `{"a":}`, "\"\xe9\""} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestLooseComparisonHitsWhatTheApplianceHits(t *testing.T) {
	rows := []string{"1000", "1e3", "7", "007", "1.0", "1", " 1", "", "0", "true", "9223372036854775807", "99999999999999999999"}
	hits := func(query string) (out []string) {
		for _, r := range rows {
			if Equal(r, Infer(query)) {
				out = append(out, r)
			}
		}
		return
	}
	for query, want := range map[string][]string{
		"1e3":                  {"1000", "1e3"},
		"007":                  {"7", "007"},
		"1":                    {"1.0", "1", " 1"},
		"false":                {"", "0"},
		"99999999999999999999": {"9223372036854775807"},
		"0x10":                 nil,
	} {
		got := hits(query)
		if len(got) != len(want) {
			t.Errorf("%s hits %q, not %q", query, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s hits %q, not %q", query, got, want)
			}
		}
	}
	if got := len(hits("true")); got != len(rows)-2 {
		t.Errorf("true hits %d rows", got)
	}
	if Equal(nil, Infer("0")) != true || Equal("x", Infer("null")) || !Equal(nil, Infer("null")) {
		t.Error("null")
	}
}

func TestFiltersOnOddValues(t *testing.T) {
	f := Filters()
	list := []any{"wan", "lan"}
	for _, c := range []struct {
		name         string
		stored, want any
		hit          bool
	}{
		{"contains", list, "lan", true},
		{"contains", list, "la", false},
		{"contains", nil, "none", false},
		{"contains", nil, "", true},
		{"contains", "x1y", true, true},
		{"contains", "abc", nil, true},
		{"exact", list, "lan", false},
		{"except", list, "lan", true},
		{"exact", "", nil, false},
		{"exact", nil, nil, true},
		{"exact", false, nil, false},
		{"in", "host", []any{"host", "port"}, true},
		{"gt", "Web", int64(5), false},
		{"gt", int64(7), int64(5), true},
		{"regex", "Blocked", "/^B/", true},
		{"regex", "Blocked", "^B.*", false},
		{"regex", "x", "[", false},
		{"regex", "x", "/[/", false},
		{"format", "10.0.0.1", "ipv4", true},
		{"format", list, "ipv4", false},
		{"startswith", "203.0.113.10:1", "203.0.113.1", true},
	} {
		if got := f[c.name](c.stored, c.want); got != c.hit {
			t.Errorf("%v %s %v is %v", c.stored, c.name, c.want, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			return
		}
		if _, err := Decode(Append(nil, v)); err != nil {
			t.Fatalf("%q is written in a form that cannot be read: %v", b, err)
		}
	})
}
