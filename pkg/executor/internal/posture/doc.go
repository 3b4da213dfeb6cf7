// Package posture owns the analysis under every change: what state the executor is in
// (evidence), and what lies between that and a wanted state (plan).
//
// Only packages of the executor import it. It is pure: it reads no file, no clock, no
// TPM and no appliance, so the same facts give the same plan, byte for byte, at the
// preview, at every gate and in a signer's review. It must never call anything
// permitted: a plan is analysis, and the one step that changes an appliance is blocked
// in every plan, because an owner decides it for each change alone. It must never let a
// software counter stand for a hardware one outside a laboratory.
//
// The attacks it stops: an approval given under one counter value, policy, binary or
// appliance and used under another (all of it is in the plan's digest), and an anchor
// that a snapshot of a disk can turn back, taken for one that cannot.
package posture
