// Package textsafe owns how text of an outsider becomes text that a model, a
// terminal or a log may see.
//
// Any package may import textsafe; it imports none of ours. It has no state and
// no settings, and it never fails: what it cannot show it escapes or masks. It
// says nothing about whether a text is true, and it is no boundary against what a
// text asks for: that remains text of an outsider.
//
// The attacks it stops: instructions or addresses that a reader cannot see
// (bidirectional overrides, zero-width and tag characters, variation selectors,
// unassigned code points) in a rule description that a model reads or that two
// people approve; a line break or terminal sequence that forges output around it;
// an escape of ours written by the outsider, so that real and forged ones look
// alike; and a private key, password or token that an administrator left in a
// description, a custom option or a cron command.
//
// The order of use is fixed: Scrub, then Clean. Clean's escapes would hide the
// line ends by which Scrub finds where a secret ends.
package textsafe
