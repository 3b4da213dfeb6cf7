//go:build pfsense_demo

package docfetch

import (
	"crypto/x509"
	"net/netip"

	"pfsensemcp/pkg/docfetch/internal/site"
)

// Loopback returns cfg for a documentation site that is played on a loopback
// address by a holder of a certificate of the given authorities. It exists in
// test builds alone; see site.Loopback.
func Loopback(cfg Config, at netip.AddrPort, roots *x509.CertPool) (Config, error) {
	place, err := site.Loopback(at, roots)
	cfg.place = place
	return cfg, err
}
