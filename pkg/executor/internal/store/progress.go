package store

import "fmt"

// How many pages or rows lie between two words of progress: few enough that one follows
// another within a second on a slow machine, and enough to cost nothing.
const (
	pagesBetween = 256 // 4 MiB
	rowsBetween  = 4096
)

// steps returns what is called after each page or row, and tells now and then how far
// the verification is. Who hears it gives the start more time, so what goes on behind
// the last one that there is, which must be in circles, is not told.
func steps(tell func(text string) error, of string, between int64) func(done, total int64) error {
	if tell == nil {
		return nil
	}
	next := int64(0)
	return func(done, total int64) error {
		if done < next || done > total {
			return nil
		}
		next = done + between
		return tell(fmt.Sprintf("verifying the store: %d %% of its %d %s", done*100/total, total, of))
	}
}

// counted is steps over the rows, whose verification does not know how many there are.
func counted(tell func(text string) error, total int64) func() error {
	step := steps(tell, "rows", rowsBetween)
	if step == nil {
		return nil
	}
	done := int64(0)
	return func() error {
		done++
		return step(done, total)
	}
}
