package install

import (
	"net/netip"
	"os"
	"slices"
	"strings"

	"pfsensemcp/pkg/install/internal/place"
)

// resolvers reads the addresses of name servers from /etc/resolv.conf; what is no
// address is not one.
func (h *Host) resolvers() []netip.Addr {
	b, err := os.ReadFile(h.Root + "/etc/resolv.conf")
	if err != nil || len(b) > place.MaxFile {
		return nil
	}
	var out []netip.Addr
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil && len(out) < 3 { // the C library takes three
			out = append(out, a.WithZone(""))
		}
	}
	return out
}

// reach are the addresses that a unit needs for the appliance.
func (h *Host) reach(s *Seen) []netip.Addr {
	addrs := slices.Clone(s.Addrs)
	if s.IsName() {
		addrs = append(addrs, h.resolvers()...)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs)
}
