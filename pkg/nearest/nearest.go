// Package nearest finds the name that a mistyped one was meant to be.
//
// It owns the measure of nearness and no text: what is said of a name, and
// whether one is near enough to be offered, is the caller's. Every package may
// import it; it imports nothing of ours. It must never look at a long text whole:
// the search costs the product of both lengths for every known name, and texts
// come from outside. The attack that stops: a caller who sends names of a megabyte.
package nearest

// maxName is the part of a text that is looked at, in bytes: no name of ours is
// half as long.
const maxName = 128

// Of returns the known name with the fewest single-byte edits to s, the first of
// equals, and their number; "" when there are no names. Only the first 128 bytes
// of s count.
func Of(s string, known []string) (name string, edits int) {
	s = s[:min(len(s), maxName)]
	for i, k := range known {
		if d := distance(s, k); i == 0 || d < edits {
			name, edits = k, d
		}
	}
	return name, edits
}

// distance is the number of bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
