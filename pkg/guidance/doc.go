// Package guidance owns what guidanced knows: the registry of the vendor's
// documentation pages with this project's own text about each, the judgement
// whether an entry fits the appliance that was observed, and how to read the
// answer of each READ tool. It serves both over gRPC.
//
// guidanced alone links it; the maintainers' audit under test/ reads its data.
// It opens no file, no socket and no environment variable, keeps no state
// between two calls and reads no clock: an answer is a pure function of the
// request and of the data compiled in.
//
// What it serves is reading matter. It must never become a grant, a gate or an
// input to a decision, and no type here has a field for a capability object, an
// endpoint, a verb or a token: a capability is a name that is echoed.
//
// The attacks it stops: documentation that is taken for permission; text that
// was changed after it was reviewed, as every text is pinned by its digest; and
// a page reference that leads anywhere but to the vendor's documentation.
package guidance
