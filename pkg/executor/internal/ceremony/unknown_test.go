package ceremony_test

import (
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// When nobody knows whether T4 is on the disk, the process ends, forward and back: what
// it holds in memory is not what the file says. The next start reads the file.
func TestCase106AnAttemptOfWhichNobodyKnowsWhetherItBeganEndsTheProcess(t *testing.T) {
	begin := func(t *testing.T, undo bool) (m *moments, id string, err error) {
		armed := false
		m = during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
			c.Store.Seam = storetest.Faults(func(p string) error {
				if armed && p == "committed" {
					armed = false
					return errs.New(errs.UnknownOutcome, "the disk failed").WithClass("store_write")
				}
				return nil
			})
		}})
		if !undo {
			k := m.Authorized(text)
			file := m.Confirmation(k)
			m.at["begin before"] = func() { armed = true }
			_, err = m.Y.Confirm(t.Context(), ceremonytest.By, file)
			return m, k.ContractID, err
		}
		k, _ := m.Changed(text)
		confirmation, authorization := m.Undo(k.ContractID)
		m.at["begin before"] = func() { armed = true }
		_, err = m.Y.Rollback(t.Context(), ceremonytest.By, confirmation, authorization)
		return m, k.ContractID, err
	}
	for what, undo := range map[string]bool{"a change": false, "its undo": true} {
		t.Run(what, func(t *testing.T) {
			m, id, err := begin(t, undo)
			if errs.CodeOf(err) != errs.UnknownOutcome {
				t.Errorf("the caller was told %v", err)
			}
			ended := m.over()
			if err := m.Stop(); !ended || err == nil {
				t.Errorf("the process goes on: ended by itself %v, %v", ended, err)
			}
			sends := m.Sends()
			m.Config.Store.Seam = nil
			m.reborn()
			want := record.Failed
			if undo {
				want = record.RollbackFailed
			}
			if k, res := m.Contract(id); k.State != want || res.Reason != record.ReasonBeforeAnchor || m.Sends() != sends {
				t.Errorf("%s %s, %d sends", k.State, res.Reason, m.Sends())
			}
		})
	}
}

// over waits until the writer has ended by itself, which is soon or never.
func (m *moments) over() bool {
	for range 200 {
		if m.ended() {
			return true
		}
	}
	return false
}
