// Package reason owns what the words of the audit mean, in plain words, and what an
// operator does about each.
//
// Only the inner packages of pkg/opctl import it. It must have every word of
// executord's closed list (a test reads both) and repeat no other word unescaped.
//
// The attack it stops is one on patience: a denial that nobody understands is a
// denial that somebody works around.
package reason

import (
	"strings"

	"pfsensemcp/pkg/textsafe"
)

// maxWord bounds a word that is not in the list, in bytes.
const maxWord = 64

// Meaning is what a word says and what to do about it; Do is "" when that is
// nothing.
type Meaning struct{ Means, Do string }

// Of returns the meaning of a word, false for a word that this program does not know.
func Of(word string) (Meaning, bool) {
	for line := range strings.Lines(table) {
		w, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		if w == word {
			means, do, _ := strings.Cut(rest, " | ")
			return Meaning{Means: means, Do: do}, true
		}
	}
	return Meaning{}, false
}

// Line returns the word with its meaning on one line.
func Line(word string) string {
	if m, ok := Of(word); ok {
		return word + ": " + m.Means
	}
	return textsafe.Clean(word, maxWord) + ": a word that this mcpctl does not know"
}

// Words returns all words of the table, in its order.
func Words() []string {
	var all []string
	for line := range strings.Lines(table) {
		w, _, _ := strings.Cut(line, " | ")
		all = append(all, w)
	}
	return all
}
