package plain

import "strings"

// The host that links may lead to; see docfetch for what is ever fetched.
const (
	site     = "https://pfrest.org"
	siteRoot = site + "/"
)

// links replaces every address in s that does not lead to the documentation: an
// address with a scheme, one that begins with two slashes, and one that begins
// with "www.".
func links(s string) string {
	if !strings.Contains(s, "//") && !hasWWW(s) {
		return s
	}
	var b strings.Builder
	kept := 0 // all of s before it is in b
	for i := 0; i < len(s); {
		from := i
		switch {
		case strings.HasPrefix(s[i:], "//") && i+2 < len(s) && isHost(s[i+2]):
			for from > kept && (isScheme(s[from-1]) || s[from-1] == '/') {
				from--
			}
		case isWWW(s, i):
		default:
			i++
			continue
		}
		end := i + 2
		for end < len(s) && strings.IndexByte(" \"'<>`()[]{}|\\", s[end]) < 0 {
			end++
		}
		i = end
		if ours(s[from:end]) {
			continue
		}
		b.WriteString(s[kept:from])
		b.WriteString(Removed)
		kept = end
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// ours says whether an address leads to the documentation: the scheme and host
// byte for byte, and then a path, or the end of a sentence.
func ours(addr string) bool {
	if strings.HasPrefix(addr, siteRoot) {
		// A second address in the first one's path is not looked at again.
		return !strings.Contains(addr[len(siteRoot):], "//")
	}
	return strings.TrimRight(addr, ".,;:!?") == site
}

// isWWW says whether a name that begins with "www." begins at i.
func isWWW(s string, i int) bool {
	const www = "www."
	return len(s)-i > len(www) && strings.EqualFold(s[i:i+len(www)], www) && isHost(s[i+len(www)]) && (i == 0 || !isHost(s[i-1]))
}

func hasWWW(s string) bool {
	for i := 3; i < len(s); i++ {
		if s[i] == '.' && isWWW(s, i-3) {
			return true
		}
	}
	return false
}

// isHost says whether a byte may begin a host's name or address, or go on in it.
func isHost(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '[' || c == '-' || c >= 0x80
}

func isScheme(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.' || c == ':'
}
