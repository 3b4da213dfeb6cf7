// Package gate owns every decision about a signed file: whether it may do what it says,
// now, here.
//
// The ceremony alone imports it. Each decision is one ordered table of rows; the first
// row that fails ends it, its word of the closed list is the reason, and nothing behind
// it was looked at. A row names what it may look at (the process, the store, the
// counter, the appliance), and the facts hand out nothing else. Each fact is asked for
// when a row first needs it and once at most, so all rows of one decision judge the
// same facts.
//
// It must never write: no row of the store, no counter, no byte to the appliance. It
// must never compare a file with itself: what was signed is held against what is stored,
// and both against what is found now. It must never give a reason, or an error, that
// holds a word of the file, of a request or of the appliance; the rules that a file
// breaks stay inside.
//
// The attacks it stops: one approval standing for two, an approval for another change,
// plan, alias, appliance, store, binary or counter value than the present ones, an old
// approval after a restored store or a set clock, evidence that what is there
// contradicts, and a submitter who learns from denials, or spends time of the TPM and
// the appliance, with files that were never any good. The transactions of the store
// check much of this again: a gate that is forgotten is no way through.
//
// Here are the decisions over authorization, confirmation and rollback; what the
// reconciliation owner states is decided in internal/proof, and internal/rule has what
// all of them are made of.
package gate
