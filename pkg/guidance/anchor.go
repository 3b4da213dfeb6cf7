package guidance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

// Digest returns the SHA-256 of a text, 64 lower-case hexadecimal digits.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Words splits a text into its words, lower case: runs of letters and digits.
// Blanks, punctuation, marks and arrows between them do not count, so that a
// page that was only typeset anew still holds its phrases.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// Anchor returns the word count and the digest under which a phrase of a page
// is kept: enough to find it again on the page, and none of the page's text.
func Anchor(phrase string) (words int, hash string) {
	w := Words(phrase)
	return len(w), Digest(strings.Join(w, " "))
}

// Holds says whether a page's words hold the phrase of an anchor.
func Holds(page []string, words int, hash string) bool {
	if words < 1 {
		return false
	}
	for i := 0; i+words <= len(page); i++ {
		if Digest(strings.Join(page[i:i+words], " ")) == hash {
			return true
		}
	}
	return false
}
