package where

import (
	"encoding/json/jsontext"
	"math/big"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/readtool/internal/row"
)

var conn = &catalog.Model{Name: "Conn", Fields: []catalog.Field{
	{Name: "user", Gate: catalog.Personal},
	{Name: "port", Kind: catalog.Integer},
}}

var sample = &catalog.Model{Name: "Sample", Fields: []catalog.Field{
	{Name: "id", Kind: catalog.Integer},
	{Name: "descr", Mark: catalog.FreeText | catalog.MayEmbed},
	{Name: "bytes", Kind: catalog.Integer},
	{Name: "loss", Kind: catalog.Number},
	{Name: "on", Kind: catalog.Boolean},
	{Name: "source", Mark: catalog.Address},
	{Name: "nets", List: true, Mark: catalog.Address},
	{Name: "ports", Kind: catalog.Integer, List: true},
	{Name: "mac", Gate: catalog.Network},
	{Name: "conns", Kind: catalog.Object, List: true, Model: conn},
}}

func shape(t testing.TB) *row.Shape {
	s, err := row.Compile(sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func match(t *testing.T, raw string, entries ...string) bool {
	t.Helper()
	s := shape(t)
	f, err := Parse(s, entries, true)
	if err != nil {
		t.Fatalf("%v: %v", entries, err)
	}
	d := row.NewDecoder(s, true)
	if !d.Decode([]byte(raw)) {
		t.Fatal("not decoded")
	}
	return f.Match(d)
}

func TestComparisonFollowsTheFieldsType(t *testing.T) {
	for _, c := range []struct {
		row, entry string
		want       bool
	}{
		// numbers, exact and by value
		{`{"bytes":9007199254740993}`, "bytes = 9007199254740993", true},
		{`{"bytes":9007199254740993}`, "bytes = 9007199254740992", false},
		{`{"bytes":9007199254740993}`, "bytes > 9007199254740992", true},
		{`{"bytes":10}`, "bytes > 9", true},
		{`{"bytes":10}`, "bytes = 1e1", true},
		{`{"bytes":-5}`, "bytes < 0", true},
		{`{"loss":0.10}`, "loss = 0.1", true},
		{`{"loss":3}`, "loss >= 3.0", true},
		{`{"loss":0}`, "loss = -0", true},
		{`{"ports":[1,443]}`, "ports = 443", true},
		{`{"ports":[]}`, "ports != 443", false},
		// booleans: text of a boolean is not searched, false is not null
		{`{"on":false}`, "on = false", true},
		{`{"on":true}`, "on = false", false},
		{`{"on":true}`, "on != false", true},
		{`{"on":null}`, "on = false", false},
		// text: byte-equal, search without ASCII case
		{`{"descr":"1000"}`, "descr = 1e3", false},
		{`{"descr":"007"}`, "descr = 7", false},
		{`{"descr":"VPN to Oslo"}`, "descr contains vpn TO", true},
		{`{"descr":"VPN to Oslo"}`, "descr = vpn to oslo", false},
		{`{"descr":"VPN to Oslo"}`, "descr startswith vpn", true},
		{`{"descr":"VPN to Oslo"}`, "descr startswith oslo", false},
		{`{"descr":"Ä"}`, "descr contains ä", false},
		{`{"descr":""}`, "descr = ", true},
		{`{"descr":" x"}`, "descr =  x", true},
		{`{"descr":"true"}`, "descr = true", true},
		// null
		{`{"descr":null}`, "descr = null", true},
		{`{}`, "descr = null", true},
		{`{"descr":null}`, "descr != null", false},
		{`{"descr":""}`, "descr = null", false},
		{`{"descr":"null"}`, "descr = null", false},
		{`{"descr":null}`, "descr != x", false},
		{`{"descr":null}`, "descr contains ", false},
		{`{"descr":null}`, "descr contains null", false},
		{`{"descr":"none"}`, "descr contains none", true},
		{`{"descr":null}`, "descr contains none", false},
		{`{"loss":null}`, "loss = 0", false},
		{`{"nets":[]}`, "nets = null", false},
		{`{"nets":null}`, "nets = null", true},
		{`{"conns":null}`, "conns = null", true},
		{`{"conns":[]}`, "conns != null", true},
		{`{"conns":null}`, "conns.user = null", true},
		// MAC addresses
		{`{"source":"02:42:71:10:00:aa"}`, "source = 02:42:71:10:00:AA", true},
		{`{"source":"02:42:71:10:00:aa"}`, "source = 02-42-71-10-00-AA", true},
		{`{"source":"02-42-71-10-00-AA"}`, "source = 0242.7110.00aa", true},
		{`{"source":"02:42:71:10:00:aa"}`, "source != 02-42-71-10-00-AA", false},
		{`{"source":"02:42:71:10:00:ab"}`, "source = 02:42:71:10:00:AA", false},
		{`{"source":"02:42:71:10:00:aa"}`, "source = 02:42-71:10:00:aa", false},
		{`{"source":"02:42:71:10:00:aa"}`, "source = 02:42:71:10:00:ag", false},
		{`{"source":"02:42:71:10:00:aa"}`, "source = 0242711000aa", false},
		{`{"source":"02:42:71"}`, "source = 02:42:71:10:00:aa", false},
		{`{"source":"02:42:71"}`, "source = 02:42:71", true},
		// addresses
		{`{"source":"10.0.0.1"}`, "source = 10.0.0.1", true},
		{`{"source":"10.0.0.10"}`, "source = 10.0.0.1", false},
		{`{"source":"110.0.0.1"}`, "source = 10.0.0.1", false},
		{`{"source":"10.0.0.1:443"}`, "source = 10.0.0.1", true},
		{`{"source":"10.0.0.1:443"}`, "source = 10.0.0.1:443", true},
		{`{"source":"10.0.0.1:444"}`, "source = 10.0.0.1:443", false},
		{`{"source":"10.0.0.1"}`, "source = 10.0.0.1:443", false},
		{`{"source":"10.0.0.1:443"}`, "source = :443", true},
		{`{"source":"10.0.0.1:4434"}`, "source = :443", false},
		{`{"source":"10.0.0.1:443"}`, "source = 10.0.0.0/8", true},
		{`{"source":"11.0.0.1:443"}`, "source = 10.0.0.0/8", false},
		{`{"source":"11.0.0.1:443"}`, "source != 10.0.0.0/8", true},
		{`{"source":"10.1.0.0/16"}`, "source = 10.0.0.0/8", true},
		{`{"source":"10.0.0.0/8"}`, "source = 10.1.0.0/16", false},
		{`{"source":"10.0.0.0/8"}`, "source = 10.0.0.0", false},
		{`{"source":"10.0.0.1/32"}`, "source = 10.0.0.1", true},
		{`{"source":"10.0.0.9"}`, "source = 10.0.0.5/24", true},
		{`{"source":"2001:DB8:0::1"}`, "source = 2001:db8::1", true},
		{`{"source":"2001:db8::1[443]"}`, "source = 2001:db8::1", true},
		{`{"source":"2001:db8::1[443]"}`, "source = [2001:db8::1]:443", true},
		{`{"source":"2001:db8::1[444]"}`, "source = 2001:db8::1[443]", false},
		{`{"source":"2001:db8::1[443]"}`, "source = 2001:db8::/32", true},
		{`{"source":"::ffff:10.0.0.1"}`, "source = 10.0.0.1", true},
		{`{"source":"fe80::1%em0"}`, "source = fe80::1", true},
		{`{"source":"fe80::1%em0"}`, "source = fe80::1%em1", false},
		{`{"source":"fe80::1%em0"}`, "source = fe80::/10", true},
		{`{"source":"!10.0.0.1"}`, "source = 10.0.0.1", false},
		{`{"source":"any"}`, "source = any", true},
		{`{"source":"any"}`, "source != 10.0.0.1", true},
		{`{"source":null}`, "source != 10.0.0.1", false},
		{`{"nets":["192.168.1.0/24|/0"]}`, "nets = 192.168.0.0/16", true},
		{`{"nets":["10.0.0.0/8","192.168.1.0/24"]}`, "nets = 192.168.1.0/24", true},
		{`{"nets":["8000:8080"]}`, "nets = 8000:8080", true},
		{`{"source":"10.0.0.1"}`, "source contains 0.0.1", true},
		// nested
		{`{"conns":[{"user":"al","port":1},{"user":"bo","port":2}]}`, "conns.user = bo", true},
		{`{"conns":[{"user":"al","port":1},{"user":"bo","port":2}]}`, "conns.port > 2", false},
		{`{"conns":[]}`, "conns.user = null", false},
		// what is compared is what is shown
		{`{"descr":"a\u0007b"}`, `descr = a\u{07}b`, true},
		{`{"descr":"x\npassword hunter2"}`, "descr contains hunter2", false},
	} {
		if got := match(t, c.row, c.entry); got != c.want {
			t.Errorf("%s: `%s` is %v", c.row, c.entry, got)
		}
	}
}

func TestAllEntriesMustHold(t *testing.T) {
	const r = `{"bytes":5,"descr":"x"}`
	if !match(t, r, "bytes > 4", "descr = x") || match(t, r, "bytes > 4", "descr = y") || !match(t, r) {
		t.Fatal("entries are not joined by and")
	}
}

func TestABadEntryIsRefusedWithAnExampleAndNotQuoted(t *testing.T) {
	s := shape(t)
	for entry, want := range map[string]string{
		"":                                    "<field> <op> <value>",
		"descr":                               "<field> <op> <value>",
		"descr =":                             "<field> <op> <value>",
		"descr=zzz":                           "<field> <op> <value>",
		" descr = zzz":                        "<field> <op> <value>",
		"zzz = 1":                             "unknown field",
		"conns.zzz = 1":                       "unknown field",
		"descr.zzz = 1":                       "unknown field",
		"descr ~ zzz":                         "unknown operator",
		"descr < zzz":                         "has no order",
		"bytes = zzz":                         "is a number",
		"bytes contains 1":                    "is a number",
		"bytes = 1" + strings.Repeat("0", 50): "is a number",
		"bytes < null":                        "is a number",
		"on = yes":                            "is a boolean",
		"on < true":                           "is a boolean",
		"source = 10.0.0.0/33":                "number of bits",
		"conns = zzz":                         "rows of its own",
		"mac = zzz":                           "identifying metadata",
		"mac = null":                          "identifying metadata",
		"conns.user contains zzz":             "identifying metadata",
		"descr = " + strings.Repeat("z", MaxEntry): "at most",
	} {
		_, err := Parse(s, []string{"bytes = 1", entry}, false)
		if err == nil {
			t.Errorf("%.40q is accepted", entry)
			continue
		}
		e := errs.Public(err)
		if e.Code != errs.Invalid || e.Class != "request_validation" || !strings.Contains(e.Msg, want) || !strings.HasPrefix(e.Msg, "where entry 2: ") || e.Next == "" {
			t.Errorf("%.40q: %+v", entry, e)
		}
		if strings.Contains(e.Msg+e.Next, "zzz") {
			t.Errorf("%.40q is quoted: %q %q", entry, e.Msg, e.Next)
		}
	}
	if _, err := Parse(s, make([]string, MaxTerms+1), false); err == nil {
		t.Error("nine entries are accepted")
	}
	if _, err := Parse(s, []string{"mac = x"}, true); err != nil {
		t.Errorf("an open gate refuses: %v", err)
	}
}

func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0", "10", "0.05", "12.50", "1e5", "-1.5E-3", "9007199254740993", "1e00002", "100e-2"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		da, oka := parseDecimal(a)
		db, okb := parseDecimal(b)
		if oka && !(jsontext.Value(a).IsValid() && jsontext.Value(a).Kind() == '0') {
			t.Fatalf("%q is read as a number", a)
		}
		if !oka || !okb || da.exp > 300 || da.exp < -300 || db.exp > 300 || db.exp < -300 {
			return
		}
		ra, ok1 := new(big.Rat).SetString(a)
		rb, ok2 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 {
			t.Fatalf("%q or %q is no number", a, b)
		}
		if got, want := da.compare(db), ra.Cmp(rb); got != want {
			t.Fatalf("%q against %q is %d, want %d", a, b, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("descr contains x", `{"descr":"x"}`)
	f.Add("source = 10.0.0.0/8", `{"source":"10.0.0.1:5"}`)
	f.Add("source = [2001:db8::1]:443", `{"source":"2001:db8::1[443]"}`)
	f.Add("conns.port >= 1e2", `{"conns":[{"port":100}]}`)
	f.Add("nets != null", `{"nets":["a",null]}`)
	s := shape(f)
	f.Fuzz(func(t *testing.T, entry, raw string) {
		flt, err := Parse(s, []string{entry}, true)
		if err != nil {
			if e := errs.Public(err); e.Code != errs.Invalid || e.Next == "" {
				t.Fatalf("%+v", e)
			}
			return
		}
		d := row.NewDecoder(s, true)
		if !d.Decode([]byte(raw)) {
			return
		}
		got := flt.Match(d)
		name, rest, _ := strings.Cut(entry, " ")
		op, value, _ := strings.Cut(rest, " ")
		p, _ := s.Lookup(name)
		if p.Field().List || strings.Contains(name, ".") || op != "=" || value == "null" {
			return
		}
		neg, err := Parse(s, []string{name + " != " + value}, true)
		if err != nil {
			t.Fatalf("= is taken and != is not: %v", err)
		}
		null, _ := Parse(s, []string{name + " = null"}, true)
		if n := null.Match(d); got && n || neg.Match(d) != (!got && !n) {
			t.Fatalf("%q on %s: = %v, null %v", entry, raw, got, n)
		}
	})
}
