//go:build pfsense_demo

package store

import "pfsensemcp/pkg/executor/internal/store/internal/seam"

// CrashSeam returns a seam that calls at each step of a write, for the test build
// that ends itself there. A shipped executord has no such function.
func CrashSeam(at func(point string)) *Seam {
	return &Seam{At: func(p seam.Point) error {
		at("store " + string(p))
		return nil
	}}
}
