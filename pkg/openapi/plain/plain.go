// Package plain owns how markup of an outsider becomes plain text: descriptions
// of an OpenAPI document and pages of a documentation site.
//
// openapi and docfetch import it; of ours it imports textsafe alone. It must never
// render anything or follow any part of the text: what comes out is text of
// an outsider still, and must be shown as such.
//
// The attacks it stops: text of scripts, styles and comments, which no reader of
// the page sees, reaching a model as if the page said it; code points that a
// reader cannot see; a link that sends a reader, or a model that opens links,
// away from the documentation.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"pfsensemcp/pkg/textsafe"
)

// Removed stands where a link to somewhere else was.
const Removed = "[link removed]"

// breaks are the tags that pfREST's descriptions are made of. Nearly all texts
// hold no others, and need no tokenizer.
var breaks = [...]string{"<br>", "<br/>", "<br />", "<h3>", "</h3>"}

// Lines returns the text of a fragment of markup, a line for each block or line
// break of it, without empty lines. What is no markup stays as it is.
func Lines(s string) []string {
	s = strings.ReplaceAll(s, "\x00", " ")
	for _, tag := range breaks {
		s = strings.ReplaceAll(s, tag, "\x00")
	}
	// A line end of the source is a blank, as in HTML; only tags break lines.
	switch {
	case strings.IndexByte(s, '<') >= 0:
		s = stripped(s)
	case strings.IndexByte(s, '&') >= 0:
		s = html.UnescapeString(s)
	}
	var lines []string
	for line := range strings.SplitSeq(s, "\x00") {
		if line = Line(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Text returns the text of a fragment of markup as one line.
func Text(s string) string { return strings.Join(Lines(s), " ") }

// Line returns s as one line of printable text: runs of blanks and line ends
// become one blank, what cannot be seen is dropped, and links that do not lead
// to the documentation are removed. It takes no account of markup.
func Line(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			// Bytes that are no text, or the sign that stands for them.
		case unicode.IsSpace(r):
			blank = b.Len() > 0
		case textsafe.Printable(r):
			if blank {
				b.WriteByte(' ')
				blank = false
			}
			b.WriteRune(r)
		}
	}
	return links(b.String())
}

// clean says whether Line would change nothing, for the common case.
func clean(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && before == ' ' || c == '/' && before == '/' || c == '.' && before|0x20 == 'w' {
			return false
		}
		before = c
	}
	return len(s) == 0 || before != ' '
}

// Cut returns at most max characters of s, ended between two words where one
// begins in the last quarter, and how many characters it left out.
func Cut(s string, max int) (text string, left int) {
	if len(s) <= max {
		return s, 0
	}
	n := utf8.RuneCountInString(s)
	if n <= max {
		return s, 0
	}
	end, blank, i := len(s), -1, 0
	for at, r := range s {
		if i == max {
			end = at
			break
		}
		if r == ' ' && i >= max*3/4 {
			blank = at
		}
		i++
	}
	if s[end] != ' ' && blank >= 0 {
		end = blank
	}
	text = strings.TrimRight(s[:end], " ")
	return text, n - utf8.RuneCountInString(text)
}
