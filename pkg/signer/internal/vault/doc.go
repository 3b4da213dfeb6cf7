// Package vault owns the signer's files: its one directory, the private key in it,
// the log of what was signed, and the files that come in and go out.
//
// Only pkg/signer imports it. It must never follow a link, read a file that others
// can write or read, overwrite or remove anything, put a byte of a key into an
// error, or let two processes sign at once.
//
// The attacks it stops: a key that another user of the machine copied or replaced;
// a pipe or a link in a file's place; the same approval signed twice because two
// runs did not see each other, or because the log was cut; and a stolen key file
// that opens to whoever has it.
package vault

// Error is a refusal in our own words. Next says what to do about it.
type Error struct{ Msg, Next string }

// Error returns what was refused.
func (e *Error) Error() string { return e.Msg }

// Refuse makes an Error.
func Refuse(msg, next string) error { return &Error{msg, next} }
