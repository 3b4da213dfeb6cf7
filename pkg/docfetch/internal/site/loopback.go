//go:build pfsense_demo

package site

import (
	"crypto/x509"
	"net/netip"

	"pfsensemcp/pkg/errs"
)

// Loopback returns the place of a documentation site that is played on this
// machine, by somebody who holds a certificate of the given authorities for the
// site's name. It exists in test builds alone. The addresses that are fetched
// stay the same constants; only where the connection goes changes, and it goes
// to a loopback address or nowhere.
func Loopback(at netip.AddrPort, roots *x509.CertPool) (Place, error) {
	if !at.IsValid() || !at.Addr().IsLoopback() || roots == nil {
		return Place{}, errs.New(errs.Invalid, "a test build plays the documentation site on a loopback address, with an authority of its own")
	}
	return Place{dialer{at: at, roots: roots}}, nil
}
