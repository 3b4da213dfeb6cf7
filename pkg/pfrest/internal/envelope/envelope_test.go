package envelope

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestAnEnvelopeIsTakenApartInPlace(t *testing.T) {
	body := []byte(" {\"response_id\":\"SUCCESS\",\"data\":[ {\"a\":1} , null,\"]\" ],\"new\":{\"code\":500},\"code\":200,\"status\":\"ok\"}\n")
	var p Parser
	for range 2 { // the second time with used memory
		e, err := p.Parse(body, true)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, r := range e.Rows {
			rows = append(rows, string(body[r[0]:r[1]]))
		}
		if diff := cmp.Diff([]string{`{"a":1}`, "null", `"]"`}, rows); diff != "" {
			t.Fatal(diff)
		}
		if got := string(body[e.Data[0]:e.Data[1]]); got != `[ {"a":1} , null,"]" ]` || e.Code != 200 || e.ID != "SUCCESS" || !e.List || e.Links {
			t.Fatalf("%s %+v", got, e)
		}
	}
	e, err := p.Parse([]byte(`{"code":404,"status":"x","response_id":"A_1","message":null,"data":{},"_links":[]}`), false)
	if err != nil || e.ID != "A_1" || e.List || len(e.Rows) != 0 || !e.Links || e.Code != 404 {
		t.Fatalf("%+v %v", e, err)
	}
}

func TestWhatIsNoEnvelopeIsRefused(t *testing.T) {
	ok := `{"code":200,"status":"ok","response_id":"SUCCESS","data":[]}`
	many := strings.Replace(ok, `"data"`, `"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"data"`, 1)
	for name, body := range map[string]string{
		"nothing": "", "blank": " ", "cut": ok[:len(ok)-1], "behind it": ok + "1", "two": ok + ok, "a comma behind": ok + ",",
		"in a list": "[" + ok + "]", "a number": "1", "text in front": "x" + ok, "a BOM": "\ufeff" + ok,
		"data twice": strings.Replace(ok, "}", `,"data":{}}`, 1), "an unknown name twice": strings.Replace(ok, "{", `{"x":1,"x":1,`, 1),
		"another code twice": strings.Replace(ok, "{", `{"code":403,`, 1), "an escaped name": strings.Replace(ok, `"data"`, `"dat\u0061"`, 1),
		"no data": `{"code":200,"status":"ok","response_id":"SUCCESS"}`, "no status": `{"code":200,"response_id":"SUCCESS","data":[]}`,
		"no id": `{"code":200,"status":"ok","data":[]}`, "no code": `{"status":"ok","response_id":"SUCCESS","data":[]}`,
		"code 20":             strings.Replace(ok, "200", "20", 1),
		"code 2e2":            strings.Replace(ok, "200", "2e2", 1),
		"code -20":            strings.Replace(ok, "200", "-20", 1),
		"code null":           strings.Replace(ok, "200", "null", 1),
		"status 1":            strings.Replace(ok, `"ok"`, "1", 1),
		"an empty id":         strings.Replace(ok, "SUCCESS", "", 1),
		"a lower-case id":     strings.Replace(ok, "SUCCESS", "success", 1),
		"an id with a blank":  strings.Replace(ok, "SUCCESS", "A B", 1),
		"an escaped id":       strings.Replace(ok, "SUCCESS", `\u0041`, 1),
		"an id of 81":         strings.Replace(ok, "SUCCESS", strings.Repeat("A", 81), 1),
		"an id that is null":  strings.Replace(ok, `"SUCCESS"`, "null", 1),
		"data that is text":   strings.Replace(ok, "[]", `"x"`, 1),
		"data that is null":   strings.Replace(ok, "[]", `null`, 1),
		"data that is broken": strings.Replace(ok, "[]", `[{]`, 1),
		"bad UTF-8 in data":   strings.Replace(ok, "[]", "[\"\xff\"]", 1),
		"too many members":    many,
		"too deep":            strings.Replace(ok, "[]", strings.Repeat("[", 20000)+strings.Repeat("]", 20000), 1),
	} {
		var p Parser
		for _, split := range []bool{false, true} {
			if e, err := p.Parse([]byte(body), split); err == nil {
				t.Errorf("%s was taken: %+v", name, e)
			}
		}
	}
	if _, err := new(Parser).Parse([]byte(strings.Replace(ok, "SUCCESS", strings.Repeat("A", 80), 1)), true); err != nil {
		t.Errorf("an id of 80: %v", err)
	}
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, minBuffer - 1, minBuffer, minBuffer + 1, 100_000} {
		text := strings.Repeat("x", n)
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "with EOF": iotest.DataErrReader} {
			got, err := ReadBody(make([]byte, 3, 16), wrap(strings.NewReader(text)), max(n, 1))
			if err != nil || string(got) != text {
				t.Fatalf("%d %s: %d bytes, %v", n, name, len(got), err)
			}
			if n < 2 {
				continue
			}
			got, err = ReadBody(nil, wrap(strings.NewReader(text)), n-1)
			if err != ErrTooLarge || len(got) != n-1 {
				t.Fatalf("%d %s: %d bytes, %v", n, name, len(got), err)
			}
		}
	}
	fault := errors.New("reset")
	got, err := ReadBody(nil, io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(fault)), 10)
	if err != fault || string(got) != "abc" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestThePoolKeepsFewAndSmallBuffers(t *testing.T) {
	p := NewPool(2)
	a, b, c := p.Take(), p.Take(), p.Take()
	a.Body, b.Body = make([]byte, 0, maxKept+1), make([]byte, 0, 100)
	b.Parser.rows = make([][2]int, 0, keptRows+1)
	p.Give(a)
	p.Give(b)
	p.Give(c) // no room: dropped
	if got := p.Take(); got != a || got.Body != nil {
		t.Errorf("a large body was kept: %d", cap(got.Body))
	}
	if got := p.Take(); got != b || cap(got.Body) != 100 || got.Parser.rows != nil {
		t.Error("places of many rows were kept")
	}
	if got := p.Take(); got == c {
		t.Error("more were kept than the pool holds")
	}
}

