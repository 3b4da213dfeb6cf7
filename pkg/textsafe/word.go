package textsafe

import (
	"bytes"
	"strings"
)

// use says how a word may be followed by a secret.
type use uint8

const (
	assigned use = 1 << iota // word = X, word: X, <word>X<, "word": "X"
	bare                     // word X
	quoted                   // word "X"
	header                   // word: X to the end of the line
	bearer                   // word TOKEN
)

// maxWord bounds the word that is looked at, in bytes: of a longer one its end.
const maxWord = 64

// isWord says whether c belongs to a word, as settings and headers are named.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// word looks at the word around the pair that ends at i and takes out the secret
// that follows it.
func (sc *scan) word(i int) int {
	s := sc.s
	if !isWord(s[i-1]) || !isWord(s[i]) {
		return i + 1
	}
	from, end := i-1, i+1
	for from > 0 && isWord(s[from-1]) {
		from--
	}
	for end < len(s) && isWord(s[end]) {
		end++
	}
	if isJWT(s[from:end]) {
		sc.mask(from, end)
		return end
	}
	if to, ok := sc.base64PEM(from, end); ok {
		return to
	}
	var buf [maxWord]byte
	w := buf[:copy(buf[:], s[max(from, end-maxWord):end])]
	for j, c := range w {
		if c >= 'A' && c <= 'Z' {
			w[j] = c + 'a' - 'A'
		}
	}
	u := classify(w, sc.strict)
	if string(w) == "key" && from > 1 && s[from-1] == ' ' && isWord(s[from-2]) {
		u |= sc.qualified(from - 1)
	}
	if u == 0 {
		return end
	}
	option := strings.HasPrefix(s[from:end], "--")
	if option {
		u |= bare
	}
	return sc.value(from, end, u, option)
}

// qualified is what "key" announces behind the word that ends at end, such as
// "pre-shared key".
func (sc *scan) qualified(end int) use {
	from := end
	for from > 0 && end-from < maxWord/2 && isWord(sc.s[from-1]) {
		from--
	}
	return classify([]byte(strings.ToLower(sc.s[from:end])+"-key"), sc.strict)
}

// isJWT says whether a word is a JSON web token, or begins as one does.
func isJWT(w string) bool {
	return len(w) >= 20 && strings.HasPrefix(w, "eyJ") && strings.IndexByte(w, '.') > 0
}

// classify says what the word in small letters announces.
func classify(w []byte, strict bool) use {
	w = bytes.Trim(w, "-._")
	last := w
	if i := bytes.LastIndexAny(w, "-._"); i >= 0 {
		last = w[i+1:]
	}
	switch string(last) {
	case "file", "files", "path", "id", "ids", "name", "names", "type", "types", "length", "len", "size", "policy", "policies",
		"expires", "expiry", "age", "min", "max", "count", "prompt", "required", "enabled", "mode", "server", "servers":
		// About a secret, and not one. Strict mode makes no difference there.
		if !strict {
			return 0
		}
	case "authorization", "cookie":
		return header
	case "bearer":
		return bearer
	case "pass", "pw", "passwd", "pwd":
		if string(w) == "auth-user-pass" || bytes.HasSuffix(w, []byte("passwd")) {
			return assigned | bare | quoted
		}
		return assigned | quoted
	case "key", "keys":
		return keyUse(w, last, strict)
	case "community", "rocommunity", "rwcommunity":
		if strict {
			return assigned | bare | quoted
		}
		return 0
	}
	for _, stem := range [][]byte{[]byte("password"), []byte("passphrase"), []byte("passwort"), []byte("passcode"), []byte("passwd"), []byte("psk")} {
		if bytes.HasSuffix(last, stem) {
			return assigned | bare | quoted
		}
		if bytes.Contains(w, stem) {
			return assigned | quoted
		}
	}
	for _, stem := range [][]byte{[]byte("secret"), []byte("token"), []byte("credential"), []byte("apikey")} {
		if bytes.Contains(w, stem) {
			if strict && !bytes.HasSuffix(last, []byte("s")) {
				return assigned | bare | quoted
			}
			return assigned | quoted
		}
	}
	if bytes.HasSuffix(last, []byte("bindpw")) || bytes.HasSuffix(last, []byte("pass")) && strict {
		return assigned | quoted
	}
	if bytes.HasSuffix(last, []byte("key")) {
		return keyUse(w, last, strict)
	}
	return 0
}

// keyUse tells the words in key apart: the bare word is used for everything, a
// qualified one is a secret, a public one is none.
func keyUse(w, last []byte, strict bool) use {
	var buf [maxWord]byte
	n := 0
	for _, c := range w {
		if c != '-' && c != '_' && c != '.' {
			buf[n] = c
			n++
		}
	}
	flat := buf[:n]
	for _, q := range [][]byte{
		[]byte("private"), []byte("shared"), []byte("api"), []byte("secret"), []byte("access"), []byte("auth"), []byte("encryption"),
		[]byte("account"), []byte("wpa"), []byte("wpa2"), []byte("wpa3"), []byte("wep"), []byte("wifi"), []byte("wlan"), []byte("tls"), []byte("master"), []byte("license"), []byte("psk"),
	} {
		if bytes.HasSuffix(flat, append(append(make([]byte, 0, maxWord), q...), "key"...)) {
			return assigned | bareIn(strict) | quoted
		}
	}
	switch {
	case bytes.HasPrefix(flat, []byte("pub")) || bytes.Contains(flat, []byte("publickey")):
		return 0
	case len(last) == len(w) && string(last) == "key":
		if strict {
			return assigned | quoted
		}
		return quoted
	case strict && (string(last) == "key" || string(last) == "keys"):
		return assigned | quoted
	}
	return 0
}

func bareIn(strict bool) use {
	if strict {
		return bare
	}
	return 0
}

// isIdle says whether a word after "password" is prose rather than a password.
func isIdle(w string) bool {
	if len(w) > 14 {
		return false
	}
	switch strings.ToLower(strings.TrimRight(w, ".,;:!?)")) {
	case "and", "or", "of", "for", "in", "on", "to", "with", "from", "by", "at", "are", "was", "not", "must", "reset", "resets",
		"manager", "server", "servers", "service", "portal", "policy", "change", "changes", "changed", "login", "logins", "auth",
		"authentication", "protected", "protection", "required", "sync", "expiry", "expired", "expires", "file", "database", "vault":
		return true
	}
	return false
}
