package gate

import (
	"slices"
	"testing"

	"pfsensemcp/pkg/errs"
)

// TestE3 changes every byte of every kind of file: no other bytes than the owner's pass.
func TestE3NoFilePassesWithAChangedByte(t *testing.T) {
	a, c, s, r, u := ask(t), confirm(t), applied(t), rebase(t), undo(t)
	first, second := u.confirmation.sign(t), u.authorization.sign(t)
	for what, one := range map[string]struct {
		file   []byte
		submit func([]byte) *Denied
	}{
		"authorization":  {a.draft.sign(t), func(b []byte) *Denied { a.file = b; return submitAsking(t, a) }},
		"confirmation":   {c.draft.sign(t), func(b []byte) *Denied { c.file = b; return submitConfirming(t, c) }},
		"evidence":       {s.draft.sign(t), func(b []byte) *Denied { s.file = b; return submitStating(t, s) }},
		"rebaseline":     {r.draft.sign(t), func(b []byte) *Denied { r.file = b; return submitRebased(t, r) }},
		"rollback":       {first, func(b []byte) *Denied { u.files = [2][]byte{b, second}; return submitUndone(t, u) }},
		"rollback's own": {second, func(b []byte) *Denied { u.files = [2][]byte{first, b}; return submitUndone(t, u) }},
	} {
		for i := range one.file {
			for _, bit := range []byte{1, 0x20, 0x80} {
				b := slices.Clone(one.file)
				b[i] ^= bit
				d := one.submit(b)
				if d == nil {
					t.Fatalf("%s: byte %d with bit %#x passes", what, i, bit)
				}
				silent(t, what, d)
			}
			if d := one.submit(one.file[:i]); d == nil {
				t.Fatalf("%s: the first %d bytes pass", what, i)
			}
		}
		if d := one.submit(one.file); d != nil {
			t.Errorf("%s: the file itself: %v, %v", what, d, errs.Public(d.Err))
		}
	}
}
