package textsafe

import (
	"strings"
	"unicode/utf8"
)

// value takes out the secret that follows the word s[from:end], if one does, and
// returns where to go on.
func (sc *scan) value(from, end int, u use, option bool) int {
	s := sc.s
	// around is the quote that the word stands in, 0 without one; a word that is
	// quoted alone, as in JSON, leaves its quotes here.
	around := byte(0)
	if from > 0 && isQuote(s[from-1]) {
		around = s[from-1]
	}
	p := end
	if q := sc.quoteAt(p); around != 0 && q > 0 && s[p+q-1] == around {
		p += q
		around = 0
	}
	if from > 0 && s[from-1] == '<' && p < len(s) && s[p] == '>' {
		return sc.element(p + 1)
	}
	sep := sc.blanks(p)
	n := sc.sign(sep)
	switch {
	case u == bearer:
		return sc.bearerToken(p, sep, end)
	case n > 0 && u&(assigned|header) != 0:
		for p = sep; n > 0 || p < len(s) && s[p] == '>'; n = sc.sign(p) {
			p += max(n, 1)
		}
		p, _ = sc.lead(sc.blanks(p))
	case sep > p && u&bare != 0:
		said := false
		if p, said = sc.lead(sep); !said && !sc.strict && !option && isIdle(sc.wordAt(p)) {
			if p = sc.purpose(p); p < 0 {
				return end
			}
		}
	case sep > p && u&quoted != 0 && sc.quoteAt(sep) > 0:
		p = sep
	default:
		return end
	}
	return sc.text(p, end, from, around, u, option)
}

// maxLead is how many signs and words may stand between a word and its secret.
const maxLead = 4

// lead returns where the secret begins behind what people write in front of it:
// "password - X", "password is: X", "password (admin): X". said is true when one
// of them says that what follows is the secret and no prose. A sign with nothing
// behind it is the secret itself.
func (sc *scan) lead(p int) (at int, said bool) {
	for range maxLead {
		w := sc.wordAt(p)
		next := 0
		switch strings.ToLower(strings.TrimRight(w, ":=")) {
		case "is", "ist", "lautet":
			said, next = true, len(w)
		case "", "-", "->", "=>", "–", "—", "→":
			next = len(w)
		default:
			if next = strings.IndexByte(sc.s[p:min(sc.lineEnd(p), p+maxWord)], ')') + 1; next == 0 || w[0] != '(' {
				return p, said
			}
			sign := sc.blanks(p + next)
			if sc.sign(sign) == 0 { // "password (Bitwarden)"
				return p, said
			}
			said, next = true, sign+sc.sign(sign)-p
		}
		q := sc.blanks(p + next)
		if next == 0 || q == p+next || q >= len(sc.s) || sc.s[q] == '\n' || sc.s[q] == '\r' {
			return p, said
		}
		p = q
	}
	return p, said
}

// purpose returns where the secret begins behind "for the switch:" at p, -1 when
// there is no such thing.
func (sc *scan) purpose(p int) int {
	switch strings.ToLower(sc.wordAt(p)) {
	case "for", "of", "on", "to":
	default:
		return -1
	}
	line := sc.s[p:min(sc.lineEnd(p), p+maxWord)]
	if n := strings.Index(line, ": "); n >= 0 {
		return sc.blanks(p + n + 1)
	}
	return -1
}

// sign returns the length of the sign of an assignment at p, 0 for none.
func (sc *scan) sign(p int) int {
	switch {
	case p >= len(sc.s):
	case sc.s[p] == '=' || sc.s[p] == ':':
		return 1
	case strings.HasPrefix(sc.s[p:], "：") || strings.HasPrefix(sc.s[p:], "＝"):
		return len("：")
	}
	return 0
}

