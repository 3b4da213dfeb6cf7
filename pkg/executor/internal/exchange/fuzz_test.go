package exchange

import (
	"strings"
	"testing"
)

func FuzzAnswer(f *testing.F) {
	body := done[strings.Index(done, "{"):]
	f.Add([]byte(body))
	f.Add([]byte(`{"code":503,"status":"x","response_id":"MODEL_WRITE_CONFIG_LOCKED","message":"","data":[]}`))
	f.Add([]byte(`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":{"id":7,"id":8},"_links":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, ok := parse(text)
		if !ok {
			return
		}
		if e.code < 0 || e.code > 999 || e.id == "" || len(e.id) > 80 || strings.ContainsAny(e.id, " <\"\n") || len(e.data) == 0 {
			t.Fatalf("%+v", e)
		}
		if echoes(e.data, web) && (e.data.Kind() != '{' || strings.Contains(string(e.data), `"id":false`)) {
			t.Fatalf("%s is taken for an echo", e.data)
		}
	})
}
