package ceremony_test

import (
	"testing"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
)

// A12: files that were never any good cost the appliance nothing, in a process too that
// has not met it yet.
func TestA12AnUndoThatIsNoneReachesNoAppliance(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k, _ := m.Changed(text)
	c, a := m.Undo(k.ContractID)
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	m.Open()
	before := len(m.FW.Requests())
	for what, files := range map[string][2][]byte{"no files": {[]byte("{}"), []byte("{}")}, "one file twice": {c, c}, "in the wrong order": {a, c}} {
		if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, files[0], files[1]); class(err) != ceremony.ClassDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(m.FW.Requests()) - before; n > 0 {
		t.Errorf("%d requests for files that nobody signed", n)
	}
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Errorf("the undo itself: %v: %s", err, m.Last())
	}
	m.Wait()
}
