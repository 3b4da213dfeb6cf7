// Package seam owns the points at which a test may make the store fail or stop.
//
// Only the packages of the store import it, and of those only storetest, which no
// program links, can set one. It must never be set by a setting, the environment or an
// RPC.
//
// The attack it stops: a door for tests that opens in production.
package seam

// Point names a step of a write, such as "put contracts", "commit" or "committed".
type Point string

// The points beside "put BUCKET" and "delete BUCKET".
const (
	Begin     Point = "begin"     // the transaction has begun, nothing is changed
	Audit     Point = "audit"     // before an audit row
	Anchor    Point = "anchor"    // before the anchor row, the last of a transaction
	Commit    Point = "commit"    // before pages are written and synced
	Committed Point = "committed" // after the last sync
	Write     Point = "write"     // founding: before the new file is written
	Rename    Point = "rename"    // founding: before it gets its name
	Space     Point = "space"     // before free space is asked for
)

// Seam is called at each point; an error ends the step there.
type Seam struct {
	At func(Point) error
	// NoSync leaves out syncing, for benchmarks that build large stores.
	NoSync bool
}

// Hit calls the hook, if there is one.
func (s *Seam) Hit(p Point) error {
	if s == nil || s.At == nil {
		return nil
	}
	return s.At(p)
}
