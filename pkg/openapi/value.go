package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi/plain"
	"pfsensemcp/pkg/textsafe"
)

// SecretPrefix begins what stands for a default that looks like a secret.
const SecretPrefix = "secret, sha256 "

// shortHash is how many hex digits of a hash stand for a value: enough to tell
// two apart, too few to find a long one by.
const shortHash = 12

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:shortHash]
}

// canonical returns JSON text without blanks and with sorted members, so that two
// documents that differ in neither are equal here too.
func canonical(v jsontext.Value) string {
	v = v.Clone()
	if v.Compact(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.PreserveRawStrings(false)) != nil {
		return string(v) // it was read by the same decoder: not reached
	}
	return string(v)
}

// bounded returns a value of at most MaxValue bytes; a longer one keeps its
// beginning and ends in a hash of the whole, so that two still differ.
func bounded(s string) string {
	clean := plain.Line(s)
	if len(clean) <= MaxValue && clean == s {
		return s
	}
	suffix := " … sha256 " + digest(s)
	if len(clean) <= MaxValue-len(suffix) {
		return clean + suffix
	}
	head, _ := plain.Cut(clean, (MaxValue-len(suffix))/4)
	return head + suffix
}

// defaultOf returns what is kept of a field's default, given as canonical JSON.
// One that looks like a secret, by the field's name or by its own shape, is kept
// as a short hash: the appliance prints keys of its own as defaults. A word of the
// field's enumeration is no secret.
func defaultOf(field, text string, enum []string) string {
	switch text {
	case "", `""`, "null", "true", "false", "[]", "{}":
		return text
	}
	word := strings.Trim(text, `"`)
	if slices.Contains(enum, word) {
		return bounded(text)
	}
	plainText := text[0] == '"'
	scrubbed := false
	if plainText || text[0] == '[' || text[0] == '{' {
		_, scrubbed = textsafe.Scrub(word, true)
	}
	if scrubbed || plainText && (secretName(field) || blob(word)) {
		return SecretPrefix + digest(text)
	}
	return bounded(text)
}

// blob says whether a word looks drawn by lot: letters and digits in one long run.
func blob(word string) bool {
	if len(word) < 16 {
		return false
	}
	digits := 0
	for _, c := range []byte(word) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '+', c == '/', c == '=', c == '_', c == '-':
		default:
			return false
		}
	}
	return digits >= 4
}

// secretName says whether a field's name says that it holds a secret.
func secretName(field string) bool {
	f := strings.ToLower(field)
	for _, part := range [...]string{"passw", "passphrase", "secret", "token", "credential", "community", "private", "psk", "_key", "apikey", "api_key"} {
		if strings.Contains(f, part) {
			return true
		}
	}
	return f == "key" || f == "pass" || strings.HasSuffix(f, "_pass") || strings.HasSuffix(f, "prv")
}
