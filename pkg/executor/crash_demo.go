//go:build pfsense_demo

package executor

import "pfsensemcp/pkg/executor/internal/store"

// crashSeam lets a test build end itself at any step of a write.
func crashSeam(at func(point string)) *store.Seam {
	if at == nil {
		return nil
	}
	return store.CrashSeam(at)
}
