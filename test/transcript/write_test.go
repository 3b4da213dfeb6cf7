package transcript

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/execfront"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

// course is how a wish goes on from poll to poll, by the alias's name; its last
// word stays. Any other alias is refused.
var course = map[string][]executorpb.WriteState{
	"web_servers": {
		executorpb.WriteState_WRITE_STATE_REQUESTED, executorpb.WriteState_WRITE_STATE_REQUESTED,
		executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION, executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION,
		executorpb.WriteState_WRITE_STATE_VERIFIED, executorpb.WriteState_WRITE_STATE_REVERTED,
	},
	"db_servers": {
		executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION, executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED,
	},
}

// writing starts a suite whose executord lets every wish run its course.
func writing(t *testing.T) (*suite.Suite, *execfront.Front) {
	t.Helper()
	f := &execfront.Front{}
	f.Report(execfront.Ready())
	var mu sync.Mutex
	polls := map[string]int{}
	f.Answer(func(r *executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) {
		mu.Lock()
		defer mu.Unlock()
		if r.GetAliasName() == "broken" {
			return 0, errs.New(errs.Internal, "req-3f6c was denied by wc-5b0e").WithClass("g4_preview").WithNext("mcpctl write list")
		}
		states := course[r.GetAliasName()]
		if len(states) == 0 {
			return executorpb.WriteState_WRITE_STATE_REFUSED, nil
		}
		n := min(polls[r.GetAliasName()], len(states)-1)
		polls[r.GetAliasName()]++
		return states[n], nil
	})
	s := suite.New(t, suite.Options{Settings: "profile = \"write_protected\"\n", Only: []string{"guidanced", "docfetchd"}})
	f.Beside(t, s.Dir)
	s.Start("mcpd")
	return s, f
}

func TestG3ConversationsAboutAChange(t *testing.T) {
	files, err := filepath.Glob("../testdata/mcp/write/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			s, _ := writing(t)
			play(t, s, f)
			for _, r := range s.Appliance.Requests() {
				if r.Method != "GET" {
					t.Errorf("mcpd sent %s %s", r.Method, r.Path)
				}
			}
		})
	}
}

// A session through the shim outlives executord, and mcpd itself: what the model
// is told meanwhile is refused, and what it asks afterwards goes on.
func TestAWishOutlivesTheEndOfExecutordAndOfMcpd(t *testing.T) {
	s, f := writing(t)
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	other := s.Shim()
	if _, err := other.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	wish := map[string]string{"alias_name": "db_servers", "description": "x"}
	poll := func() string {
		t.Helper()
		r, err := c.Tool(catalog.WriteTool, wish)
		if err != nil || r.IsError || string(r.Structured) != r.Text() {
			t.Fatalf("%v %+v", err, r)
		}
		return r.Text()
	}
	if got := poll(); got != `{"state":"awaiting_confirmation"}` {
		t.Fatal(got)
	}
	f.Stop()
	if got := poll(); got != `{"state":"refused"}` {
		t.Errorf("without executord: %s", got)
	}
	if names, err := c.Tools(); err != nil || len(names) != 97 {
		t.Errorf("without executord %d tools are listed, %v", len(names), err)
	}
	heard := func() bool {
		if _, err := other.Tool(catalog.InfoTool, nil); err != nil { // reads what has come
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(other.Notes(), ""), "notifications/tools/list_changed")
	}
	for end := time.Now().Add(rawmcp.Wait); !heard(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("another session's client was not told that the list has changed")
		}
	}
	f.Beside(t, s.Dir)
	got := poll()
	for end := time.Now().Add(rawmcp.Wait); got == `{"state":"refused"}` && time.Now().Before(end); got = poll() { // until it is found again
		time.Sleep(20 * time.Millisecond)
	}
	if got != `{"state":"reconciliation_required"}` {
		t.Errorf("with executord again: %s", got)
	}
	s.Kill("mcpd")
	s.Start("mcpd")
	for end := time.Now().Add(rawmcp.Wait); ; time.Sleep(50 * time.Millisecond) {
		r, err := c.Tool(catalog.WriteTool, wish)
		if err == nil && r.Text() == `{"state":"reconciliation_required"}` {
			break
		}
		if _, away := typed(err); err != nil && !away || time.Now().After(end) {
			t.Fatalf("with mcpd again: %v %+v", err, r)
		}
	}
}
