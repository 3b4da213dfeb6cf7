package surface

import (
	"bytes"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/execfront"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

// budgetWrite is what the write tool may add to a list, output schema included.
const budgetWrite = 1_600

// beginWriting is a session with a suite of the profile write_protected, beside a
// pretend executord that could make the change.
func beginWriting(t *testing.T) (*suite.Suite, *rawmcp.Client, *execfront.Front) {
	t.Helper()
	front := &execfront.Front{}
	front.Report(execfront.Ready())
	s := suite.New(t, suite.Options{Settings: "profile = \"write_protected\"\n", Only: []string{"guidanced", "docfetchd"}})
	front.Beside(t, s.Dir)
	s.Start("mcpd")
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	return s, c, front
}

// TestTheWriteToolIsOneEntryMoreAndChangesNoOther compares the lists of two
// profiles byte for byte: so the budgets of the usual list are those of this one,
// and what it costs more is the entry.
func TestTheWriteToolIsOneEntryMoreAndChangesNoOther(t *testing.T) {
	_, c := begin(t, suite.Options{})
	usualTools, _ := list(t, c)
	_, c, _ = beginWriting(t)
	tools, _ := list(t, c)
	if len(tools) != len(usualTools)+1 {
		t.Fatalf("%d tools, usually %d", len(tools), len(usualTools))
	}
	for i, x := range usualTools {
		if !bytes.Equal(x.raw, tools[i].raw) {
			t.Errorf("%s is served otherwise", x.Name)
		}
	}
	w := tools[len(tools)-1]
	if w.Name != catalog.WriteTool {
		t.Fatalf("the last tool is %s", w.Name)
	}
	t.Logf("the write tool: %d bytes (of %d)", len(w.raw), budgetWrite)
	if bad := over(w.Name, len(w.raw), budgetWrite); bad != "" {
		t.Error(bad)
	}
	for _, bad := range lint(w) {
		t.Error(bad)
	}
	h := w.Note
	if h.ReadOnly == nil || *h.ReadOnly || h.Destructive == nil || *h.Destructive || h.Idempotent == nil || !*h.Idempotent || h.OpenWorld == nil || !*h.OpenWorld {
		t.Errorf("hints %s", w.raw)
	}
	for _, x := range usualTools {
		if x.Note.ReadOnly == nil || !*x.Note.ReadOnly {
			t.Errorf("%s does not say that it only reads", x.Name)
		}
	}
}

func TestG2EveryAnswerOfTheWriteToolFitsItsOwnSchema(t *testing.T) {
	s, c, front := beginWriting(t)
	tools, _ := list(t, c)
	w := tools[len(tools)-1]
	in, out := schemaOf(t, w.In), schemaOf(t, w.Out)
	args := map[string]any{"alias_name": "web_servers", "description": "DMZ web servers"}
	if err := in.Validate(args); err != nil {
		t.Error(err)
	}
	if in.Validate(map[string]any{"alias_name": "x", "description": "y", "apply": true}) == nil || in.Validate(map[string]any{"alias_name": "x"}) == nil {
		t.Error("the schema takes other arguments")
	}
	if out.Validate(map[string]any{"state": "applied"}) == nil || out.Validate(map[string]any{"state": "verified", "id": "x"}) == nil {
		t.Error("the schema takes other answers")
	}
	s.Appliance.ResetLog()
	seen := map[string]bool{}
	for n := range executorpb.WriteState_name {
		front.Say(executorpb.WriteState(n))
		r, err := c.Tool(w.Name, args)
		if err != nil {
			t.Fatal(err)
		}
		if bad := check(out, r); bad != "" {
			t.Errorf("%d: %s", n, bad)
		}
		seen[r.Text()] = true
	}
	if len(seen) != 6 {
		t.Errorf("answers %v", seen)
	}
	if n := len(s.Appliance.Requests()); n != 0 {
		t.Errorf("mcpd asked the appliance %d times", n)
	}
}
