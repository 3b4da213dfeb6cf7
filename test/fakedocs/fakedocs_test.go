package fakedocs

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/openapi"
)

func TestTheDocumentsAreReadable(t *testing.T) {
	office, err := Office()
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string][]byte{"small": Encode(Small()), "office": office, "big": Big()} {
		ix, err := openapi.Parse(bytes.NewReader(doc))
		if err != nil || ix.Odd != 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, op := range ix.Operations() {
			if op.Description == "" || !op.Privileges.Stated || op.Privileges.Malformed || op.ID == "" {
				t.Errorf("%s: %+v", name, op)
			}
		}
	}
	if n := len(Big()); n < 4_000_000 || n > 5_000_000 {
		t.Errorf("the big document has %d bytes", n)
	}
}

func TestATreeIsCopiedAndDecodedToTheDigit(t *testing.T) {
	doc := []byte(`{"a":9007199254740993,"b":[1.50,{"c":null}],"d":"x"}`)
	tree := Decode(doc)
	if got := Encode(tree); string(got) != string(doc) {
		t.Errorf("%s", got)
	}
	other := Copy(tree)
	other["b"].([]any)[1].(Tree)["c"] = true
	if d := cmp.Diff(string(doc), string(Encode(tree))); d != "" {
		t.Error(d)
	}
	if got := Reordered(tree); string(got) != `{"d": "x","b": [1.50,{"c": null}],"a": 9007199254740993}` {
		t.Errorf("%s", got)
	}
}
