package exchange

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"testing"
)

func TestEveryRealAnswerToAChangeIsAnEnvelope(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "..", "shared", "appliance", "responses")
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Skip("the captured answers are not beside the repository")
	}
	n := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var raw struct {
			Request struct {
				Method string `json:"method"`
				Path   string `json:"path"`
			} `json:"request"`
			Status int            `json:"status"`
			Body   jsontext.Value `json:"body"`
		}
		if json.Unmarshal(b, &raw) != nil || raw.Request.Method != "PATCH" || raw.Body.Kind() != '{' {
			continue
		}
		n++
		e, ok := parse(raw.Body)
		if !ok || e.code != raw.Status {
			t.Errorf("%s: %d, %v", filepath.Base(name), raw.Status, ok)
			continue
		}
		r := Result{Sent: 1, Answered: true, Status: raw.Status, ResponseID: e.id}
		want := Rejected
		if raw.Status/100 != 4 {
			want = Ambiguous // a 200 that does not show what was sent, and every 5xx
		}
		if got := r.Effect(); got != want {
			t.Errorf("%s: %d %s is %s", filepath.Base(name), raw.Status, e.id, got)
		}
	}
	if n < 5 {
		t.Errorf("only %d answers to a PATCH are among the captured ones", n)
	}
}
