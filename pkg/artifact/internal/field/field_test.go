package field

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/canon"
)

// all has one member of every sort.
type all struct {
	text, id, hex, optHex, enum, optEnum, optToken string
	b                                              bool
	n                                              int64
	optN                                           *int64
	at, optAt                                      time.Time
	raw                                            []byte
	list                                           []string
	in                                             string
	items                                          []string
}

func (a *all) fields(c *Codec) {
	c.Version(1)
	c.Text("text", &a.text, Any)
	c.ID("id", &a.id, "wc-")
	c.Hex64("hex", &a.hex)
	c.OptHex64("opt_hex", &a.optHex)
	c.Enum("enum", &a.enum, "a", "b")
	c.OptEnum("opt_enum", &a.optEnum, "a", "b")
	c.OptToken("opt_token", &a.optToken)
	c.Const("const", "k")
	c.Bool("bool", &a.b)
	c.Int("int", &a.n, -1, 5)
	c.OptInt("opt_int", &a.optN, 0, 5)
	c.Time("time", &a.at)
	c.OptTime("opt_time", &a.optAt)
	c.Bytes("raw", &a.raw, 2)
	c.Strings("list", &a.list, 2)
	c.Object("object", func(c *Codec) { c.Token("in", &a.in) })
	Objects(c, "items", &a.items, 1, 2, func(c *Codec, s *string) { c.Token("item", s) })
}

func full() *all {
	n := int64(0)
	at := time.Date(2026, 3, 14, 9, 20, 0, 0, time.UTC)
	hex := canon.Hash(nil)
	return &all{"é", "wc-00000000000000000000000000000000", hex, hex, "a", "b", "t", true, -1, &n, at, at, []byte{1, 2}, []string{"", "x"}, "i", []string{"x", "y"}}
}

func TestOneListWritesAndReadsEverySortOfMember(t *testing.T) {
	empty := full()
	empty.optHex, empty.optEnum, empty.optToken, empty.optN, empty.optAt, empty.list = "", "", "", nil, time.Time{}, []string{}
	for _, want := range []*all{full(), empty} {
		o, err := Encode(want.fields)
		if err != nil {
			t.Fatal(err)
		}
		got := new(all)
		if err := Decode(o, got.fields); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(all{})); d != "" {
			t.Error(d)
		}
	}
}

func TestAFaultNamesTheMemberByItsPath(t *testing.T) {
	o, err := Encode(full().fields)
	if err != nil {
		t.Fatal(err)
	}
	for path, change := range map[string]func(canon.Object){
		"text":          func(o canon.Object) { o["text"] = int64(1) },
		"hex":           func(o canon.Object) { o["hex"] = nil },
		"opt_hex":       func(o canon.Object) { o["opt_hex"] = "" },
		"opt_int":       func(o canon.Object) { o["opt_int"] = int64(6) },
		"int":           func(o canon.Object) { o["int"] = true },
		"bool":          func(o canon.Object) { o["bool"] = "true" },
		"time":          func(o canon.Object) { o["time"] = "2026-03-14T09:20:00.5Z" },
		"opt_time":      func(o canon.Object) { o["opt_time"] = "0001-01-01T00:00:00Z" },
		"raw":           func(o canon.Object) { o["raw"] = "AQ==" },
		"list":          func(o canon.Object) { o["list"] = canon.Array{"e\u0301"} },
		"object.in":     func(o canon.Object) { o["object"] = canon.Object{"in": "a b"} },
		"object":        func(o canon.Object) { o["object"] = canon.Object{"in": "a", "more": nil} },
		"items":         func(o canon.Object) { o["items"] = canon.Array{} },
		"items[1]":      func(o canon.Object) { o["items"] = canon.Array{canon.Object{"item": "a"}, "b"} },
		"items[0].item": func(o canon.Object) { o["items"] = canon.Array{canon.Object{"item": int64(1)}} },
		"const":         func(o canon.Object) { o["const"] = "other" },
		"enum":          func(o canon.Object) { delete(o, "enum") },
		"file":          func(o canon.Object) { o["unknown"] = nil },
	} {
		bad := canon.Object{}
		for k, v := range o {
			bad[k] = v
		}
		change(bad)
		err := Decode(bad, new(all).fields)
		f, ok := err.(*Fault)
		if !ok || f.Member != path || f.Class != Structure {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestNothingIsWrittenThatWouldNotBeRead(t *testing.T) {
	for name, change := range map[string]func(*all){
		"text": func(a *all) { a.text = "e\u0301" }, "id": func(a *all) { a.id = "wc-1" }, "int": func(a *all) { a.n = 6 }, "optional int": func(a *all) { n := int64(-1); a.optN = &n },
		"no time": func(a *all) { a.at = time.Time{} }, "half a second": func(a *all) { a.at = a.at.Add(time.Second / 2) }, "raw": func(a *all) { a.raw = nil },
		"list": func(a *all) { a.list = []string{"", "", ""} }, "items": func(a *all) { a.items = nil }, "year": func(a *all) { a.at = a.at.AddDate(9000, 0, 0) },
	} {
		a := full()
		change(a)
		if _, err := Encode(a.fields); ClassOf(err) != Structure {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := full()
	a.at = a.at.In(time.FixedZone("x", 3600))
	if o, err := Encode(a.fields); err != nil || o["time"] != "2026-03-14T09:20:00Z" {
		t.Errorf("another zone: %v", err)
	}
}
