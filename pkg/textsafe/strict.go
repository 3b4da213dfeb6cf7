package textsafe

import "strings"

const (
	minHex    = 32 // an MD5, the shortest key or digest in use
	minBase64 = 32 // 24 bytes; a WireGuard key has 44 digits
	minPiece  = 20 // base64 has longer pieces between slashes than paths have
)

// isBlob says whether c is a digit of hexadecimal or base64, in any alphabet.
func isBlob(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '_' || c == '-'
}

// blobs takes out long runs of hexadecimal or base64 digits.
func (sc *scan) blobs() {
	s := sc.s
	for i := 0; i < len(s); i++ {
		from := i
		var upper, lower, digit, other bool
		piece, longest := 0, 0
		for ; i < len(s) && isBlob(s[i]); i++ {
			switch c := s[i]; {
			case c >= '0' && c <= '9':
				digit = true
			case c >= 'a' && c <= 'z':
				lower, other = true, other || c > 'f'
			case c >= 'A' && c <= 'Z':
				upper, other = true, other || c > 'F'
			default:
				other = true
			}
			piece++
			if s[i] == '/' {
				piece = 0
			}
			longest = max(longest, piece)
		}
		hex := !other && i-from >= minHex
		b64 := upper && lower && digit && i-from >= minBase64 && longest >= minPiece
		if hex || b64 {
			for i < len(s) && s[i] == '=' {
				i++
			}
			sc.mask(from, i)
		}
	}
}

// commands takes out what common commands take as a password in a short option:
// "mysql -pX", "sshpass -p X", "curl -u user:X". An option means a password only
// behind its command.
func (sc *scan) commands() {
	s := sc.s
	options := ""
	for i := 0; i < len(s); {
		c := s[i]
		if isSpace(c) || strings.IndexByte(";|&()", c) >= 0 {
			if c != ' ' && c != '\t' {
				options = "" // the next command
			}
			i++
			continue
		}
		end := i
		for end < len(s) && !isSpace(s[end]) && strings.IndexByte(";|&()", s[end]) < 0 {
			end++
		}
		word := s[i:end]
		if o := passwordOptions(word); o != "" {
			options = o
		} else if len(word) >= 2 && word[0] == '-' && strings.IndexByte(options, word[1]) >= 0 {
			end = sc.option(i, end)
		}
		i = end
	}
}

// option takes out the value of the option s[i:end], attached or the next word.
func (sc *scan) option(i, end int) int {
	s := sc.s
	from := i + 2
	if from == end {
		if from = sc.blanks(end); from == len(s) || isSpace(s[from]) || s[from] == '-' {
			return end
		}
		end = from
		quote := byte(0)
		if isQuote(s[from]) {
			quote = s[from]
			end++
		}
		for end < len(s) && s[end] != '\n' && s[end] != '\r' && (quote != 0 && s[end] != quote || quote == 0 && !isSpace(s[end])) {
			end++
		}
		if quote != 0 {
			from++
		}
	}
	sc.mask(from, end)
	return end
}

// passwordOptions returns the letters of the options that hold a password, for
// the commands that cron jobs and custom options use.
func passwordOptions(word string) string {
	if len(word) > 128 {
		return ""
	}
	switch strings.Trim(word[strings.LastIndexByte(word, '/')+1:], "\"'`") {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "sshpass", "plink", "pscp", "ncftpput", "ncftpget":
		return "p"
	case "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd":
		return "w"
	case "curl":
		return "uU"
	case "smbclient", "rpcclient", "net":
		return "U"
	case "snmpget", "snmpwalk", "snmpset", "snmpbulkwalk":
		return "cAX"
	case "redis-cli":
		return "a"
	case "ipmitool", "mosquitto_pub", "mosquitto_sub":
		return "P"
	case "lftp":
		return "u"
	case "openssl", "7z", "zip", "unzip", "rar", "enc":
		return "kpP"
	}
	return ""
}
