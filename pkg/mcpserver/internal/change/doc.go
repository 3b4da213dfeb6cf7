// Package change owns the one tool that asks people for a change: when it may be
// offered, what it takes, and the one word that it answers with.
//
// mcpserver alone imports it. It links the generated client of executord's Front
// service and nothing else that can reach anybody: no client of the appliance,
// no file, no key (test/arch holds it to that). It must never authorize, retry
// or choose anything: it hands two texts and the caller's uid to executord, and
// nothing but a word of a closed list comes back, whatever executord said.
//
// The attacks it stops: a write tool that is offered although the profile, the
// compiled table or executord does not agree; a model that learns from an error,
// an id or a difference between two refusals what the write path holds; and one
// account's flood that leaves no room for another's question.
package change
