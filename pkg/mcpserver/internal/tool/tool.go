// Package tool owns the seam between mcpserver and the tools that are no rows of
// the catalog. mcpserver and its inner packages import it. It must never hold more than
// types: what runs for a caller stands in the packages that are named for it.
//
// The attack it stops: a tool that comes in beside the checks of arguments, limits and
// logs, because it had a way of its own to the session.
package tool

import (
	"context"

	"pfsensemcp/pkg/pfrest"
)

// Class says what kind of tool it is; tools are counted by class. There is none
// for tools that ask for a change: what runs these cannot run one (package
// change).
type Class uint8

// The classes of tools.
const (
	Read Class = iota
	Guidance
)

// Answer is what a tool answers with.
type Answer struct {
	JSON      []byte // the structured content: one compact JSON object on one line
	Rows      int
	Drift     int
	Truncated bool
}

// Handler answers one call; args is a JSON object, or empty for none. Errors
// are shown as errs.Public says.
type Handler func(ctx context.Context, caller pfrest.Caller, args []byte, progress func(rows int)) (Answer, error)

// Extra is a tool that is no row of the catalog: another daemon answers it. It
// is registered when the profile grants anything at all and the allow-list
// names it; the toolsets do not concern it.
type Extra struct {
	Name, Desc    string
	Class         Class
	Input, Output []byte // JSON schemas
	OpenWorld     bool   // it may lead to somebody outside the suite
	Answer        Handler
}