// text takes out the value that begins at p.
func (sc *scan) text(p, end, from int, around byte, u use, option bool) int {
	s := sc.s
	if p >= len(s) || s[p] == '\n' || s[p] == '\r' {
		return end
	}
	eol := sc.lineEnd(p)
	if q := sc.quoteAt(p); q > 0 {
		if around != 0 && q == 1 && s[p] == around {
			return p + 1 // the end of what the word stands in
		}
		p += q
		to := closing(s[p:eol], s[p-q:p])
		sc.mask(p, p+to)
		return p + to
	}
	to, inside := eol, -1
	if around != 0 {
		// Linear: whoever asks this again stands behind a later such quote.
		inside = strings.IndexByte(s[p:eol], around)
	}
	if inside >= 0 {
		to = p + inside
	} else if u&header == 0 && !(sc.strict && !option) {
		to = p
		query := from > 0 && (s[from-1] == '?' || s[from-1] == '&')
		for to < eol && s[to] > ' ' && !(query && (s[to] == '&' || s[to] == '#')) {
			to++
		}
	}
	for to > p && (s[to-1] == ' ' || s[to-1] == '\t') {
		to--
	}
	sc.mask(p, to)
	return to
}

// element takes out the content of an element such as <password>…</password>,
// which may go over many lines, from p to its end tag or to the end of the text.
func (sc *scan) element(p int) int {
	to := len(sc.s)
	if n := strings.Index(sc.s[p:], "</"); n >= 0 {
		to = p + n
	}
	from := p
	for from < to && isSpace(sc.s[from]) {
		from++
	}
	for to > from && isSpace(sc.s[to-1]) {
		to--
	}
	sc.mask(from, to)
	return max(to, p)
}

// bearerToken takes out a token behind the word bearer: one that is long, or that
// holds a digit. "The bearer of news" has none.
func (sc *scan) bearerToken(p, sep, end int) int {
	s := sc.s
	to, digit := sep, false
	for to < len(s) && (isWord(s[to]) || strings.IndexByte("~+/=", s[to]) >= 0) {
		digit = digit || s[to] >= '0' && s[to] <= '9'
		to++
	}
	if sep == p || to-sep < 8 || !digit && to-sep < 20 {
		return end
	}
	sc.mask(sep, to)
	return to
}

// blanks returns the end of the blanks at p, and of what is not seen: nobody who
// reads "password: X" knows that a no-break space or a byte order mark is in it.
func (sc *scan) blanks(p int) int {
	for p < len(sc.s) {
		switch c := sc.s[p]; {
		case c == ' ' || c == '\t':
			p++
		case c < utf8.RuneSelf:
			return p
		default:
			r, n := utf8.DecodeRuneInString(sc.s[p:])
			if n == 1 || Printable(r) {
				return p
			}
			p += n
		}
	}
	return p
}

// wordAt returns the text from p to the next blank, 32 bytes of it at most.
func (sc *scan) wordAt(p int) string {
	w := sc.s[p:min(len(sc.s), p+32)]
	if n := strings.IndexAny(w, " \t\r\n"); n >= 0 {
		w = w[:n]
	}
	return w
}

// lineEnd returns the end of the line that p is in. The last one is kept: a long
// line with many words in it is measured once.
func (sc *scan) lineEnd(p int) int {
	if p >= sc.eol {
		sc.eol = len(sc.s)
		if n := strings.IndexAny(sc.s[p:], "\r\n"); n >= 0 {
			sc.eol = p + n
		}
	}
	return sc.eol
}

// quoteAt returns the length of the quote at p: 1, 2 for one behind a backslash
// (JSON inside a string), 0 for none.
func (sc *scan) quoteAt(p int) int {
	switch {
	case p < len(sc.s) && isQuote(sc.s[p]):
		return 1
	case p+1 < len(sc.s) && sc.s[p] == '\\' && isQuote(sc.s[p+1]):
		return 2
	}
	return 0
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// closing returns where in the rest of the line a quoted value ends: at the same
// quote, one behind a backslash skipped, or at the end of the line.
func closing(rest, quote string) int {
	if len(quote) == 2 {
		if n := strings.Index(rest, quote); n >= 0 {
			return n
		}
		return len(rest)
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case quote[0]:
			return i
		}
	}
	return len(rest)
}
