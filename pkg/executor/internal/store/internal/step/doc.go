// Package step owns what every transaction of the ceremony is made of: reading a
// contract that must be as expected, the one place where it moves, and what a move
// takes along.
//
// Only the packages of the store import it. It must never move a contract against
// the table, write a verified state that nobody compared with what is sealed, or
// leave reservation, result, request and audit behind.
//
// The attacks it stops: a lost update between two calls, a state nobody may jump to,
// and an approval used twice.
package step
