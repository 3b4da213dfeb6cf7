// Package custody owns mcpctl audit, keys and store: reading and keeping what
// executord has recorded, and making and replacing the keys under which it is kept.
//
// Only pkg/opctl imports it. It opens no store and holds no key but the one that a
// person has it make, until that stands in its file. It must never print a key, never
// let a stream that was cut pass for a file, never make or rotate a key or copy the
// store without a person at a terminal, and never call a store sound that executord
// did not call so.
//
// The attacks it stops: an audit whose end was cut off and still looks whole; and a
// client under an operator's uid that takes a copy of the store or starts a rotation
// (security-review 27).
package custody
