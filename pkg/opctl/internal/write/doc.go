// Package write owns mcpctl write: the operator's part of the approval ceremony,
// which is to look, to carry files between executord and the signers, and to wait.
//
// Only pkg/opctl imports it. It approves nothing: it holds no key and hands in the
// bytes of a file as they are. It must never repeat a submission, never call an
// exchange off because somebody stopped looking, and never show a text that was not
// spelt out.
//
// The attacks it stops: a file or a daemon's text that drives the operator's
// terminal; an old or new description whose letters look like others
// (security-review 19); one client's flood hiding the requests of others
// (security-review 18); and a client under an operator's uid that acts without a
// person (security-review 27).
package write
