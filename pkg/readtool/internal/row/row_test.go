package row

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/catalog"
)

var peer = &catalog.Model{Name: "Peer", Fields: []catalog.Field{
	{Name: "id", Kind: catalog.Integer, Mark: catalog.Key},
	{Name: "who", Gate: catalog.Personal},
	{Name: "bytes", Kind: catalog.Integer, Mark: catalog.Volatile},
	{Name: "nets", List: true, Mark: catalog.Address},
}}

var sample = &catalog.Model{
	Name: "Sample",
	Fields: []catalog.Field{
		{Name: "id", Kind: catalog.Integer, Mark: catalog.Key},
		{Name: "if_", Up: "if"},
		{Name: "kind", Values: []string{"host", "network"}},
		{Name: "big", Kind: catalog.Integer},
		{Name: "load", Kind: catalog.Number},
		{Name: "on", Kind: catalog.Boolean},
		{Name: "mac", Gate: catalog.Network},
		{Name: "servers", List: true, Gate: catalog.Network},
		{Name: "tags", List: true},
		{Name: "ports", Kind: catalog.Integer, List: true},
		{Name: "cipher", Mark: catalog.TrimEnd},
		{Name: "made", Kind: catalog.Integer, Mark: catalog.RequestTime, Companion: "made_by"},
		{Name: "made_by", Gate: catalog.Personal},
		{Name: "seen", Kind: catalog.Integer, Mark: catalog.RequestTime, Companion: "seen_by"},
		{Name: "peers", Kind: catalog.Object, List: true, Model: peer},
		{Name: "best", Kind: catalog.Object, Model: peer},
		{Name: "age", Kind: catalog.Integer, Mark: catalog.Volatile},
		{Name: "src", Mark: catalog.Derived},
	},
	Excluded: []catalog.Exclusion{{Field: "psk", Secret: true, Why: "a key"}},
}

