package textsafe

import "strings"

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
	switch {
	case u == bearer:
		return sc.bearerToken(p, sep, end)
	case sep < len(s) && (s[sep] == '=' || s[sep] == ':') && u&(assigned|header) != 0:
		p = sep + 1
		for p < len(s) && (s[p] == '=' || s[p] == '>') {
			p++
		}
		p = sc.blanks(p)
	case sep > p && u&bare != 0:
		p = sep
		if w := sc.wordAt(p); strings.EqualFold(w, "is") && sc.blanks(p+2) > p+2 {
			p = sc.blanks(p + 2)
		} else if !sc.strict && !option && isIdle(w) {
			return end
		}
	case sep > p && u&quoted != 0 && sc.quoteAt(sep) > 0:
		p = sep
	default:
		return end
	}
	return sc.text(p, end, from, around, u, option)
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

// blanks returns the end of the blanks and tabs at p.
func (sc *scan) blanks(p int) int {
	for p < len(sc.s) && (sc.s[p] == ' ' || sc.s[p] == '\t') {
		p++
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
