// Package sock owns Unix sockets as files and their peers as users: opening one
// that only the right people can reach, checking one that was inherited, and
// reading who connected. rpc alone imports it and shows it to the rest.
//
// It must never follow a link on the way to a socket, never remove what is not
// a dead socket of the process's own user, and never let a socket be reachable
// for a moment by more than may use it.
//
// The attack it stops: another local user who puts a socket, a directory or a
// link where a daemon or its clients expect ours.
package sock
