// Package docfetch owns what docfetchd knows: the documentation of the pfREST
// package, for how long it is kept, and the service that answers from it. What is
// fetched, and how, is site's.
//
// Only cmd/docfetchd may import it; of ours it imports errs, logging, metrics, rpc
// and openapi with its parts. It must never hand out a document, or a page beyond
// an excerpt, nor say of an answer that it is fresher than it is.
//
// The attacks it stops: a site that replaces good documentation by bad for a moment
// (a refresh that cannot be read displaces nothing), that is asked without end by
// a caller in a loop (one fetch a page at a time, failures are remembered), or
// whose documents fill the memory (one index, excerpts, counted entries).
package docfetch
