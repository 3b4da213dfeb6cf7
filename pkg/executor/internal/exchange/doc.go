// Package exchange owns the one request of the whole suite that changes an
// appliance: PATCH /api/v2/firewall/alias with four members, sent once.
//
// Packages of the executor may import it, and exactly one place in them sends: a
// test counts. Of ours it imports artifact/change, errs and secretfile. It has its own connection and knows net/http for one thing, reading a
// response: a client or transport of net/http pools connections and may by itself
// repeat a request on one that breaks. It must never send a second time, follow a
// redirect, use a proxy, speak HTTP/2, ask for compression or take its path,
// method or header from anybody. The key is in no error and no log, by type.
//
// It tells apart what can be proven from what cannot. Only a request of which not
// one byte was given to TLS is proven to have had no effect; an answer counts only
// as a complete pfREST envelope that says the status twice. What a kind of answer
// means stands in one table, effect.go; whether it is true is for the reads that
// follow.
//
// A connection is made before the last look at the appliance and written to after
// it, so that dialling is not part of the time in which somebody else could step
// between. Once the first byte is out, no caller can cut the exchange short: the
// answer is the only thing that tells what happened, and PHP does not stop for a
// client that hangs up.
//
// The attacks it stops: a change sent twice, or to another place than the approved
// one; a dropped connection, a login page or half an answer taken for "nothing
// happened"; a body in which the position is anything but a number, which would
// wreck the appliance's configuration; and a changed position that hits another
// alias, by sending the name with it.
package exchange