func compile(t testing.TB) *Shape {
	t.Helper()
	s, err := Compile(sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decoded decodes one row and returns it as shown, or "unusable".
func decoded(t testing.TB, d *Decoder, raw string) string {
	t.Helper()
	if !d.Decode([]byte(raw)) || !d.Usable() {
		return "unusable"
	}
	return string(d.Append(nil, nil, Limits{}))
}

func TestARowIsDecodedByItsModelAlone(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		open     bool
	}{
		"absent, null and empty stay apart": {
			in:   `{"id":1,"if":"","kind":null,"tags":[]}`,
			want: `{"id":1,"if_":"","kind":null,"mac":null,"servers":[],"tags":[],"made_by":null}`,
		},
		"integers above 2^53 and floats keep the appliance's digits": {
			in:   `{"id":9007199254740993,"big":18446744073709551616,"load":41.0}`,
			want: `{"id":9007199254740993,"big":18446744073709551616,"load":41.0,"mac":null,"servers":[],"made_by":null}`,
		},
		"a number may be whole": {
			in: `{"id":1,"load":3}`, want: `{"id":1,"load":3,"mac":null,"servers":[],"made_by":null}`,
		},
		"nothing is coerced": {
			in:   `{"id":1,"if":7,"big":"7","load":"3.5","on":1,"tags":"x","peers":{},"best":[],"cipher":true}`,
			want: `{"id":1,"if_":null,"big":null,"load":null,"on":null,"mac":null,"servers":[],"tags":null,"cipher":null,"made_by":null,"peers":null,"best":null}`,
		},
		"an integer is not a float": {
			in: `{"id":1,"big":1.0}`, want: `{"id":1,"big":null,"mac":null,"servers":[],"made_by":null}`,
		},
		"text in the disguise of a number is refused": {
			in: `{"id":1,"load":0.` + strings.Repeat("1", 60) + `}`, want: `{"id":1,"load":null,"mac":null,"servers":[],"made_by":null}`,
		},
		"a number that no double holds is refused: the whole answer would not be read": {
			in: `{"id":1,"load":1e999}`, want: `{"id":1,"load":null,"mac":null,"servers":[],"made_by":null}`,
		},
		"one that a double can nearly hold is one": {
			in: `{"id":1,"load":-1.7E+308}`, want: `{"id":1,"load":-1.7E+308,"mac":null,"servers":[],"made_by":null}`,
		},
		"an entry of the wrong type is null in its place": {
			in: `{"id":1,"tags":["a",1,null,"b"],"ports":[1,"2",3]}`, want: `{"id":1,"mac":null,"servers":[],"tags":["a",null,null,"b"],"ports":[1,null,3],"made_by":null}`,
		},
		"unknown, excluded and link members are dropped": {
			in: `{"psk":"secret","id":1,"new":{"deep":[1,{"x":2}]},"_links":{},"parent_id":3}`, want: `{"id":1,"mac":null,"servers":[],"made_by":null}`,
		},
		"a member named twice is null": {
			in: `{"id":1,"if":"a","if":"b"}`, want: `{"id":1,"if_":null,"mac":null,"servers":[],"made_by":null}`,
		},
		"an escaped name is the same name": {
			in: `{"id":1,"\u0069f":"a"}`, want: `{"id":1,"if_":"a","mac":null,"servers":[],"made_by":null}`,
		},
		"gated values are null, gated lists empty, nested ones too": {
			in:   `{"id":1,"mac":"aa:bb","servers":["192.0.2.1"],"peers":[{"id":0,"who":"alice","nets":["10.0.0.0/8"]}],"best":{"id":4}}`,
			want: `{"id":1,"mac":null,"servers":[],"made_by":null,"peers":[{"id":0,"who":null,"nets":["10.0.0.0/8"]}],"best":{"id":4,"who":null}}`,
		},
		"an open gate shows them": {
			open: true,
			in:   `{"id":1,"mac":"aa:bb","servers":["192.0.2.1"],"peers":[{"id":0,"who":"alice"},{"id":1,"who":null}],"made_by":null}`,
			want: `{"id":1,"mac":"aa:bb","servers":["192.0.2.1"],"made_by":null,"peers":[{"id":0,"who":"alice"},{"id":1,"who":null}]}`,
		},
		"a time without its companion is the request's own and null": {
			in: `{"id":1,"made":5,"made_by":null,"seen":6}`, want: `{"id":1,"mac":null,"servers":[],"made":null,"made_by":null,"seen":null}`,
		},
		"a time with its companion is shown, hidden companion or not modelled": {
			in: `{"id":1,"made":5,"made_by":"admin","seen":6,"seen_by":{"x":1}}`, want: `{"id":1,"mac":null,"servers":[],"made":5,"made_by":null,"seen":6}`,
		},
		"stray line ends are trimmed where the model says so": {
			in: `{"id":1,"cipher":"AES-256-GCM\r\n","if":"x\n"}`, want: `{"id":1,"if_":"x\\n","mac":null,"servers":[],"cipher":"AES-256-GCM","made_by":null}`,
		},
		"a value outside the known set passes": {
			in: `{"id":1,"kind":"urltable"}`, want: `{"id":1,"kind":"urltable","mac":null,"servers":[],"made_by":null}`,
		},
		"derived fields are not taken from the appliance": {
			in: `{"id":1,"src":"forged"}`, want: `{"id":1,"mac":null,"servers":[],"made_by":null}`,
		},
		"a row without its key":          {in: `{"if":"x"}`, want: "unusable"},
		"a row with a null key":          {in: `{"id":null}`, want: "unusable"},
		"a row with a key of wrong type": {in: `{"id":"1"}`, want: "unusable"},
		"a row that is no object":        {in: `[1]`, want: "unusable"},
		"a text":                         {in: `"x"`, want: "unusable"},
		"half a row":                     {in: `{"id":1,"if":"x`, want: "unusable"},
		"a nested syntax error":          {in: `{"id":1,"peers":[{"id":}]}`, want: "unusable"},
		"text that is not UTF-8":         {in: "{\"id\":1,\"if\":\"\xe9\"}", want: "unusable"},
		"a lone surrogate":               {in: `{"id":1,"if":"\ud800"}`, want: "unusable"},
		"nesting without end":            {in: `{"id":1,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, want: "unusable"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, decoded(t, NewDecoder(compile(t), c.open), c.in)); d != "" {
				t.Fatal(d)
			}
		})
	}
}

// The decoder expects the model's order and must not depend on it: not for names
// in another one, twice, left out on purpose, derived, or written with escapes.
func TestTheOrderOfMembersChangesNothing(t *testing.T) {
	members := []string{
		`"id":7`, `"if":"wan"`, `"kind":"host"`, `"big":9007199254740993`, `"load":0.5`, `"on":true`, `"psk":"x"`,
		`"src":"from upstream"`, `"tags":["a"]`, `"cipher":"x\n"`, `"\u0061ge":3`, `"unknown":{}`,
		`"best":{"nets":["n"],"id":1,"bytes":2}`,
	}
	d := NewDecoder(compile(t), true)
	row := func() string { return decoded(t, d, "{"+strings.Join(members, ",")+"}") }
	want := row()
	if want == "unusable" || !strings.Contains(want, `"age":3`) || strings.Contains(want, "psk") || strings.Contains(want, "from upstream") {
		t.Fatal(want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if got := row(); got != want {
			t.Fatalf("%s\ngives %s\nnot   %s", members, got, want)
		}
	}
	for _, twice := range []string{`{"id":1,"kind":"host","kind":"host"}`, `{"id":1,"kind":"host","on":true,"kind":"host"}`} {
		if got := decoded(t, d, twice); !strings.Contains(got, `"kind":null`) {
			t.Errorf("%s gives %s", twice, got)
		}
	}
}

func TestDriftIsCountedByFieldAndNeverForHiddenOnes(t *testing.T) {
	s := compile(t)
	d := NewDecoder(s, false)
	decoded(t, d, `{"id":1,"if":7,"tags":["a",1],"mac":7,"servers":"x","mac":8,"peers":[{"id":"x","who":3}],"new":1,"newer":2,"kind":"odd"}`)
	got := map[string]int{"unknown": d.Counts.Unknown, "masked": d.Counts.Masked}
	for id, n := range d.Counts.Wrong {
		if n > 0 {
			got[s.FieldPath(id)] = n
		}
	}
	for _, id := range d.Counts.Outside {
		got["outside "+s.FieldPath(int(id))]++
	}
	want := map[string]int{"unknown": 2, "masked": 0, "if_": 1, "tags": 1, "peers.id": 1, "outside kind": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	d.Reset()
	if d.Counts.Unknown != 0 || len(d.Counts.Outside) != 0 {
		t.Fatal("counts survive a reset")
	}
}

func TestSetFillsDerivedFieldsAndKeepsTheGate(t *testing.T) {
	d := NewDecoder(compile(t), false)
	if !d.Decode([]byte(`{"if":"x"}`)) {
		t.Fatal("not decoded")
	}
	d.Set("src", []byte(`"192.0.2.1"`))
	d.Set("mac", []byte(`"aa:bb"`))
	d.Set("big", []byte(`"no number"`))
	d.Set("id", []byte(`7`))
	d.Set("no such", []byte(`7`))
	if !d.Usable() {
		t.Fatal("a row whose key was set is unusable")
	}
	want := `{"id":7,"if_":"x","mac":null,"servers":[],"made_by":null,"src":"192.0.2.1"}`
	if diff := cmp.Diff(want, string(d.Append(nil, nil, Limits{}))); diff != "" {
		t.Fatal(diff)
	}
}

func TestPickKeepsNamedFieldsAndPartsOfNestedRows(t *testing.T) {
	s := compile(t)
	const in = `{"id":1,"if":"x","peers":[{"id":0,"bytes":5},{"id":1,"bytes":6}],"best":{"id":3,"bytes":7}}`
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"if_"}, `{"if_":"x"}`},
		{[]string{"peers.bytes", "id"}, `{"id":1,"peers":[{"bytes":5},{"bytes":6}]}`},
		{[]string{"peers.bytes", "peers", "peers.id"}, `{"peers":[{"id":0,"who":null,"bytes":5},{"id":1,"who":null,"bytes":6}]}`},
		{[]string{"best.id", "best.bytes"}, `{"best":{"id":3,"bytes":7}}`},
	} {
		var k *Pick
		for _, n := range c.names {
			p, ok := s.Lookup(n)
			if !ok {
				t.Fatalf("%s is not found", n)
			}
			k = k.Add(s, p)
		}
		d := NewDecoder(s, false)
		if !d.Decode([]byte(in)) {
			t.Fatal("not decoded")
		}
		if diff := cmp.Diff(c.want, string(d.Append(nil, k, Limits{}))); diff != "" {
			t.Error(diff)
		}
	}
	if n := s.Hidden(nil); n != 5 {
		t.Errorf("%d fields hidden, want mac, servers, made_by, peers.who, best.who", n)
	}
}

func TestLimitsCutTextsAndListsVisibly(t *testing.T) {
	d := NewDecoder(compile(t), false)
	d.Decode([]byte(`{"id":1,"if":"aäääääää","tags":["a","b","c"],"peers":[{"id":1},{"id":2}]}`))
	got := string(d.Append(nil, nil, Limits{Text: 10, List: 1}))
	want := `{"id":1,"if_":"aä\\{cut}","mac":null,"servers":[],"tags":["a"],"made_by":null,"peers":[{"id":1,"who":null}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if d.Counts.Cut != 3 {
		t.Fatalf("%d cuts counted, want 3", d.Counts.Cut)
	}
}

func TestSameLooksAtEveryDecodedFieldButIdAndChangingOnes(t *testing.T) {
	s := compile(t)
	const a = `{"id":1,"if":"x","mac":"aa","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"al","bytes":1}],"best":{"id":1}}`
	for b, want := range map[string]bool{
		a: true,
		`{"id":2,"if":"x","mac":"aa","age":9,"made":2,"made_by":null,"peers":[{"id":5,"who":"al","bytes":2}],"best":{"id":9}}`:   true,
		`{"id":1,"if":"y","mac":"aa","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"al","bytes":1}],"best":{"id":1}}`:   false,
		`{"id":1,"if":"x","mac":"ab","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"al","bytes":1}],"best":{"id":1}}`:   false,
		`{"id":1,"if":"x","mac":"aa","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"bo","bytes":1}],"best":{"id":1}}`:   false,
		`{"id":1,"if":"x","mac":"aa","age":1,"made":1,"made_by":null,"peers":[],"best":{"id":1}}`:                                false,
		`{"id":1,"if":"x","mac":"aa","age":1,"made":1,"made_by":"root","peers":[{"id":0,"who":"al","bytes":1}],"best":{"id":1}}`: false,
		`{"id":1,"if":"x","mac":"aa","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"al"},{"id":1}],"best":{"id":1}}`:    false,
		`{"id":1,"if":null,"mac":"aa","age":1,"made":1,"made_by":null,"peers":[{"id":0,"who":"al","bytes":1}],"best":{"id":1}}`:  false,
	} {
		x, y := NewDecoder(s, true), NewDecoder(s, true)
		if !x.Decode([]byte(a)) || !y.Decode([]byte(b)) {
			t.Fatal("not decoded")
		}
		if got := Same(x, y); got != want {
			t.Errorf("Same is %v for %s", got, b)
		}
	}
}

func TestARowOfTooManyObjectsIsUnusableBeforeItCostsMemory(t *testing.T) {
	d := NewDecoder(compile(t), false)
	if d.Decode([]byte(`{"id":1,"peers":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`)) {
		t.Fatal("decoded")
	}
	if n := cap(d.cells); n > 2*maxCells {
		t.Fatalf("%d cells", n)
	}
	if !d.Decode([]byte(`{"id":1,"peers":[` + strings.Repeat(`{},`, 1<<14) + `{}]}`)) {
		t.Fatal("a row of 16,385 objects is not decoded")
	}
	out := d.Append(nil, nil, Limits{Total: 1000})
	if len(out) > 1500 {
		t.Fatalf("%d bytes written for a bound of 1000", len(out))
	}
}

func TestTheIdStandsForANameThatIsNotSent(t *testing.T) {
	m := &catalog.Model{Name: "Table", Fields: []catalog.Field{
		{Name: "id", Mark: catalog.Key},
		{Name: "name", Mark: catalog.Key | catalog.OrID},
	}}
	s, err := Compile(m)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(s, false)
	for in, want := range map[string]string{
		`{"id":"bogons","name":null}`:    `{"id":"bogons","name":"bogons"}`,
		`{"id":"bogons"}`:                `{"id":"bogons","name":"bogons"}`,
		`{"name":"other","id":"bogons"}`: `{"id":"bogons","name":"other"}`,
		`{"id":"bogons","name":7}`:       "unusable", // sent, and no name: nothing is guessed
		`{"id":null,"name":null}`:        "unusable",
		`{"id":7,"name":null}`:           "unusable",
	} {
		if got := decoded(t, d, in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if k := d.Counts.Absent[1]; k != 0 {
		t.Errorf("a name that the id stands for counts as missing %d times", k)
	}
}

func TestABrokenModelIsRefused(t *testing.T) {
	loop := &catalog.Model{Name: "Loop"}
	loop.Fields = []catalog.Field{{Name: "x", Kind: catalog.Object, Model: loop}}
	for name, m := range map[string]*catalog.Model{
		"none":                   nil,
		"one without end":        loop,
		"nested without model":   {Fields: []catalog.Field{{Name: "x", Kind: catalog.Object}}},
		"a name twice":           {Fields: []catalog.Field{{Name: "x"}, {Name: "x", Up: "y"}}},
		"an upstream name twice": {Fields: []catalog.Field{{Name: "x", Up: "y"}, {Name: "z", Up: "y"}}},
		"a name with a dot":      {Fields: []catalog.Field{{Name: "x.y"}}},
		"no name":                {Fields: []catalog.Field{{}}},
	} {
		if _, err := Compile(m); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

func TestEveryModelOfTheCatalogCompiles(t *testing.T) {
	for _, tool := range catalog.Tools() {
		if _, err := Compile(tool.Model); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

func TestMembersFindsTheFirstOfEachNameAndEveryEntry(t *testing.T) {
	m := NewMembers()
	var got [2][]byte
	if !m.Find([]byte(`{"x":1,"id":"lan","list":[1,{"a":2}],"id":3}`), got[:], "id", "list") {
		t.Fatal("no object")
	}
	if string(got[0]) != `"lan"` || string(got[1]) != `[1,{"a":2}]` {
		t.Fatalf("found %q", got)
	}
	var entries []string
	if !m.Entries(got[1], func(b []byte) bool { entries = append(entries, string(b)); return true }) {
		t.Fatal("no list")
	}
	if diff := cmp.Diff([]string{"1", `{"a":2}`}, entries); diff != "" {
		t.Fatal(diff)
	}
	if m.Find([]byte(`[]`), got[:], "id") || m.Find([]byte(`{"id":`), got[:], "id") || m.Entries([]byte(`{}`), nil) || m.Entries([]byte(`[`), nil) {
		t.Fatal("what is no object or list was taken for one")
	}
}

// seed writes an object of a model in which every field has a value of its type.
func seed(m *catalog.Model) string {
	var b strings.Builder
	for i := range m.Fields {
		f := &m.Fields[i]
		v := [...]string{`"192.0.2.1\u202e"`, "9007199254740993", "1.5", "true", ""}[f.Kind]
		if f.Kind == catalog.Object {
			v = seed(f.Model)
		}
		if f.List {
			v = "[" + v + ",null," + v + "]"
		}
		b.WriteString(`,"` + f.UpName() + `":` + v)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// FuzzDecode: whatever comes in, for every model of the table, what goes out is
// one valid JSON object of the model's names, the same twice, and hidden fields
// do not change with it.
func FuzzDecode(f *testing.F) {
	models := []*catalog.Model{sample}
	for _, t := range catalog.Tools() {
		models = append(models, t.Model)
	}
	f.Add(uint8(0), []byte(`{"id":1,"if":"x","kind":"odd","big":12,"load":1.5e3,"on":true,"mac":"m","servers":["a"],"tags":["t",1],"ports":[1],"cipher":"c\r\n","made":1,"made_by":"a","peers":[{"id":1,"who":"w","nets":["n"]}],"best":{"id":2},"age":3}`))
	f.Add(uint8(0), []byte(`{"id":1,"peers":[null,1,{"id":2,"nets":null}],"best":null}`))
	f.Add(uint8(0), []byte(`{"id":1,"\u0069f":"\ud83d\ude00"}`))
	shapes := make([]*Shape, len(models))
	for i, m := range models {
		f.Add(uint8(i), []byte(seed(m)))
		var err error
		if shapes[i], err = Compile(m); err != nil {
			f.Fatal(err)
		}
	}
	if len(models) > 256 {
		f.Fatal("one byte no longer names every model")
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		s := shapes[int(which)%len(shapes)]
		for _, open := range []bool{false, true} {
			d := NewDecoder(s, open)
			if !d.Decode(raw) || !d.Usable() {
				continue
			}
			out := d.Append(nil, nil, Limits{})
			if !jsontext.Value(out).IsValid() {
				t.Fatalf("not JSON: %s", out)
			}
			var m map[string]jsontext.Value
			if err := json.Unmarshal(out, &m); err != nil {
				t.Fatal(err)
			}
			for name, v := range m {
				p, ok := s.Lookup(name)
				if !ok {
					t.Fatalf("a name that the model lacks: %s", out)
				}
				if f := p.Field(); !open && p.Gated() && (f.List && string(v) != "[]" || !f.List && string(v) != "null") {
					t.Fatalf("a hidden field shows: %s", out)
				}
			}
			again := NewDecoder(s, open)
			if !again.Decode(raw) || !again.Usable() || string(again.Append(nil, nil, Limits{})) != string(out) {
				t.Fatal("a second reading differs")
			}
			if open && !Same(d, again) {
				t.Fatal("a row is not the same as itself")
			}
			d.Append(nil, nil, Limits{Text: 3, List: 1})
		}
	})
}
