// Package rule owns what every decision of the gates is made of: rows that name what
// they may look at, the facts that hand out nothing else and each of them once, and the
// two groups of rows that several decisions share (posture and target).
//
// Only the packages of the gate import it. It must never run a row after one that
// failed, or let an error leave that carries a rule of a file.
//
// The attacks it stops: a file that was never any good and still costs a read of the
// TPM or the appliance, two rows that judge two different states, and a check that is
// the right one in one decision and forgotten in another.
package rule
