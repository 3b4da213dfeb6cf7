// Package custody owns mcpctl audit, keys and store: reading and keeping what
// executord has recorded, and replacing the key under which it is kept.
//
// Only pkg/opctl imports it. It holds no key and opens no store. It must never let a
// stream that was cut pass for a file, never rotate a key or copy the store without a
// person at a terminal, and never call a store sound that executord did not call so.
//
// The attacks it stops: an audit whose end was cut off and still looks whole; and a
// client under an operator's uid that takes a copy of the store or starts a rotation
// (security-review 27).
package custody
