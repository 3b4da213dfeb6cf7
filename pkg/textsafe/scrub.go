package textsafe

import (
	"slices"
	"strings"
)

// Mark stands for a secret that Scrub took out.
const Mark = "[scrubbed]"

// Scrub returns s without the secrets that it recognises, and whether it took one
// out. It recognises private key blocks, whole or cut off; the value of a word
// such as password, secret, psk, token or api_key; authorization headers and
// bearer tokens; password hashes as crypt(3) writes them; and the user information
// of URLs. In strict mode, for fields that are known to embed secrets, it also takes
// the rest of a line after such a word, the password options of common commands,
// and long hexadecimal or base64 runs.
//
// It would rather take out too much than too little, it takes time linear in s,
// and Scrub of its own result changes nothing. It is no proof that a text holds no
// secret: a password alone looks like any other word.
func Scrub(s string, strict bool) (string, bool) {
	// A trigger is a pair of bytes that stands in every word looked for, with the
	// five low bits of each, which folds the case. Few texts hold one.
	i := 1
	for i < len(s) && pairs[uint(s[i-1]&31)<<5|uint(s[i]&31)] == none {
		i++
	}
	if i >= len(s) && !strict {
		return s, false
	}
	// What was taken out can change how its neighbours read, so the result is
	// looked at again until it stays. Two runs are the rule.
	changed := false
	for range maxRuns {
		sc := scan{s: s, strict: strict}
		sc.all(i)
		if strict {
			sc.commands()
			sc.blobs()
		}
		if len(sc.found) == 0 {
			break
		}
		s, changed, i = sc.result(), true, 1
	}
	return s, changed
}

// maxRuns bounds the runs over one text.
const maxRuns = 8

// trigger says what a pair of bytes may belong to.
type trigger uint8

const (
	none   trigger = iota
	inWord         // a word such as password
	inURL          // "://"
	inPEM          // "-----BEGIN" or "-----END"
	inHash         // "$2y$" and the like
)

// pairs maps five bits of each of two bytes to what they may belong to. Every word
// that classify knows holds one of the pairs marked inWord, at any place.
var pairs = [1024]trigger{
	's'&31<<5 | 's'&31: inWord, // password, passphrase, pass
	'p'&31<<5 | 'w'&31: inWord, // pw, pwd, bindpw
	'c'&31<<5 | 'r'&31: inWord, // secret, credential, and LS0tLS1CRUdJTi
	's'&31<<5 | 'k'&31: inWord, // psk
	'e'&31<<5 | 'y'&31: inWord, // key, and eyJ of a JWT
	'o'&31<<5 | 'k'&31: inWord, // token, cookie
	'i'&31<<5 | 'z'&31: inWord, // authorization
	'b'&31<<5 | 'e'&31: inWord, // bearer
	'm'&31<<5 | 'u'&31: inWord, // community
	':'&31<<5 | '/'&31: inURL,
	'-'&31<<5 | '-'&31: inPEM,
	'$'&31<<5 | '1'&31: inHash,
	'$'&31<<5 | '2'&31: inHash,
	'$'&31<<5 | '5'&31: inHash,
	'$'&31<<5 | '6'&31: inHash,
	'$'&31<<5 | 'a'&31: inHash, // argon2
	'$'&31<<5 | 'y'&31: inHash,
}

// span is a part of the text that is taken out, end excluded.
type span struct{ from, to int }

// scan is one run over one text.
type scan struct {
	s      string
	strict bool
	found  []span

	tokenEnd int // end of the last token measured, and its last "@"
	tokenAt  int
	eol      int // end of the last line measured
}

// mask takes out a part, unless it is empty or the mark itself.
func (sc *scan) mask(from, to int) {
	if from < to && sc.s[from:to] != Mark {
		sc.found = append(sc.found, span{from, to})
	}
}

// all looks at every trigger from i on. Each handler returns where to go on; none
// reads a part of the text twice, so that the whole stays linear.
func (sc *scan) all(i int) {
	s := sc.s
	for i < len(s) {
		next := i + 1
		switch pairs[uint(s[i-1]&31)<<5|uint(s[i]&31)] {
		case inWord:
			next = sc.word(i)
		case inURL:
			next = sc.url(i)
		case inPEM:
			next = sc.pem(i)
		case inHash:
			next = sc.hash(i)
		}
		i = max(next, i+1)
	}
}

