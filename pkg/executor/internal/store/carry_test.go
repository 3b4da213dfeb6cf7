package store_test

import (
	"testing"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
)

// attest signs heads as the executor does.
func attest(t *testing.T) func(*artifact.ExportHead) ([]byte, error) {
	return func(h *artifact.ExportHead) ([]byte, error) {
		h.KeyID = artifacttest.ExecutorID
		return artifact.Sign(h, artifacttest.KeyX())
	}
}
