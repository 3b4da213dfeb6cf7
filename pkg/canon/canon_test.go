package canon

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// value draws a canonical value with text in NFC.
func value(depth int) *rapid.Generator[any] {
	text := rapid.Map(rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x1f"\\/<>&é東]{0,8}`)), norm.NFC.String)
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(text, func(s string) any { return s }),
	)
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(value(depth-1), 0, 5), func(a []any) any { return append(Array{}, a...) }),
		rapid.Map(rapid.MapOfN(text, value(depth-1), 0, 5), func(m map[string]any) any {
			o := Object{}
			maps.Copy(o, m)
			return o
		}))
}

func TestE4DecodeOfEncodeIsTheSameValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := value(4).Draw(rt, "v")
		b, err := Encode(v)
		if err != nil {
			// The generator may stack combining marks beyond what is taken.
			rt.Skip(err)
		}
		back, err := DecodeExact(b)
		if err != nil {
			rt.Fatalf("%s: %v", b, err)
		}
		if d := cmp.Diff(v, back); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestTextIsOfOneUnicodeVersion(t *testing.T) {
	if norm.Version != unicode.Version {
		t.Fatalf("normalisation follows Unicode %s, the character classes %s", norm.Version, unicode.Version)
	}
}

func TestTheFormIsExact(t *testing.T) {
	for want, v := range map[string]any{
		`null`: nil, `true`: true, `-9223372036854775808`: int64(-1 << 63), `[]`: Array{}, `{}`: Object{},
		"\"\\b\\f\\n\\r\\t\\\"\\\\/<>&\u007f\u2028\u2029\\u0000\\u001f\"":   "\b\f\n\r\t\"\\/<>&\x7f\u2028\u2029\x00\x1f",
		`{"A":1,"a":2,"é":3,"` + "\uffee" + `":4,"` + "\U00010000" + `":5}`: Object{"\U00010000": int64(5), "\uffee": int64(4), "e\u0301": int64(3), "a": int64(2), "A": int64(1)},
	} {
		if got := string(encode(t, v)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// refused holds an error to be one of ours that quotes nothing.
func refused(t *testing.T, name string, err error, quoting ...string) {
	t.Helper()
	if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("%s: got %v", name, err)
		return
	}
	for _, q := range quoting {
		if strings.Contains(err.Error(), q) {
			t.Errorf("%s: the error quotes the text: %v", name, err)
		}
	}
}

func TestE2TheEncoderRefusesWhatHasNoCanonicalForm(t *testing.T) {
	nested := func(n int) any {
		var v any = nil
		for range n {
			v = Array{v}
		}
		return v
	}
	wide := func(arrays, items int) any {
		a := Array{}
		for range arrays {
			a = append(a, slices.Repeat(Array{nil}, items))
		}
		return a
	}
	for name, v := range map[string]any{
		"a float": 1.5, "an int": 1, "a slice": []any{}, "a map": map[string]any{}, "an unsigned": uint64(1), "bytes": []byte("x"), "a pointer": new(string),
		"depth 33": nested(33), "4097 items": make(Array, 4097), "10001 values": wide(4, 2499), "text of 65537 bytes": strings.Repeat("a", 65537),
		"over 1 MiB": Array(slices.Repeat([]any{strings.Repeat("a", 65536)}, 17)),
		"a bad byte": "a\xff", "a surrogate": "\xed\xa0\x80", "a bad key": Object{"\xff": nil},
		"colliding keys": Object{"e\u0301": nil, "\u00e9": nil},
		"marks in a row": "a" + strings.Repeat("\u0301", 40), "text that grows": strings.Repeat("\u0958", 21846),
		"an object of 4097": func() any {
			o := Object{}
			for i := range 4097 {
				o[strings.Repeat("k", i)] = nil
			}
			return o
		}(),
	} {
		_, err := Encode(v)
		refused(t, name, err)
	}
	for name, v := range map[string]any{
		"depth 32": nested(32), "4096 items": make(Array, 4096), "10000 values": append(wide(4, 2498).(Array), nil, nil, nil),
		"text of 65536 bytes": strings.Repeat("a", 65536), "almost 1 MiB": Array(slices.Repeat([]any{strings.Repeat("a", 65530)}, 16)),
	} {
		b, err := Encode(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := DecodeExact(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestE2TheDecoderRefusesWhatHasNoCanonicalForm(t *testing.T) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for _, in := range []string{
		"", " ", "1.0", "1e3", "1E3", "-0", "-0.0", "01", "+1", "9223372036854775808", "-9223372036854775809", "NaN", "Infinity",
		`{"zqx":1,"zqx":2}`, `{"zqx":1,"\u007aqx":2}`, `{"zqx"}`, `{"zqx":1,}`, `[1,]`, `[1 2]`, `{1:2}`, "'zqx'", `"zqx`, "\"zq\nx\"", `"\x"`,
		`"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", "\"\xed\xa0\x80\"", `1 2`, `{} {}`, `{}x`, "nul", "// c\n1", "\ufeff1", "]", "}", ",",
		strings.Repeat("[", 33) + strings.Repeat("]", 33), strings.Repeat("[", 100000), list(4097, "1"),
		list(4, list(2499, "1")), `"` + strings.Repeat("a", 65537) + `"`, `{"` + strings.Repeat("a", 65537) + `":1}`, `"` + strings.Repeat(" ", 1<<20) + `"`,
	} {
		v, err := Decode([]byte(in))
		if err == nil {
			t.Errorf("%.40q became %v", in, v)
			continue
		}
		refused(t, in[:min(len(in), 40)], err, "zqx")
	}
}

func TestE3OnlyTheCanonicalTextIsExact(t *testing.T) {
	const good = `{"a":"é","b":[1,true]}`
	if _, err := DecodeExact([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		good + "\n", " " + good, `{"b":[1,true],"a":"é"}`, `{"a": "é","b":[1,true]}`, `{"a":"\u00e9","b":[1,true]}`,
		"{\"a\":\"e\u0301\",\"b\":[1,true]}", `{"\u0061":"é","b":[1,true]}`, `{"a":"\/"}`, `{"a":"` + "\x7f" + `\u007f"}`, `"\u001F"`, `"\u000a"`,
	} {
		if _, err := Decode([]byte(in)); err != nil {
			t.Errorf("%q: the free form is refused: %v", in, err)
		}
		_, err := DecodeExact([]byte(in))
		refused(t, in, err)
	}
}

func TestNormalIsWhatTheEncoderKeeps(t *testing.T) {
	for s, want := range map[string]bool{"": true, "é": true, "e\u0301": false, "\xff": false, "\u212b": false, strings.Repeat("a", 65537): false} {
		if Normal(s) != want {
			t.Errorf("%.20q: %v", s, !want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":"é<&>","b":1,"c":[null,true]}`, `{"a":1,"\u0061":2}`, `[-0,1e3]`, "\"\\ud800\"", `[[[[]]]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := Decode(in)
		if err != nil {
			refused(t, "input", err)
			return
		}
		b, err := Encode(v)
		if err != nil {
			return // text that has no canonical form
		}
		again, err := DecodeExact(b)
		if err != nil {
			t.Fatalf("%q: its own encoding is refused: %v", in, err)
		}
		if b2, err := Encode(again); err != nil || !bytes.Equal(b, b2) {
			t.Fatalf("%q: %q, then %q, %v", in, b, b2, err)
		}
	})
}
