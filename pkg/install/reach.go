package install

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/peek"
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

// reachWitness adds the addresses that a unit needs for the witness host.
func (h *Host) reachWitness(ctx context.Context, o Options, addrs []netip.Addr) ([]netip.Addr, error) {
	t, err := peek.Parse(o.TPM)
	if err != nil {
		return nil, err
	}
	more, err := t.Addresses(ctx, h.Lookup)
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the witness host's name has no address, or more than 16").WithClass("connection").
			WithNext("give the witness host by an address that stands in its certificate, or put its name into /etc/hosts")
	}
	addrs = slices.Concat(addrs, more)
	if t.IsName() {
		addrs = append(addrs, h.resolvers()...)
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs), nil
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
