package docs

import (
	"os/exec"
	"strings"
	"testing"

	"pfsensemcp/pkg/keyfile"
)

// TestTheKeysThatTheHandbookMakesByHandAreRead runs its printf lines: a key in the
// wrong form would keep executord from starting, after the old one is gone.
func TestTheKeysThatTheHandbookMakesByHandAreRead(t *testing.T) {
	made := 0
	for _, p := range pages(t) {
		_, code := p.split()
		for _, line := range code {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "printf ") {
				continue
			}
			made++
			line, _, _ = strings.Cut(line, " >")
			out, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			root, rootErr := keyfile.ParseRoot(out)
			_, attestErr := keyfile.ParseAttestation(out)
			if rootErr != nil && attestErr != nil {
				t.Errorf("%s makes no key: %v, %v", line, rootErr, attestErr)
			}
			if rootErr == nil && root.Epoch < 2 {
				t.Error("a rotation is to the next epoch")
			}
		}
	}
	if made != 2 {
		t.Errorf("%d keys are made by hand, want 2", made)
	}
}
