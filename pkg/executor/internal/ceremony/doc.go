// Package ceremony owns the order of a change: who may go on to which step, what is
// written before what is done, and what becomes of an attempt that breaks. What is asked
// before a step is package gate's, the steps of one attempt are package attempt's, the
// store and the counter are kept by package keeper.
//
// Only the executor and cmd/executord import it. One goroutine, the writer, runs
// every step that reads the appliance, moves the counter or sends; readers and
// cancellations never wait for it. A step that has begun is not cancelled by a caller
// who leaves. It must never send twice for one approval, send before the counter and
// the store say so, call an outcome that is not proven, or hand an outsider's text or
// a reason to anybody but the audit.
//
// The attacks it stops: two attempts at once; an approval that outlives what it was
// given for (another plan, counter, process, appliance, text, position or time); a
// send by a process that was stopped, resumed or restarted between its checks and its
// first byte; and a write whose fate is guessed.
package ceremony
