// Package carry owns the files that an operator carries between the host and the
// signers: reading what was signed, keeping what executord made.
//
// Only the inner packages of pkg/opctl import it. It must never follow a link in a
// file's last place, hang on a pipe, read beyond a bound, change a byte, overwrite a
// file, or remove one that it did not make.
//
// The attacks it stops: a link, a pipe or a device in a file's place that makes an
// operator's command read, write or wait for something else; a file that another
// user can change between the look at it and its use; and half a file that passes
// for a whole one.
package carry
