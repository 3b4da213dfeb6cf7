package change

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/textsafe"
)

// MaxLocator is the largest position of an alias on the appliance.
const MaxLocator = 1<<31 - 1

// maxEntries bounds the members of one alias in a file; a preparation refuses far
// fewer, so that two copies fit one canonical document.
const maxEntries = canon.MaxItems

// AliasName says whether s can name an alias: 1 to 32 letters, digits and _, the
// first a letter or digit. Such a name is in NFC.
func AliasName(s string) bool { return aliasName(s) == "" }

func aliasName(s string) string {
	ok := len(s) >= 1 && len(s) <= 32 && s[0] != '_'
	for i := range len(s) {
		c := s[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	if !ok {
		return "must be an alias name of 1 to 32 letters, digits and underscores"
	}
	return ""
}

// Charset is the policy for new descriptions.
type Charset string

// The policies. Stored takes what the appliance keeps as it was sent; Printable is
// the default and takes, of that, what a person can see.
const (
	Printable Charset = "printable"
	Stored    Charset = "stored"
)

// MaxDescription bounds a description, in bytes after normalisation: the appliance
// counts bytes.
const MaxDescription = 1024

// maxMarks is how many combining marks may follow one another.
const maxMarks = 2

// Description returns s in NFC if it may be stored under the policy. The Fault
// says which rule it breaks.
func Description(s string, policy Charset) (string, error) {
	if !utf8.ValidString(s) || len(s) > 4*MaxDescription {
		return "", field.Refuse(field.Structure, "description", "must be UTF-8 of at most 1024 bytes")
	}
	s = norm.NFC.String(s)
	rule := storable(s)
	if rule == "" && policy != Stored {
		rule = printable(s)
	}
	if rule != "" {
		return "", field.Refuse(field.Structure, "description", rule)
	}
	return s, nil
}

// storable is the rule for text that the appliance stores as it is sent. Some of
// what it refuses makes the appliance lose its configuration file.
func storable(s string) string {
	switch {
	case len(s) > MaxDescription:
		return "must be at most 1024 bytes"
	case s != "" && strings.Trim(s, " \t\r\n") == "":
		return "must not be blanks alone"
	case strings.Trim(s, "\r\n") != s:
		return "must not begin or end with a line end"
	}
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return "must not hold a character that XML does not have"
		}
	}
	return ""
}

// printable is the rule of the default policy: letters, marks, numbers,
// punctuation, symbols and the blank, of one Unicode version; nothing invisible,
// and at most two combining marks in a row.
func printable(s string) string {
	marks := 0
	for _, r := range s {
		if !textsafe.Printable(r) {
			return "must hold printable characters alone"
		}
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > maxMarks {
			return "must not stack more than two combining marks"
		}
	}
	return ""
}
