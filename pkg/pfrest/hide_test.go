package pfrest

import (
	"encoding/json/jsontext"
	"net/http"
	"strings"
	"testing"

	"pfsensemcp/pkg/secretfile"
)

// The description holds the command that somebody tried once.
func TestOurKeyDoesNotComeBackInAnAnswer(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		k := r.Header.Get("X-API-Key")
		reply(w, 200, success(`[{"descr":"curl -H X-API-Key:`+k+k+` ok","`+k+`":1}]`))
	})
	c := a.client(t)
	ans, err := c.Get(t.Context(), Caller{}, rules, Page{Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	stars := strings.Repeat("*", len(key1))
	if want := `[{"descr":"curl -H X-API-Key:` + stars + stars + ` ok","` + stars + `":1}]`; string(ans.Data) != want {
		t.Errorf("%s", ans.Data)
	}
	_, err = c.Walk(t.Context(), Caller{}, rules, WalkOptions{MaxRows: 5}, func(row jsontext.Value, _ int) bool {
		if strings.Contains(string(row), key1) {
			t.Errorf("%s", row)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	// After a change it is the new one that nobody may see.
	if err := c.Rekey(secretfile.New([]byte(key2))); err != nil {
		t.Fatal(err)
	}
	if ans, err = c.Get(t.Context(), Caller{}, rules, Page{Limit: 4}); err != nil || strings.Contains(string(ans.Data), key2) {
		t.Errorf("%s %v", ans.Data, err)
	}
}

func TestAShortKeyIsNoReasonToOverwriteWords(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, r *http.Request) { reply(w, 200, success(`[{"descr":"block"}]`)) })
	c := a.client(t, func(cfg *Config) { cfg.Key = secretfile.New([]byte("block")) })
	ans, err := c.Get(t.Context(), Caller{}, rules, Page{Limit: 5})
	if err != nil || string(ans.Data) != `[{"descr":"block"}]` {
		t.Errorf("%s %v", ans.Data, err)
	}
}
