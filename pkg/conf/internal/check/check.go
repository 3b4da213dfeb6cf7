// Package check owns the rules of single settings and the names in messages about
// them. Only conf may import it; it imports none of ours but errs. It must never read
// a file or the environment, nor put the value that broke a rule into an error.
//
// The attacks it stops are conf's: an appliance URL that a person reads as one host
// and a library dials as another, a path that names another file than it seems to,
// and a name of outside text that forges a line of a message.
package check

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pfsensemcp/pkg/errs"
)

const (
	// MaxSocketPath is the longest socket path in bytes. The kernel takes 107;
	// the rest is room for a name that systemd or a test puts around it.
	MaxSocketPath = 100
	// longestSocket is the longest path of ours below a socket directory.
	longestSocket = len("/mcpd-admin/mcpd-admin.sock")
	// MaxIdentity is the longest upstream identity in characters.
	MaxIdentity = 128
	// maxPath is the longest path of a file in bytes, as the kernel has it.
	maxPath = 4096
)

// Func checks a text and returns it in its normal form. Its error is an
// *errs.Error whose message is the rule, without the value.
type Func func(s, home string) (string, error)

// ByName returns the rule that a check tag names, nil when there is none.
func ByName(name string) Func {
	switch name {
	case "https_url":
		return func(s, _ string) (string, error) { return HTTPSURL(s) }
	case "identity":
		return func(s, _ string) (string, error) { return Identity(s) }
	case "socket_path":
		return func(s, _ string) (string, error) { return SocketPath(s) }
	case "socket_dir":
		return func(s, _ string) (string, error) { return SocketDir(s) }
	case "path":
		return AbsPath
	}
	return nil
}

func broken(rule string) error {
	return errs.New(errs.Invalid, rule).WithClass("configuration")
}

// HTTPSURL checks the base URL of an appliance: https, a host, perhaps a port,
// and nothing else. It returns scheme, host and port in one spelling, in small
// letters, without the default port, IPv6 in brackets.
func HTTPSURL(s string) (string, error) {
	if s == "" || len(s) > 2048 {
		return "", broken("must be a URL such as https://firewall.example")
	}
	for i := range len(s) {
		// ASCII alone: a name in another script is written in its xn-- form, so
		// that what an operator reads is what is dialled.
		if s[i] <= ' ' || s[i] >= 0x7f {
			return "", broken("must be a URL without blanks, control characters or characters outside ASCII")
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return "", broken("must be a URL such as https://firewall.example")
	}
	switch {
	case u.Scheme != "https":
		return "", broken("must begin with https://")
	case strings.Contains(s, "@"):
		return "", broken("must not hold user information")
	case strings.ContainsAny(s, "?#"):
		return "", broken("must have neither query nor fragment")
	case u.Path != "" && u.Path != "/" || u.RawPath != "" || strings.Contains(s, `\`):
		return "", broken("must have no path")
	}
	host, rule := hostName(u.Hostname(), strings.HasPrefix(u.Host, "["))
	if rule != "" {
		return "", broken(rule)
	}
	port := u.Port()
	if port == "" && strings.HasSuffix(u.Host, ":") {
		return "", broken("must have a port from 1 to 65535 after the colon")
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return "", broken("must have a port from 1 to 65535 after the colon")
		}
		if n != 443 {
			host += ":" + strconv.FormatUint(n, 10)
		}
	}
	return "https://" + host, nil
}

// hostName checks a host as it stands in a URL and returns its normal form.
func hostName(h string, bracketed bool) (host, rule string) {
	if h == "" {
		return "", "must have a host"
	}
	if a, err := netip.ParseAddr(h); err == nil {
		if a.Is4() != !bracketed {
			return "", "must have an IPv6 address in brackets"
		}
		if a.Is4() {
			return a.String(), ""
		}
		zone := a.Zone()
		if zone != "" && !labelBytes(zone, "._-") {
			return "", "must have a plain zone in its IPv6 address"
		}
		text := a.WithZone("").String()
		if zone != "" {
			text += "%25" + zone
		}
		return "[" + text + "]", ""
	}
	const bad = "must have a host name or an address"
	if bracketed || len(h) > 253 {
		return "", bad
	}
	h = strings.ToLower(h)
	name := strings.TrimSuffix(h, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	// A last label of digits makes some resolvers read the name as an address in
	// another notation (127.1, 0x7f000001).
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", bad
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || !labelBytes(label, "-_") {
			return "", bad
		}
	}
	return h, ""
}

// labelBytes says whether s has only letters, digits and the extra bytes.
func labelBytes(s, extra string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(extra, c) >= 0) {
			return false
		}
	}
	return s != ""
}

// Identity checks the name of the upstream identity, which stands in audit lines,
// and returns it without blanks at its ends.
func Identity(s string) (string, error) {
	s = strings.TrimSpace(s)
	if n := utf8.RuneCountInString(s); !utf8.ValidString(s) || n < 1 || n > MaxIdentity {
		return "", broken("must have 1 to 128 characters of UTF-8")
	}
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return "", broken("must have no control, format or separator characters")
		}
	}
	return s, nil
}

// AbsPath checks a path of a file and returns it clean. A leading "~/" becomes
// home, which may be "" when it is not known.
func AbsPath(s, home string) (string, error) {
	if rest, ok := strings.CutPrefix(s, "~"); ok {
		if !strings.HasPrefix(rest, "/") || !strings.HasPrefix(home, "/") {
			return "", broken("must be an absolute path, or begin with ~/ where HOME is set")
		}
		s = home + rest
	}
	switch {
	case !strings.HasPrefix(s, "/"):
		return "", broken("must be an absolute path")
	case len(s) > maxPath:
		return "", broken("must be a path of at most 4096 bytes")
	case strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s):
		return "", broken("must be a path without control characters")
	case strings.Contains(s+"/", "/../"):
		// Cleaning it would name another file than the kernel does when a
		// directory before it is a symlink.
		return "", broken("must be a path without ..")
	}
	return path.Clean(s), nil
}

// SocketPath checks the path of a Unix socket: absolute, at most MaxSocketPath
// bytes.
func SocketPath(s string) (string, error) {
	p, err := AbsPath(s, "")
	if err != nil {
		return "", err
	}
	if p == "/" || strings.HasSuffix(s, "/") {
		return "", broken("must be the path of a socket, not of a directory")
	}
	if len(p) > MaxSocketPath {
		return "", broken("must be a path of at most 100 bytes")
	}
	return p, nil
}

// SocketDir checks the directory below which the suite keeps its sockets: with
// the longest of them the path must still fit.
func SocketDir(s string) (string, error) {
	p, err := AbsPath(s, "")
	if err != nil {
		return "", err
	}
	if len(p)+longestSocket > MaxSocketPath {
		return "", broken("must be a path of at most " + strconv.Itoa(MaxSocketPath-longestSocket) + " bytes")
	}
	return p, nil
}
