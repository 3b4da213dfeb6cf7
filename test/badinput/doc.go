// Package badinput starts the built programs where something is wrong with the host,
// the files or the settings, and holds what they do about it: a known exit code, a
// message that says what failed and what to do next, nothing of a secret or of an
// outsider's text in it, and nothing left half done.
//
// Under root the daemons run as users of their own, so that owners and modes mean
// something; otherwise the rows that need another user say that they were skipped.
//
// Nothing imports this package.
package badinput
