// Package posture owns mcpctl anchor, discover and plan: how the write path stands,
// and the ceremony that ties the store to the TPM's counter.
//
// Only pkg/opctl imports it. It must never take a step of the counter's ceremony
// without a person who saw the state before it, nor send a step for another state
// than that one.
//
// The attacks it stops: a client under an operator's uid that provisions, seeds or
// rebaselines (security-review 27); and a step taken twice because two people, or one
// in haste, each saw half.
package posture
