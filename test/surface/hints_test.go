package surface

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/suite"
)

// deed is what a call was seen to do.
type deed struct {
	requests []fakepf.Request
	changed  bool // something on the appliance is not as it was
	again    bool // the same call once more changed something
}

// contradictions holds a tool's hints against what its call did.
func contradictions(x tool, d deed) (bad []string) {
	h := x.Note
	if h.ReadOnly == nil || h.Destructive == nil || h.Idempotent == nil || h.OpenWorld == nil {
		return []string{"a hint is missing: hosts then assume the worst"}
	}
	wrote := d.changed || slices.ContainsFunc(d.requests, func(r fakepf.Request) bool { return r.Method != http.MethodGet })
	if *h.ReadOnly == wrote {
		bad = append(bad, fmt.Sprintf("readOnlyHint %t, but it wrote: %t", *h.ReadOnly, wrote))
	}
	if *h.ReadOnly && *h.Destructive {
		bad = append(bad, "read only and destructive")
	}
	if *h.Idempotent && d.again {
		bad = append(bad, "idempotentHint, but the second call changed something")
	}
	// Guidance leads to pages of others even when this call asked nobody.
	outside := len(d.requests) > 0 || slices.Contains(guidance, x.Name)
	if *h.OpenWorld != outside {
		bad = append(bad, fmt.Sprintf("openWorldHint %t, but it asked somebody outside: %t", *h.OpenWorld, outside))
	}
	return bad
}

// state is a digest of everything the pretend appliance has stored.
func state(s *fakepf.Server) uint64 {
	h := fnv.New64a()
	for _, r := range catalog.Tools() {
		if r.Path == "" {
			continue
		}
		for i := range s.Rows(r.Model.Upstream) {
			fmt.Fprint(h, r.Model.Upstream, i, s.Row(r.Model.Upstream, i))
		}
	}
	fmt.Fprint(h, s.Pending(), s.Settings())
	return h.Sum64()
}

// TestEveryHintIsWhatTheCallDoes calls every tool twice on an appliance that is
// watched.
func TestEveryHintIsWhatTheCallDoes(t *testing.T) {
	s, c := begin(t, suite.Options{Settings: extended})
	tools, _ := list(t, c)
	was := state(s.Appliance)
	for _, x := range tools {
		s.Appliance.ResetLog()
		args := x.calls()[0]
		var d deed
		for _, second := range []bool{false, true} {
			if r, err := c.Tool(x.Name, args); err != nil || r.IsError {
				t.Errorf("%s: %v %s", x.Name, err, r.Text())
			}
			now := state(s.Appliance)
			if now != was {
				d.changed, d.again = true, d.again || second
			}
			was = now
		}
		d.requests = s.Appliance.Requests()
		for _, bad := range contradictions(x, d) {
			t.Errorf("%s: %s", x.Name, bad)
		}
	}
}

func TestTheHintCheckCanFail(t *testing.T) {
	yes, no := true, false
	get, patch := fakepf.Request{Method: "GET"}, fakepf.Request{Method: "PATCH"}
	hints := func(readOnly, destructive, idempotent, open *bool) tool {
		x := tool{Name: "pfsense_get_x"}
		x.Note.ReadOnly, x.Note.Destructive, x.Note.Idempotent, x.Note.OpenWorld = readOnly, destructive, idempotent, open
		return x
	}
	if bad := contradictions(hints(&yes, &no, &yes, &yes), deed{requests: []fakepf.Request{get}}); len(bad) > 0 {
		t.Errorf("true hints are refused: %q", bad)
	}
	for name, x := range map[string]struct {
		tool
		deed
	}{
		"missing":             {hints(&yes, nil, &yes, &yes), deed{requests: []fakepf.Request{get}}},
		"wrote":               {hints(&yes, &no, &yes, &yes), deed{requests: []fakepf.Request{patch}}},
		"readOnlyHint":        {hints(&yes, &no, &yes, &yes), deed{requests: []fakepf.Request{get}, changed: true}},
		"readOnlyHint false":  {hints(&no, &no, &yes, &yes), deed{requests: []fakepf.Request{get}}},
		"destructive":         {hints(&yes, &yes, &yes, &yes), deed{requests: []fakepf.Request{get}}},
		"idempotentHint":      {hints(&no, &no, &yes, &yes), deed{requests: []fakepf.Request{patch}, changed: true, again: true}},
		"openWorldHint false": {hints(&yes, &no, &yes, &no), deed{requests: []fakepf.Request{get}}},
		"openWorldHint true":  {hints(&yes, &no, &yes, &yes), deed{}},
	} {
		if bad := contradictions(x.tool, x.deed); len(bad) == 0 || !strings.Contains(strings.Join(bad, " "), strings.Fields(name)[0]) {
			t.Errorf("%s passes: %q", name, bad)
		}
	}
	s := fakepf.Start(t, fakepf.Options{})
	was := state(s)
	if err := s.Set("FirewallAlias", 0, "descr", "another"); err != nil || state(s) == was {
		t.Error("a change of the appliance is not seen")
	}
}
