package check

import (
	"strconv"
	"strings"
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
	best, dist := "", 1+max(2, len(s)/4)
	for _, k := range known {
		if strings.EqualFold(s, k) {
			return "; it is written " + k
		}
		if d := distance(s, k); d < dist {
			best, dist = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best
}

// distance is the number of single-byte edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(b)]
}
