package pfrest

import (
	"encoding/json"
	"encoding/json/jsontext"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/secretfile"
)

// capture is one recorded request with the appliance's answer.
type capture struct {
	Request struct {
		Method, Path string
		Key          string
	}
	Status  int
	Headers map[string]string
	Body    json.RawMessage
}

// captures reads the recorded answers, or skips the test where they are absent.
func captures(t *testing.T) map[string]capture {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "appliance", "responses")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no recorded answers: ../shared/appliance/responses is absent")
	}
	got := make(map[string]capture)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c capture
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		got[strings.TrimSuffix(filepath.Base(f), ".json")] = c
	}
	return got
}

// want is the class that each recorded error id must have, by status and id, with
// "-" for an answer that is no envelope.
var recorded = map[string]string{
	"401 AUTH_AUTHENTICATION_FAILED": ClassAuthentication,
	"403 AUTH_AUTHORIZATION_FAILED":  ClassAuthorization, "403 ENDPOINT_INTERFACE_NOT_ALLOWED": ClassPolicy,
	"404 MODEL_MISSING_REQUIRED_PACKAGE": ClassPackageAbsent, "404 MODEL_OBJECT_NOT_FOUND": ClassNotFound,
	"404 MODEL_PARENT_OBJECT_NOT_FOUND": ClassNotFound, "404 QUERY_FILTER_NOT_FOUND": ClassClientBug, "404 -": ClassNotInstalled,
	"405 ENDPOINT_METHOD_NOT_ALLOWED": ClassClientBug, "405 ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE": ClassClientBug, "405 -": ClassClientBug,
	"406 CONTENT_HANDLER_ENCODE_NOT_FOUND": ClassClientBug, "406 BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED": ClassClientBug, "406 ENDPOINT_ACCEPT_NOT_SUPPORTED": ClassClientBug,
	"415 CONTENT_HANDLER_DECODE_NOT_FOUND": ClassClientBug, "415 CONTENT_HANDLER_CANNOT_DECODE_CONTENT": ClassClientBug,
	"400 ENDPOINT_LIMIT_FIELD_INVALID_TYPE": ClassClientBug, "400 ENDPOINT_OFFSET_FIELD_INVALID_TYPE": ClassClientBug, "400 MODEL_REQUIRES_ID": ClassClientBug,
	"413 -":                                  ClassAPI,
	"500 ENDPOINT_RECEIVED_UNEXPECTED_ERROR": ClassAPI, "500 MODEL_CACHE_MODELSET_MISSING_SIGNATURE": ClassAPI,
	"500 MODEL_CANNOT_GET_CONFIG_PATH_WITHOUT_PARENT_MODEL": ClassAPI,
	"503 ENDPOINT_REST_API_IS_NOT_ENABLED":                  ClassAPIDisabled,
}

func TestEveryRecordedAnswerIsClassed(t *testing.T) {
	all := captures(t)
	var now capture
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, h := range []string{"content-type", "content-encoding", "retry-after"} {
			if v := now.Headers[h]; v != "" {
				w.Header().Set(h, v)
			}
		}
		body := []byte(now.Body)
		var text string
		if json.Unmarshal(now.Body, &text) == nil {
			body = []byte(text)
		}
		w.WriteHeader(now.Status)
		_, _ = w.Write(body)
	})
	var log lines
	c := a.client(t, func(c *Config) { c.Log = log.logger() })
	good, bad := 0, 0
	for name, rec := range all {
		now = rec
		if rec.Status == 401 { // as after a new key: the breaker is another test's
			if err := c.Rekey(secretfile.New([]byte("key-for-" + name))); err != nil {
				t.Fatal(err)
			}
		}
		ans, err := c.Get(within(t), Caller{}, rules, Page{})
		if rec.Status == 401 {
			c.ResetBreakers()
		}
		var env struct {
			Code int             `json:"code"`
			ID   string          `json:"response_id"`
			Data json.RawMessage `json:"data"`
			Msg  string          `json:"message"`
		}
		isEnvelope := json.Unmarshal(rec.Body, &env) == nil && env.ID != ""
		if rec.Status == http.StatusOK && isEnvelope {
			good++
			var got, want any
			if err != nil || json.Unmarshal(ans.Data, &got) != nil || json.Unmarshal(env.Data, &want) != nil {
				t.Errorf("%s: %v", name, err)
			}
			if strings.HasPrefix(name, "VAR_hateoas") != ans.Links {
				t.Errorf("%s: links %v", name, ans.Links)
			}
			continue
		}
		bad++
		id := env.ID
		if id == "" {
			id = "-"
		}
		want := recorded[strconv.Itoa(rec.Status)+" "+id]
		switch {
		case want != "":
		case rec.Status == http.StatusOK:
			want = ClassShape
		case rec.Status == http.StatusBadRequest: // of writes: no read can get them
			want = ClassAPI
		default:
			t.Errorf("%s: no expectation for %d %s", name, rec.Status, id)
			continue
		}
		e := wantClass(t, err, want)
		for _, words := range []string{env.Msg, "pfSense", "/usr/local", "<"} {
			if words != "" && (strings.Contains(e.Msg, words) || strings.Contains(e.Next, words) || strings.Contains(log.String(), words)) {
				t.Errorf("%s: the appliance's words %q go on", name, words)
			}
		}
	}
	t.Logf("%d good answers, %d refused", good, bad)
	if good < 300 || bad < 60 {
		t.Errorf("only %d good and %d error answers were found", good, bad)
	}
}

func TestRecordedListsWalk(t *testing.T) {
	all := captures(t)
	var now capture
	a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", now.Headers["content-type"])
		_, _ = w.Write(now.Body)
	})
	c := a.client(t)
	walked := 0
	for name, rec := range all {
		var env struct {
			Data []json.RawMessage `json:"data"`
		}
		if rec.Status != 200 || !strings.HasPrefix(name, "GET_") || json.Unmarshal(rec.Body, &env) != nil {
			continue
		}
		now = rec
		n := 0
		w, err := c.Walk(within(t), Caller{}, rules, WalkOptions{MaxRows: 100_000}, func(jsontext.Value, int) bool { n++; return true })
		if err != nil || n != len(env.Data) || !w.Complete || w.Links {
			t.Errorf("%s: %d of %d rows, %+v, %v", name, n, len(env.Data), w, err)
		}
		walked++
	}
	if walked < 100 {
		t.Errorf("only %d lists were found", walked)
	}
}
