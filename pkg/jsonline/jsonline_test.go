package jsonline

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
)

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		kind       Kind
		id, method string
		params     string
	}{
		{"request with an integer", `{"jsonrpc":"2.0","id":7,"method":"ping"}`, Request, "7", "ping", ""},
		{"request whose id no float can hold", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, Request, "9007199254740993", "ping", ""},
		{"request with an escaped text", `{"jsonrpc":"2.0","id":"\u0061b","method":"ping"}`, Request, `"\u0061b"`, "ping", ""},
		{"request with params", `{"params":{"a":[1]},"method":"x","id":-0,"jsonrpc":"2.0"}`, Request, "-0", "x", `{"a":[1]}`},
		{"params that are null count as none", `{"jsonrpc":"2.0","id":1,"method":"x","params":null}`, Request, "1", "x", ""},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification, "null", "notifications/initialized", ""},
		{"result", `{"jsonrpc":"2.0","id":"a","result":{}}`, Response, `"a"`, "", ""},
		{"error to nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, Response, "null", "", ""},
		{"null as a result", `{"jsonrpc":"2.0","id":1,"result":null}`, Response, "1", "", ""},
	} {
		m, err := Parse([]byte(tt.line))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if m.Kind != tt.kind || m.ID.Raw() != tt.id || m.Method != tt.method || string(m.Params) != tt.params {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}

func TestALineThatIsNoMessageSaysWhyAndKeepsItsIDWhereThatIsBeyondDoubt(t *testing.T) {
	deep := strings.Repeat(`[`, 31) + strings.Repeat(`]`, 31)
	for _, tt := range []struct {
		name, line string
		code       int
		id         string
	}{
		{"words", `hello`, CodeParse, "null"},
		{"half an object", `{"jsonrpc":"2.0","id":1`, CodeParse, "null"},
		{"two objects", `{"jsonrpc":"2.0","id":1,"method":"a"}{}`, CodeParse, "null"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", CodeInvalidRequest, "1"},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":["\ud83d"]}}`, CodeInvalidRequest, "1"},
		{"half a surrogate pair in the id", `{"jsonrpc":"2.0","id":"\ud800","method":"a"}`, CodeParse, "null"},
		{"half a surrogate pair and half an object", `{"jsonrpc":"2.0","id":1,"method":"\ud800"`, CodeParse, "null"},
		{"a text", `"x"`, CodeInvalidRequest, "null"},
		{"duplicate key at the top", `{"jsonrpc":"2.0","id":3,"method":"a","method":"b"}`, CodeInvalidRequest, "3"},
		{"duplicate key below", `{"jsonrpc":"2.0","method":"a","params":{"limit":1,"limit":1000},"id":"x"}`, CodeInvalidRequest, `"x"`},
		{"duplicate key written differently", `{"jsonrpc":"2.0","id":3,"method":"a","params":{"a":1,"\u0061":2}}`, CodeInvalidRequest, "3"},
		{"two ids", `{"jsonrpc":"2.0","id":3,"id":4,"method":"a"}`, CodeInvalidRequest, "null"},
		{"33 levels", `{"jsonrpc":"2.0","id":3,"method":"a","params":{"x":` + deep + `}}`, CodeInvalidRequest, "3"},
		{"fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"a"}`, CodeInvalidRequest, "null"},
		{"exponent as id", `{"jsonrpc":"2.0","id":1e3,"method":"a"}`, CodeInvalidRequest, "null"},
		{"null as id", `{"jsonrpc":"2.0","id":null,"method":"a"}`, CodeInvalidRequest, "null"},
		{"object as id", `{"jsonrpc":"2.0","id":{},"method":"a"}`, CodeInvalidRequest, "null"},
		{"huge id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", MaxID) + `","method":"a"}`, CodeInvalidRequest, "null"},
		{"no version", `{"id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{"other version", `{"jsonrpc":"1.0","id":1,"method":"a"}`, CodeInvalidRequest, "1"},
		{"request and response", `{"jsonrpc":"2.0","id":1,"method":"a","result":1}`, CodeInvalidRequest, "1"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, CodeInvalidRequest, "1"},
		{"neither", `{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest, "1"},
		{"params by position", `{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`, CodeInvalidRequest, "1"},
	} {
		_, err := Parse([]byte(tt.line))
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Code != tt.code || f.ID.Raw() != tt.id {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
	ok := `{"jsonrpc":"2.0","id":3,"method":"a","params":{"x":` + strings.Repeat(`[`, 30) + strings.Repeat(`]`, 30) + `,"s":"` + strings.Repeat("[", 99) + `\"{"}}`
	if _, err := Parse([]byte(ok)); err != nil {
		t.Errorf("32 levels and brackets in a text: %v", err)
	}
}

func TestEqualIDsHaveEqualKeysAndDifferentOnesDoNot(t *testing.T) {
	key := func(s string) string {
		id, ok := ParseID(jsontext.Value(s))
		if !ok {
			t.Fatalf("%s is refused", s)
		}
		return id.Key()
	}
	if key(`"a"`) != key(`"\u0061"`) || key(`-0`) != key(`0`) {
		t.Error("the same id has two keys")
	}
	if key(`1`) == key(`"1"`) || key(`9007199254740993`) == key(`9007199254740992`) {
		t.Error("two ids have the same key")
	}
}

func TestABatchIsTakenApart(t *testing.T) {
	got, ok, err := Split([]byte(`[{"a":1}, 2 ,"x"]`))
	if !ok || err != nil || len(got) != 3 || string(got[1]) != "2" {
		t.Fatalf("%q %v %v", got, ok, err)
	}
	for line, code := range map[string]int{
		`[]`:              CodeInvalidRequest,
		`[1,]`:            CodeParse,
		`[{"a":1,"a":2}]`: CodeInvalidRequest,
		`[1] 2`:           CodeParse,
		strings.Repeat("[", 33) + strings.Repeat("]", 33): CodeInvalidRequest,
	} {
		_, ok, err := Split([]byte(line))
		if f, is := errors.AsType[*Fault](err); !ok || !is || f.Code != code {
			t.Errorf("%s: %v %v", line, ok, err)
		}
	}
	if _, ok, _ := Split([]byte(`{}`)); ok {
		t.Error("an object is taken for a batch")
	}
}

func TestWhatWeWriteWeCanRead(t *testing.T) {
	id := TextID("a\"\n")
	for _, line := range [][]byte{
		AppendError(nil, id, CodeParse, "text \xff \n \"", []byte(`{"class":"x"}`)),
		AppendError(nil, ID{}, CodeParse, "", nil),
		AppendResult(nil, id, []byte(`{}`)),
		AppendRequest(nil, id, "ping", nil),
		AppendRequest(nil, ID{}, "notifications/x", []byte(`{}`)),
	} {
		if line[len(line)-1] != '\n' || strings.Count(string(line), "\n") != 1 {
			t.Errorf("not one line: %q", line)
		}
		if _, err := Parse(line[:len(line)-1]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A parser that panics on, or accepts, what a second reading refuses would be
// the way round everything behind it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `[{}]`, `{"id":1.5}`, "\xef\xbb\xbf{}", `{"a":"\ud800"}`,
		`{"jsonrpc":"2.0","id":3,"method":"a","params":{"limit":1,"limit":2}}`, `{"jsonrpc":"2.0","id":null,"error":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := string(line)
		m, err := Parse(line)
		if string(line) != before {
			t.Fatal("the line was changed")
		}
		if err != nil {
			f, ok := errors.AsType[*Fault](err)
			if !ok || f.Text == "" {
				t.Fatalf("not a fault: %v", err)
			}
			if _, err := Parse(AppendError(nil, f.ID, f.Code, f.Text, nil)); err != nil && !f.ID.IsZero() {
				t.Fatalf("the answer is no message: %v", err)
			}
			return
		}
		if !jsontext.Value(line).IsValid() {
			t.Fatalf("accepted what is not JSON: %q", line)
		}
		if m.Kind == Request && !strings.Contains(before, m.ID.Raw()) {
			t.Fatalf("the id is not the one written: %q", m.ID.Raw())
		}
		_, _, _ = Split(line)
	})
}
