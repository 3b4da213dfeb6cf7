package field

import (
	"slices"
	"strings"
)

// Each rule returns what a text breaks, or "".

// Token is the rule of an identifier: a letter or digit, then at most 127 of
// letters, digits and _ . : -
func Token(s string) string {
	ok := len(s) >= 1 && len(s) <= 128
	for i := range len(s) {
		c := s[i]
		ok = ok && (alnum(c) || i > 0 && strings.IndexByte("_.:-", c) >= 0)
	}
	if !ok {
		return "must be an identifier of 1 to 128 characters"
	}
	return ""
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Hex says whether s is n lower-case hexadecimal digits.
func Hex(s string, n int) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == n
}

// Hex64 is the rule of a digest.
func Hex64(s string) string {
	if !Hex(s, 64) {
		return "must be 64 hexadecimal digits"
	}
	return ""
}

// ID returns the rule of a random id: the prefix and 32 hexadecimal digits.
func ID(prefix string) func(string) string {
	return func(s string) string {
		if rest, ok := strings.CutPrefix(s, prefix); !ok || !Hex(rest, 32) {
			return "must be " + prefix + " and 32 hexadecimal digits"
		}
		return ""
	}
}

// oneOf returns the rule of a closed set of words.
func oneOf(words []string) func(string) string {
	return func(s string) string {
		if slices.Contains(words, s) {
			return ""
		}
		if len(words) == 1 {
			return "must be " + words[0]
		}
		return "must be one of " + strings.Join(words, ", ")
	}
}

// NVName is the rule of a TPM name: the algorithm SHA-256 and a hash.
func NVName(s string) string {
	if rest, ok := strings.CutPrefix(s, "000b"); !ok || !Hex(rest, 64) {
		return "must be 000b and 64 hexadecimal digits"
	}
	return ""
}

// BuildID is the rule of the name of an executable.
func BuildID(s string) string {
	if rest, ok := strings.CutPrefix(s, "sha256:"); !ok || !Hex(rest, 64) {
		return "must be sha256: and 64 hexadecimal digits"
	}
	return ""
}

// Any is the rule of a text whose normal form and length alone count.
func Any(string) string { return "" }