// result puts the text together again.
func (sc *scan) result() string {
	slices.SortFunc(sc.found, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	b.Grow(len(sc.s))
	end := 0
	for i, f := range sc.found {
		// Parts that touch become one mark: two in a row would be taken for a
		// value the next time.
		if i == 0 || f.from > end {
			b.WriteString(sc.s[end:f.from])
			b.WriteString(Mark)
		}
		end = max(end, f.to)
	}
	b.WriteString(sc.s[end:])
	return b.String()
}

// url takes the user information out of a URL whose ":/" ends at i.
func (sc *scan) url(i int) int {
	s := sc.s
	if i+1 >= len(s) || s[i-1] != ':' || s[i] != '/' || s[i+1] != '/' {
		return i + 1
	}
	from := i + 2
	end, lastAt := sc.token(from)
	authority := from
	odd := false // a colon followed by what is no port
	for authority < end && strings.IndexByte("/?#\\", s[authority]) < 0 {
		if s[authority] == ':' && authority+1 < end && (s[authority+1] < '0' || s[authority+1] > '9') && s[from] != '[' {
			odd = true
		}
		authority++
	}
	at := strings.LastIndexByte(s[from:authority], '@')
	switch {
	case lastAt > from && (sc.strict || at < 0 && odd):
		// A password may hold a slash that should have been escaped.
		at = lastAt
	case at >= 0:
		at += from
	default:
		return from
	}
	sc.mask(from, at)
	return at + 1
}

// token returns the end of the token around i, which blanks, quotes or angle
// brackets end, and its last "@". The last one is kept: a token with many URLs in
// it is measured once.
func (sc *scan) token(i int) (end, at int) {
	if i >= sc.tokenEnd {
		sc.tokenAt = -1
		end := i
		for end < len(sc.s) && sc.s[end] > ' ' && strings.IndexByte("\"'<>`", sc.s[end]) < 0 {
			if sc.s[end] == '@' {
				sc.tokenAt = end
			}
			end++
		}
		sc.tokenEnd = end
	}
	return sc.tokenEnd, sc.tokenAt
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	dashes   = "-----"
)

// pem takes out a private key block whose first two dashes end at i.
func (sc *scan) pem(i int) int {
	s := sc.s
	begin := strings.HasPrefix(s[i-1:], pemBegin)
	if !begin && !strings.HasPrefix(s[i-1:], pemEnd) {
		return i + 1
	}
	label, end := pemLabel(s, i-1+len(pemEnd))
	if !secretLabel(label) {
		return i + 1
	}
	from := i - 1
	if begin {
		// To the end of the block, or of the text when it was cut off.
		rest := strings.Index(s[end:], pemEnd)
		if rest < 0 {
			sc.mask(from, len(s))
			return len(s)
		}
		_, end = pemLabel(s, end+rest+len(pemEnd))
		sc.mask(from, end)
		return end
	}
	// The end of a block whose beginning was cut off: all before it may be key.
	sc.mask(0, end)
	return end
}

// pemLabel returns the label that begins at i and the end of its line of dashes.
func pemLabel(s string, i int) (label string, end int) {
	line := s[i:min(len(s), i+128)]
	if n := strings.IndexAny(line, "\r\n"); n >= 0 {
		line = line[:n]
	}
	n := strings.Index(line, dashes)
	if n < 0 {
		return line, i + len(line)
	}
	return line[:n], i + n + len(dashes)
}

// secretLabel says whether blocks with the label hold a secret.
func secretLabel(label string) bool {
	return strings.Contains(label, "PRIVATE") || strings.Contains(label, "Static key") || strings.Contains(label, "SECRET")
}

// base64PEM takes out a PEM block that is base64 as a whole, as pfSense stores
// keys, when the word s[from:end] begins one. Certificates stay.
func (sc *scan) base64PEM(from, end int) (int, bool) {
	const begin, certificate = "LS0tLS1CRUdJTi", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FUR"
	if w := sc.s[from:end]; !strings.HasPrefix(w, begin) || strings.HasPrefix(w, certificate) {
		return end, false
	}
	for end < len(sc.s) && (isBlob(sc.s[end]) || sc.s[end] == '=') {
		end++
	}
	sc.mask(from, end)
	return end, true
}

// hash takes out a password hash such as $2y$10$…, whose first two bytes end at i.
func (sc *scan) hash(i int) int {
	const minHash, maxID = 20, 10 // the salt and hash of MD5, "argon2id"
	s := sc.s
	if s[i-1] != '$' {
		return i + 1
	}
	id := i
	for id < len(s) && id-i < maxID && isWord(s[id]) {
		id++
	}
	if id == i || id == len(s) || s[id] != '$' {
		return i + 1
	}
	end := id + 1
	for end < len(s) && (isWord(s[end]) || strings.IndexByte("$/+,=", s[end]) >= 0) {
		end++
	}
	if end-id <= minHash {
		return i + 1
	}
	sc.mask(i-1, end)
	return end
}
