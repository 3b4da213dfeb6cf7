// Package screen owns the page that is shown to a person who is about to sign it.
//
// Only pkg/signer imports it. It must never shorten the text that is being approved;
// how that text is spelt out is textsafe/spelling's.
//
// The attack it stops: somebody else's text standing under a label of ours.
package screen

import (
	"fmt"
	"strings"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/textsafe"
)

// Plain returns s on one line with everything that is not printable escaped. It is
// cut with a mark when it is longer than most bytes.
func Plain(s string, most int) string { return textsafe.Clean(s, most) }

// label is the width of the first column.
const label = 14

// Page collects the lines of a review.
type Page struct{ b strings.Builder }

// Line adds a line of ours.
func (p *Page) Line(s string) { p.b.WriteString(s + "\n") }

// Row adds a label and its lines below one another.
func (p *Page) Row(name string, lines ...string) {
	for i, l := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(&p.b, "  %-*s%s\n", label, name, l)
	}
}

// Banner adds a line that must not be overlooked.
func (p *Page) Banner(s string) { p.Line("*** " + s + " ***") }

// String returns the page.
func (p *Page) String() string { return p.b.String() }

// Key names a public key: its id and the hash of its bytes.
func Key(id string, public []byte) string { return id + "  key SHA-256 " + canon.Hash(public) }
