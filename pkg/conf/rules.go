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

// Identity checks the name of the upstream identity, 1 to MaxIdentity characters
// without control, format and separator characters, and returns it trimmed. Its
// check tag is identity.
func Identity(s string) (string, error) { return check.Identity(s) }

// AbsPath checks the path of a file and returns it clean; a leading "~/" becomes
// home, "" when it is not known. Its check tag is path.
func AbsPath(s, home string) (string, error) { return check.AbsPath(s, home) }

// SocketPath checks the path of a Unix socket: absolute, at most MaxSocketPath
// bytes. Its check tag is socket_path.
func SocketPath(s string) (string, error) { return check.SocketPath(s) }

// SocketDir checks the directory of the suite's sockets: with the longest of them
// the path must still fit. Its check tag is socket_dir.
func SocketDir(s string) (string, error) { return check.SocketDir(s) }
