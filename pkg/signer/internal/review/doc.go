// Package review owns the judgement of a carried file: whether it is what a pinned
// executor made, what the person is shown of it, and what exactly is signed when the
// person approves.
//
// Only pkg/signer imports it. It has no terminal, file or key: it turns bytes, pins
// and a time into a page and a promise. It must never show a value that it did not
// verify or recompute, nor promise a signature over anything that is not on the page.
//
// The attacks it stops: a file that says one thing and binds another; a file of
// another executor, store, counter, appliance or set of owners; a laboratory's or a
// test build's file that looks like production's; and a statement that the
// observation under it contradicts.
package review

import (
	"crypto/ed25519"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/signer/internal/screen"
	"pfsensemcp/pkg/signer/internal/vault"
)

// Context is who reviews, by which pins, and when.
type Context struct {
	Pins   *authority.Pins
	Owner  authority.Owner   // of the key that signs
	Public ed25519.PublicKey // its public half
	Now    time.Time         // in whole seconds
}

// Job is a reviewed file that waits for the word.
type Job struct {
	Pin     *authority.Pin
	Page    *screen.Page
	Subject string // what is never signed twice under one role
	ID      string // of what is signed
	Next    string // what the carrier does with the result
	// Sign builds the artifact at the moment of approval, unsigned. It looks at the
	// clock again: a review may take long.
	Sign func(now time.Time) (artifact.Signed, error)
}

// self returns the name under which an executor's pin knows the key that signs.
func (c Context) self(pin *authority.Pin) (string, error) {
	for _, k := range pin.Authorities.Of(c.Owner) {
		if k.Public.Equal(c.Public) {
			return k.ID, nil
		}
	}
	return "", vault.Refuse("the key here is not the one that is pinned for the "+string(c.Owner)+" owner",
		"have the executor's authorities file and the pins file corrected, or restore the right key")
}

// fingerprint names a public key on the screen.
func fingerprint(k authority.Key) string { return screen.Key(k.ID, k.Public) }
