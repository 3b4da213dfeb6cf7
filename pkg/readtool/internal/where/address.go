package where

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/readtool/internal/row"
)

// endpoint is an address text taken apart: host, network, or host with port.
type endpoint struct {
	ip   netip.Addr // invalid for a port alone
	bits int        // of a network, or -1
	port int        // 0 for none
}

// parseEndpoint reads the forms the appliance writes: 192.0.2.1, 192.0.2.0/24,
// 192.0.2.1:443, 2001:db8::1[443], [2001:db8::1]:443, and IPsec's
// 192.0.2.0/24|/0. Everything else (any, LAN, an alias) is no address.
func parseEndpoint(s string) (endpoint, bool) {
	s, _, _ = strings.Cut(s, "|")
	if ip, err := netip.ParseAddr(s); err == nil {
		return endpoint{ip: ip.Unmap(), bits: -1}, true
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		return endpoint{ip: p.Masked().Addr(), bits: p.Bits()}, true
	}
	host, port := s, ""
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return endpoint{}, false
		}
		host, port = s[1:end], s[end+1:]
		if port != "" && !strings.HasPrefix(port, ":") {
			return endpoint{}, false
		}
		port = strings.TrimPrefix(port, ":")
		if port == "" && end != len(s)-1 {
			return endpoint{}, false
		}
	case strings.HasSuffix(s, "]"):
		open := strings.IndexByte(s, '[')
		if open < 0 {
			return endpoint{}, false
		}
		host, port = s[:open], s[open+1:len(s)-1]
	case strings.Count(s, ":") == 1:
		host, port, _ = strings.Cut(s, ":")
	default:
		return endpoint{}, false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return endpoint{}, false
	}
	e := endpoint{ip: ip.Unmap(), bits: -1}
	if port != "" || !strings.HasPrefix(s, "[") {
		if e.port = parsePort(port); e.port == 0 {
			return endpoint{}, false
		}
	}
	return e, true
}

// parsePort returns 1..65535, or 0 for what is no port.
func parsePort(s string) int {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || s[0] == '0' || s[0] == '+' {
		return 0
	}
	return int(n)
}

// address builds = and != on a field of addresses. A host matches that host
// whatever port stands with it; a network matches what lies inside; :443 matches
// the port alone; a MAC address matches however it is written; a value that is
// no address compares as text.
func address(name, op, value string) (func(row.Value) bool, *errs.Error) {
	want, isAddr := parseEndpoint(value)
	if !isAddr && len(value) > 1 && value[0] == ':' {
		if p := parsePort(value[1:]); p != 0 {
			want, isAddr = endpoint{bits: -1, port: p}, true
		}
	}
	if host, _, network := strings.Cut(value, "/"); network && !isAddr {
		if _, err := netip.ParseAddr(host); err == nil {
			return nil, invalid("the number of bits after / does not fit the address", `example: "`+name+` = 192.0.2.0/24"`)
		}
	}
	mac, isMAC := parseMAC(value)
	return func(v row.Value) bool {
		if v.Null {
			return false
		}
		hit := v.Text == value
		switch {
		case hit:
		case isAddr:
			got, ok := parseEndpoint(v.Text)
			hit = ok && want.covers(got)
		case isMAC:
			got, ok := parseMAC(v.Text)
			hit = ok && got == mac
		}
		return hit == (op == "=")
	}, nil
}

// parseMAC reads 00:11:22:aa:bb:cc, 00-11-22-AA-BB-CC and 0011.22aa.bbcc as the
// same six bytes: people copy them from labels, switches and other systems. Twelve
// digits alone may be anything.
func parseMAC(s string) (mac [6]byte, ok bool) {
	b, err := net.ParseMAC(s)
	if err != nil || len(b) != len(mac) || len(s) == 2*len(mac) {
		return mac, false
	}
	return [6]byte(b), true
}

// covers says whether got is what w asks for.
func (w endpoint) covers(got endpoint) bool {
	if w.port != 0 && w.port != got.port {
		return false
	}
	if !w.ip.IsValid() {
		return true
	}
	ip := got.ip
	if w.ip.Zone() == "" {
		ip = ip.WithZone("")
	}
	if w.bits < 0 {
		return w.ip == ip && (got.bits < 0 || got.bits == ip.BitLen())
	}
	return (got.bits < 0 || got.bits >= w.bits) && netip.PrefixFrom(w.ip, w.bits).Contains(ip)
}
