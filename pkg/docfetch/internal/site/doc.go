// Package site owns the documentation site as docfetchd may see it: ten addresses,
// and the one way in which they are fetched. Only docfetch can import it; of ours
// it imports errs, in test builds.
//
// It must never let a text of a caller become part of an address, send a
// credential, a cookie or a header that somebody else chose, or hand out a page
// that was not read to its end.
//
// The attacks it stops: the one process with the internet made to fetch something
// else, or the internal network (addresses are constants, only public ones are
// connected to, a redirect stays among the constants); a site, or somebody on the
// way to it, that fills the memory or never ends (bounds and deadlines); a proxy or
// an authority that the environment names.
//
// A page's ETag is not kept and never sent back: it would be a cookie.
package site
