// Package pause owns the one way in which something of ours waits for a time.
//
// Every package may import it; it imports none of ours. It must never wait longer than
// its context lives: what waits has to end when it is told to.
//
// The attack it stops: a daemon that cannot be stopped, or keeps a place that others
// need, because somebody made it wait.
package pause

import (
	"context"
	"time"
)

// For waits for d and returns nil, or returns the context's error when that ends first.
// A d of 0 or less does not wait.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