// full returns memory that holds bytes everywhere, the unused part included.
func full(n int) []byte { return bytes.Repeat([]byte{0xaa}, n)[:n/2] }

func wiped(b []byte) bool { return len(bytes.Trim(b[:cap(b)], "\x00")) == 0 }

func TestNoAnswerStaysInMemoryThatIsGivenBackOrOutgrown(t *testing.T) {
	for _, size := range []int{100, maxKept, maxKept + 1} {
		b := &Buffer{Body: full(size)}
		body := b.Body
		NewPool(1).Give(b)
		if !wiped(body) {
			t.Errorf("a body of %d bytes was given back and not wiped", size)
		}
	}
	old := full(200)
	text := strings.Repeat("x", 300)
	got, err := ReadBody(old, strings.NewReader(text), 1000)
	if err != nil || string(got) != text {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if !wiped(old) {
		t.Error("memory was outgrown and not wiped")
	}
	old = full(1000)
	if got, err = ReadBody(old, strings.NewReader(text), 1000); err != nil || string(got) != text || &got[0] != &old[0] {
		t.Errorf("memory that suffices was not used: %v", err)
	}
}

func TestCutMakesAListOutOfRows(t *testing.T) {
	for _, c := range []struct {
		offset, n int
		want      string
	}{{0, 1, "[1]"}, {0, 9, "[1,22,\n 3]"}, {1, 2, "[22,\n 3]"}, {2, 1, "[3]"}, {3, 1, "[]"}, {9, 1, "[]"}} {
		body := []byte(`{"code":200,"status":"ok","response_id":"S","data":[1,22,` + "\n 3]}")
		e, err := new(Parser).Parse(body, true)
		if err != nil {
			t.Fatal(err)
		}
		at := Cut(body, e, c.offset, c.n)
		got, want := jsontext.Value(body[at[0]:at[1]]), jsontext.Value(c.want)
		_, _ = got.Compact(), want.Compact()
		if !bytes.Equal(got, want) {
			t.Errorf("%d %d: %s, want %s", c.offset, c.n, got, want)
		}
	}
}

// Whatever the body: no panic, and what is taken for an envelope is one for a
// decoder that shares no code with the parser, with the rows where it says.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[{"id":0},null]}`,
		`{"code":403,"status":"forbidden","response_id":"AUTH_AUTHORIZATION_FAILED","message":"x","data":[]}`,
		`{"code":200,"status":"ok","response_id":"SUCCESS","data":{"a":{"b":[1]}},"_links":[]}`,
		`{"data":[ 1 ,2 ],"code":200,"code":201}`, `<br />{}`, "\n", `{"code":2`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, split bool) {
		kept := bytes.Clone(body)
		e, err := new(Parser).Parse(body, split)
		if !bytes.Equal(kept, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			return
		}
		var other map[string]json.RawMessage
		if err := json.Unmarshal(body, &other); err != nil {
			t.Fatalf("taken for an envelope: %v", err)
		}
		data := body[e.Data[0]:e.Data[1]]
		if string(other["code"]) != strconv.Itoa(e.Code) && e.Code >= 100 || string(other["response_id"]) != strconv.Quote(e.ID) || !bytes.Equal(bytes.TrimSpace(other["data"]), data) {
			t.Fatalf("%+v against %s", e, other)
		}
		if e.List && split {
			var rows []json.RawMessage
			if err := json.Unmarshal(data, &rows); err != nil || len(rows) != len(e.Rows) {
				t.Fatalf("%d rows against %d: %v", len(e.Rows), len(rows), err)
			}
			for i, r := range e.Rows {
				if !bytes.Equal(body[r[0]:r[1]], rows[i]) {
					t.Fatalf("row %d: %s against %s", i, body[r[0]:r[1]], rows[i])
				}
			}
			at := Cut(body, e, 1, 2)
			if !jsontext.Value(body[at[0]:at[1]]).IsValid(jsontext.AllowDuplicateNames(true)) {
				t.Fatalf("cut to %s", body[at[0]:at[1]])
			}
		}
	})
}

// BenchmarkParsePage is one page of 250 rules as pfREST sends them.
func BenchmarkParsePage(b *testing.B) {
	row := `{"id":1,"type":"pass","interface":["lan"],"descr":"` + strings.Repeat("x", 500) + `","tracker":100000101,"gateway":null}`
	body := []byte(`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":[` + strings.Repeat(row+",", 249) + row + `]}`)
	var p Parser
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Parse(body, true); err != nil {
			b.Fatal(err)
		}
	}
}
