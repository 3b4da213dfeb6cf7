package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// label is the width of the first column.
const label = 12

// Row prints a label and its lines below one another.
func Row(w io.Writer, name string, lines ...string) {
	for i, l := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(w, "  %-*s%s\n", label, name, l)
	}
}

// Stamp writes a Unix time in seconds.
func Stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04:05Z") }

// Around writes a Unix time and how far it is from now.
func Around(unix int64, now time.Time) string {
	d := time.Unix(unix, 0).Sub(now).Round(time.Second)
	switch {
	case d == 0:
		return Stamp(unix) + " (now)"
	case d < 0:
		return fmt.Sprintf("%s (%s ago)", Stamp(unix), -d)
	}
	return fmt.Sprintf("%s (in %s)", Stamp(unix), d)
}

// Word returns the small word of an enum's name, "unknown" for the value that is
// never sent and for numbers that this program does not know.
func Word(name, prefix string) string {
	w, ok := strings.CutPrefix(name, prefix)
	if !ok || w == "UNSPECIFIED" {
		return "unknown"
	}
	return strings.ToLower(w)
}

// Next prints what to do next, a text of ours in which "; " stands between steps;
// nothing for "".
func Next(w io.Writer, steps string) {
	if steps != "" {
		fmt.Fprintln(w, "next: "+strings.ReplaceAll(steps, "; ", "\n      "))
	}
}
