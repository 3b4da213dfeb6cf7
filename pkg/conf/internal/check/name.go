package check

import (
	"strconv"
	"strings"

	"pfsensemcp/pkg/nearest"
)

// MaxName bounds a name that is shown: a longer one is not a slip of ours.
const MaxName = 200

// Name returns a name of outside text as it may be shown: as it is when it
// is plain, else quoted with every other character escaped.
func Name(s string) string {
	if len(s) > MaxName {
		s = s[:MaxName] + "…"
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./@+~", c) >= 0) {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// Nearest returns "; did you mean X" for the known name that is least far from
// s, "" when none is near.
func Nearest(s string, known []string) string {
	if len(s) > 64 {
		return ""
	}
	for _, k := range known {
		if strings.EqualFold(s, k) {
			return "; it is written " + k
		}
	}
	best, edits := nearest.Of(s, known)
	if best == "" || edits > max(2, len(s)/4) {
		return ""
	}
	return "; did you mean " + best
}
