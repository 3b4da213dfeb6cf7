package executor

import (
	"fmt"
	"strings"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/secretfile"
)

// Verify verifies a store that no executord has open. It returns what it saw, one fact
// a line, and the exit code: 0 sound, 1 not looked at, 2 not what was written. Head and
// export are what was kept elsewhere, "" and nil for nothing.
func Verify(c Config, key secretfile.Secret, head string, export []byte) (string, int, error) {
	root, err := rootKey(key)
	if err != nil {
		return "", 1, err
	}
	clock, err := store.SystemClock()
	if err != nil {
		return "", 1, err
	}
	pins := store.Pins{Head: head}
	if export != nil {
		if pins.Rows, _, err = store.ReadExport(export); err != nil {
			return "", 1, err
		}
	}
	r, err := store.VerifyFile(store.Config{Dir: c.StoreDir, StoreID: c.StoreID, Lab: c.Lab, Key: root, Clock: clock, Limits: c.Limits}, pins)
	var b strings.Builder
	if r.Audit > 0 || err == nil {
		fmt.Fprintf(&b, "store=%s audit_rows=%d other_rows=%d contracts=%d generation=%d anchor_value=%d\nhead=%s\n",
			c.StoreID, r.Audit, r.Rows, r.Contracts, r.Generation, r.AnchorValue, r.Head)
		for _, fact := range []struct {
			is   bool
			text string
		}{
			{r.Pending, "an increment of the counter is not settled: start executord"},
			{!r.Provisioned, "provisioning is not complete: mcpctl anchor status"},
			{r.Restored, "this is a backup: it takes nothing but a signed rebaseline"},
			{r.Fallback, "one of the file's two roots is unreadable: a power cut, or a failing disk"},
			{err == nil, "sound"},
		} {
			if fact.is {
				b.WriteString(fact.text + "\n")
			}
		}
	}
	return b.String(), store.ExitCode(err), err
}
