// Package logging owns every line that a daemon logs: its form, its keys, where it
// goes, and that no secret is in it.
//
// Any package may log through the *slog.Logger it was given; only daemon makes a
// Log. logging imports none of ours but errs. A message is a constant, values are
// attributes under the keys of this package, and an error is shown by its code,
// class and our own message; of its cause only the Go type.
//
// What it must never do: print a value that it does not understand, print the text
// of an error that we did not write, end the daemon because a disk is full, or
// write a line into a file that somebody else can read.
//
// The attacks it stops: a line break, an escape sequence or a bidirectional
// override in a value that forges a line or repaints the terminal of the operator
// (lines are printable ASCII alone); an API key that comes out of a log, plain or
// in base64, hexadecimal, percent or JSON form, because some library put it into a
// message; an appliance whose error text reaches the operator as if it were ours;
// and an audit trail that a log level switches off (Audit has none).
package logging
