// Package chip owns the wire to a TPM: connections with a deadline, the one kind
// of index that a counter is, the session that uses its secret, and what a TPM
// says of itself.
//
// Only package anchor imports it. It decides nothing about outcomes: it says what
// the TPM answered, and that an exchange has not returned. It must never give an
// increment to the TPM twice, never put the secret on the wire, never ask about an
// index that it was not told to look at, and never believe a Name that it did not
// compute.
//
// The attacks it stops: a listener on the TPM's bus or socket who wants the
// secret, somebody between us and the TPM who forges a value (every value carries
// an HMAC over the secret), and a TPM that hangs and takes the daemon along.
package chip
