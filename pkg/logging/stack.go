package logging

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// maxFrames and maxStack bound the stack of a panic in the log: it is one value of
// one line.
const (
	maxFrames = 24
	maxStack  = 1500 // bytes, after which no frame begins
)

// Panicked lists where a panic happened, the panicking function first, for the
// attribute KeyDetail. It is called by the deferred function
// itself that recovered. The value of a panic may quote an outsider and does not
// belong in a log; where it happened does.
func Panicked() string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		// What the runtime itself runs between the panic and the deferred function
		// says nothing.
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") && b.Len() < maxStack {
			b.WriteString(f.Function + " " + filepath.Base(f.File) + ":" + strconv.Itoa(f.Line) + ", ")
		}
		if !more {
			return strings.TrimSuffix(b.String(), ", ")
		}
	}
}
