// Package keeper owns what a process life of executord knows of itself: the store, the
// counter it is founded on, whether they agree, and what may be claimed because of that:
// evidence, plan, policy, quarantine, and the steps of provisioning.
//
// The packages of the ceremony import it. One goroutine, the ceremony's writer, calls
// what moves the counter or settles something; everything else is safe for concurrent
// use. It must never let anything begin while store, counter and clock disagree, explain
// a disagreement away, or found a store on a counter that its host can set back.
//
// The attacks it stops: a store file or a whole machine restored from before a change;
// a counter removed and made again; a clock that was set; and an approval carried over
// into another process, policy, binary or appliance.
package keeper
