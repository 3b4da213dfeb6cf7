package site

import (
	"strconv"
	"strings"
	"time"
)

// How long a page counts as fresh.
const (
	leastFresh   = 60 * time.Second
	mostFresh    = 86_400 * time.Second
	defaultFresh = 300 * time.Second
)

// lifetime reads Cache-Control. A max-age that is missing, zero or unreadable is
// the default; one that is there is kept within bounds. Of several the least
// counts.
func lifetime(cacheControl []string) (fresh time.Duration, noStore bool) {
	age := uint64(0)
	for _, header := range cacheControl {
		for directive := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				noStore = true
			case "max-age":
				n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
				if err == nil && n > 0 && (age == 0 || n < age) {
					age = n
				}
			}
		}
	}
	if age == 0 {
		return defaultFresh, noStore
	}
	return min(max(time.Duration(age)*time.Second, leastFresh), mostFresh), noStore
}
