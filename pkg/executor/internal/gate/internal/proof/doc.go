// Package proof owns the decisions over what the reconciliation owner states: what became
// of an attempt, the release of a target, and the acceptance of a counter's value.
//
// Only the gate imports it, which hands its results out. It must never take a statement
// for proof that the appliance contradicts, a look for proof that was made while the
// write could still land, or anything for proof by the passing of time.
//
// The attacks it stops: "not applied" signed over a write that lands later, "verified"
// claimed of a text that is not there, and a restored store accepted by a statement
// about another one.
package proof
