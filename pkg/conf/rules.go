package conf

import "pfsensemcp/pkg/conf/internal/check"

const (
	// MaxSocketPath is the longest socket path in bytes.
	MaxSocketPath = check.MaxSocketPath
	// MaxIdentity is the longest upstream identity in characters.
	MaxIdentity = check.MaxIdentity
)

// HTTPSURL checks the base URL of an appliance: https, a host, perhaps a port, and
// nothing else. It returns it in one spelling, in small letters, without the
// default port, IPv6 in brackets. Its check tag is https_url.
func HTTPSURL(s string) (string, error) { return check.HTTPSURL(s) }
