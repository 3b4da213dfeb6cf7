// Package secretfile owns how a key gets from a file into the process, and the
// type that holds it there.
//
// Any package may import secretfile; it imports none of ours but errs. It never
// puts a byte of a file into an error, a log or a printed value, never follows a
// link to the file, never blocks on opening, and never reads more than the bound.
//
// The attacks it stops: a symlink or a hard link that makes a daemon read, and by
// its errors or its requests disclose, another file of its own; a key that other
// users of the machine can read or replace, used as if it were secret; a file that
// changes between the check and the read (both are done on one descriptor); a pipe
// or a device in the key's place that hangs the start; a line end or another
// control character that would split an HTTP header; and a key that a print of a
// struct carries into a log.
package secretfile
