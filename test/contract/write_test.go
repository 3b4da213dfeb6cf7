package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/execfront"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

const writeFile = "../testdata/mcp/contract-write.json"

// writeSurface is what the profile write_protected serves otherwise, beside an
// executord that can make the change. All else is the contract itself.
type writeSurface struct {
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions json.RawMessage `json:"instructions"`
	Toolsets     []string        `json:"toolsets"` // those that have the tool
	Tool         json.RawMessage `json:"tool"`
	Page         json.RawMessage `json:"page"` // its resource
}

// writingSuite starts a suite whose executord is pretended.
func writingSuite(t *testing.T, settings string, front *execfront.Front) *suite.Suite {
	t.Helper()
	s := suite.New(t, suite.Options{Settings: "profile = \"write_protected\"\n" + settings, Only: []string{"guidanced"}})
	front.Beside(t, s.Dir)
	s.Start("mcpd")
	return s
}

// TestTheServedSurfaceIsTheContractWithTheWriteTool: with the profile that can
// write and an executord that can make a change, one entry and a sentence are
// different; without such an executord, nothing but the promise to say so.
func TestTheServedSurfaceIsTheContractWithTheWriteTool(t *testing.T) {
	all := "toolsets = [\"all\", \"extended\"]\n"
	usual := served(t, suite.New(t, suite.Options{Settings: all, Only: []string{"guidanced", "mcpd"}}), true)
	sealed, ready := &execfront.Front{}, &execfront.Front{}
	ready.Report(execfront.Ready())

	off := served(t, writingSuite(t, all, sealed), true)
	promise := off.Capabilities
	off.Capabilities = usual.Capabilities
	if d := differences(render(t, usual), render(t, off)); len(d) > 0 {
		t.Errorf("while executord can make no change, this is served otherwise:\n%s", strings.Join(d, "\n"))
	}

	s := writingSuite(t, all, ready)
	on, old := served(t, s, true), served(t, s, false)
	old.Versions = on.Versions
	if d := differences(render(t, on), render(t, old)); len(d) > 0 {
		t.Errorf("the eras differ:\n%s", strings.Join(d, "\n"))
	}
	if !bytes.Equal(on.Capabilities, promise) {
		t.Errorf("what is promised depends on executord: %s and %s", on.Capabilities, promise)
	}
	got := writeSurface{Capabilities: on.Capabilities, Instructions: on.Instructions}
	got.Tool = on.Tools[len(on.Tools)-1]
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	page := items(t, call(t, c, "resources/read", map[string]any{"uri": "pfsense://tools/" + catalog.WriteTool})["contents"])
	got.Page = members(t, page[0])["text"]

	rest := on
	rest.Capabilities, rest.Instructions, rest.Tools = usual.Capabilities, usual.Instructions, on.Tools[:len(on.Tools)-1]
	if d := differences(render(t, usual), render(t, rest)); len(d) > 0 {
		t.Errorf("beside the tool this is served otherwise:\n%s", strings.Join(d, "\n"))
	}

	for _, set := range sets {
		s := writingSuite(t, "toolsets = [\""+set+"\"]\n", ready)
		c := s.Shim()
		if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
			t.Fatal(err)
		}
		names, err := c.Tools()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(names, catalog.WriteTool) {
			got.Toolsets = append(got.Toolsets, set)
		}
	}

	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(writeFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(writeFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := differences(want, text.Bytes()); len(d) > 0 {
		t.Errorf("the served surface is not the contract (make contract writes it anew, alone in its commit):\n%s", strings.Join(d, "\n"))
	}
}
