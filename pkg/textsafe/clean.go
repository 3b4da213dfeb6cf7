package textsafe

import (
	"unicode"
	"unicode/utf8"
)

// CutMark ends a text that Clean cut. No cleaned text holds it otherwise, because
// every backslash of the original is doubled.
const CutMark = `\{cut}`

// maxMarks is how many combining marks may follow one another: more are stacked
// over the lines around, and no living script needs them.
const maxMarks = 2

// Printable says whether a code point is shown as it is: letters, marks, numbers,
// punctuation, symbols and the blank; none of them default-ignorable, none of
// them the blank Braille pattern. It follows one version of Unicode, that of the
// standard library, in all its parts.
func Printable(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r < 0x7f
	}
	// IsPrint takes L, M, N, P, S alone, so every Cc, Cf, Cs, Co, Cn, Zl, Zp and
	// every blank but U+0020 is out already. Default_Ignorable_Code_Point is Cf
	// with these two, as far as what is left of it goes.
	return unicode.IsPrint(r) && r != '\u2800' &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r)
}

// Clean returns s as one line of printable text of at most max bytes. What is not
// printable becomes \n, \r, \t or \u{hex}, a byte that is not UTF-8 \x{hex}, the
// third and later of combining marks in a row \u{hex} as well, and a backslash
// two. So two different texts never look alike by an escape. A longer text is cut
// between two characters and ends in CutMark, whatever max is.
func Clean(s string, max int) string {
	if len(s) <= max {
		i := 0
		for i < len(s) && s[i] >= ' ' && s[i] < 0x7f && s[i] != '\\' {
			i++
		}
		if i == len(s) {
			return s
		}
	}
	return clean(s, max)
}

// clean is Clean for a text that is not short plain ASCII.
func clean(s string, max int) string {
	var b []byte // nil as long as the result is s itself
	size := 0    // bytes of the result so far
	fits := 0    // bytes of the result, and where in s they end, up to which
	from := 0    // the mark would still fit behind
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1
		if r >= utf8.RuneSelf && unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		var esc [12]byte
		e := esc[:0]
		switch {
		case bad:
			e = appendHex(append(e, `\x{`...), rune(s[i]))
		case r == '\\':
			e = append(e, `\\`...)
		case r == '\n':
			e = append(e, `\n`...)
		case r == '\r':
			e = append(e, `\r`...)
		case r == '\t':
			e = append(e, `\t`...)
		case marks > maxMarks || !Printable(r):
			e = appendHex(append(e, `\u{`...), r)
		}
		grow := n
		if len(e) > 0 {
			grow = len(e)
		}
		if size+grow > max {
			return cut(s, b, from, fits)
		}
		switch {
		case len(e) > 0:
			if b == nil {
				b = append(make([]byte, 0, len(s)+len(s)/4+16), s[:i]...)
			}
			b = append(b, e...)
		case b != nil:
			b = append(b, s[i:i+n]...)
		}
		size, i = size+grow, i+n
		if size+len(CutMark) <= max {
			fits, from = size, i
		}
	}
	if b == nil {
		return s
	}
	return string(b)
}

// cut returns the part of the result that leaves room for the mark, and the mark.
// Without escapes so far, the result is s itself.
func cut(s string, b []byte, from, fits int) string {
	if b == nil {
		return s[:from] + CutMark
	}
	return string(append(b[:fits], CutMark...))
}

// appendHex appends a code point in small hexadecimal digits and the brace.
func appendHex(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	shift := 4
	for r>>shift > 0xf {
		shift += 4
	}
	for ; shift >= 0; shift -= 4 {
		b = append(b, digits[r>>shift&0xf])
	}
	return append(b, '}')
}
