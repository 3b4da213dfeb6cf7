// Package pfrest owns every read of the appliance: one GET at a time through
// pfREST's envelope, or a whole list in pages. mcpd and executord may link it,
// nothing else; of ours it imports errs, logging, secretfile and its own
// internal packages.
//
// It has no verb but GET and no way to name a path that it was not built with:
// a request is the base URL, a registered Endpoint and two integers. It never
// follows a redirect, uses no proxy, sends no body, no Content-Type (which would
// make pfREST ignore the query) and no Authorization (a stray one beats a good
// key), and writes the key to nothing but a verified TLS connection.
//
// It never sends a request twice. net/http would by itself repeat a GET on a
// kept-alive connection that breaks before an answer; requests are built so that
// it cannot (see request.go). A call that meets such a connection fails with
// class connection, and asking again is the caller's decision.
//
// What it reports is our own text, chosen by pfREST's response_id from a closed
// table: messages and bodies of the appliance go no further than this package,
// neither into errors nor into the log. Text that shows who was not believed is
// a certificate's hash, never its names.
//
// The attacks it stops: text of a caller in a URL, where pfREST reads any unknown
// key as a filter that can be asked for hidden secrets; a lock-out of this host
// by the firewall's login protection (401 breaker); one slow endpoint or one
// greedy user that takes all PHP workers (path breaker, fair slots, one request
// for identical questions); an answer that exhausts our memory (caps, pages); an
// answer of something else, a login page or half a body, taken for data.
//
// Config.Authoritative is for executord: every read is one GET of its own on a
// connection opened for it, with nothing shared, remembered, paged or salvaged.
package pfrest
