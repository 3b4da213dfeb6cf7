// Package spelling owns how a text that somebody is to approve is spelt out: quoted,
// then every character beyond ASCII again as an escape with its script, then what a
// reader must be warned of.
//
// Any package may import it; it imports textsafe alone. It must never write a
// character that a terminal obeys or hides, nor shorten the text.
//
// The attacks it stops: text that moves the cursor, hides a line or forges one;
// text whose characters look like others; and text that reads differently on this
// screen than on the appliance.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pfsensemcp/pkg/textsafe"
)

// escaped is how many bytes one byte of text can become at most.
const escaped = 12

// Quoted returns s whole, escaped and in quotes.
func Quoted(s string) string {
	return `"` + strings.ReplaceAll(textsafe.Clean(s, escaped*len(s)), `"`, `\"`) + `"`
}

// Escapes returns s in quotes with every character outside ASCII as \u{hex}, "" when
// there is none.
func Escapes(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range split(s) {
		if r, _ := utf8.DecodeRuneInString(part); r >= utf8.RuneSelf && r != utf8.RuneError || part == "\uFFFD" {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteString(strings.ReplaceAll(textsafe.Clean(part, escaped*len(part)), `"`, `\"`))
	}
	return `"` + b.String() + `"`
}

// split returns the characters of s; a byte that is not UTF-8 stands alone.
func split(s string) []string {
	var parts []string
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		parts, s = append(parts, s[:n]), s[n:]
	}
	return parts
}

// Scripts returns a line for each script of the characters outside ASCII, with
// those characters as \u{hex}, in order.
func Scripts(s string) []string {
	by := map[string][]rune{}
	for _, r := range s {
		if name := Script(r); r >= utf8.RuneSelf && !slices.Contains(by[name], r) {
			by[name] = append(by[name], r)
		}
	}
	var lines []string
	for name, runes := range by {
		line := name + ":"
		for _, r := range runes {
			line += fmt.Sprintf(` \u{%x}`, r)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// Script returns the name of a character's script; Common and Inherited stand for
// those that several scripts share.
func Script(r rune) string {
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name // a character has one script
		}
	}
	return "no script"
}

// Mixed returns the scripts of the first word that has more than one, nil when there
// is none. Two scripts in one word are how one letter is passed off as another.
func Mixed(s string) []string {
	var in []string
	for _, r := range s + " " {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '_' {
			if len(in) > 1 {
				slices.Sort(in)
				return in
			}
			in = nil
			continue
		}
		if name := Script(r); name != "Common" && name != "Inherited" && !slices.Contains(in, name) {
			in = append(in, name)
		}
	}
	return nil
}

// width is how many columns of somebody else's text stand on a line. The terminal
// must never break such a line itself: blanks in the text could then put words of
// its choice under our labels. With the label it fits 80 columns.
const width = 60

// Wrap breaks a text that is escaped already into lines of at most 60 columns, and
// marks every line but the first. An escape is not broken.
func Wrap(s string) []string {
	const mark = "> "
	var lines []string
	line, columns := "", 0
	for len(s) > 0 {
		n, w := unit(s)
		if columns+w > width {
			lines, line, columns = append(lines, line), mark, len(mark)
		}
		line, s, columns = line+s[:n], s[n:], columns+w
	}
	return append(lines, line)
}

// unit returns the bytes and columns of what must stay together: an escape or a
// character. Beyond ASCII a character may take two columns.
func unit(s string) (bytes, columns int) {
	if s[0] == '\\' && len(s) > 1 {
		n := 2
		if len(s) > 2 && s[2] == '{' {
			n = strings.IndexByte(s, '}') + 1
		}
		if n > 0 && n <= escaped {
			return n, n
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return n, min(n, 2)
}

// Lines returns the lines that show a text to be approved: quoted, then in escapes
// with the scripts when it goes beyond ASCII, then the warnings.
func Lines(s string) []string {
	lines := Wrap(Quoted(s))
	if e := Escapes(s); e != "" {
		lines = append(lines, Wrap(e)...)
		for _, script := range Scripts(s) {
			lines = append(lines, Wrap("  "+script)...)
		}
	}
	if mixed := Mixed(s); mixed != nil {
		lines = append(lines, "WARNING: one word mixes scripts: "+strings.Join(mixed, ", "))
	}
	if hidden(s) {
		lines = append(lines, "WARNING: it holds characters that are not printable; they stand above as \\u{...}")
	}
	return lines
}

// hidden says whether the text has something that a person cannot see.
func hidden(s string) bool {
	for _, r := range s {
		if !textsafe.Printable(r) {
			return true
		}
	}
	return false
}
