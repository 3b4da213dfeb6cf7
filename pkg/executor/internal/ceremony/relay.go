package ceremony

import (
	"context"
	"time"

	"pfsensemcp/pkg/executor/internal/store/record"
)

// Relay takes a signed file that mcpd passes on and looks at it later. Neither what
// becomes of it nor how long that takes is told.
func (c *Ceremony) Relay(kind string, file []byte) {
	if !c.Relaying {
		return
	}
	c.mu.Lock()
	full := c.relayed >= maxRelayed
	if !full {
		c.relayed++
	}
	c.mu.Unlock()
	if full {
		return
	}
	const by = record.Actor("mcp")
	go func() {
		defer func() {
			c.mu.Lock()
			c.relayed--
			c.mu.Unlock()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), relayTime)
		defer cancel()
		switch kind { // the outcome is the audit's to tell
		case "authorization":
			_, _ = c.Authorize(ctx, by, file)
		case "confirmation":
			_, _ = c.Confirm(ctx, by, file)
		case "reconciliation":
			_, _ = c.Reconcile(ctx, by, file)
		}
	}()
}

// maxRelayed bounds the relayed files that wait; what comes beyond is dropped, and its
// owner brings it again.
const maxRelayed = 4

// relayTime bounds how long a relayed file waits for the writer.
const relayTime = 2 * time.Minute
