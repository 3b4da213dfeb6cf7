package docs

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTheKeysThatAPageHasMadeAreThoseOfItsCase: mcpctl makes every key, a shell line
// none, and a rotation is to the next epoch. That the flags exist is held with those of
// every command.
func TestTheKeysThatAPageHasMadeAreThoseOfItsCase(t *testing.T) {
	kinds := map[string]int{}
	for _, p := range pages(t) {
		if strings.Contains(p.text, "/dev/urandom") {
			t.Errorf("%s makes a key by a shell line", p.path)
		}
		for _, s := range p.commands() {
			if len(s.words) < 2 || s.program != "mcpctl" || s.words[0] != "keys" || s.words[1] != "new" {
				continue
			}
			value := func(flag string) string {
				if i := slices.Index(s.words, flag); i >= 0 && i+1 < len(s.words) {
					return s.words[i+1]
				}
				return ""
			}
			kinds[value("--kind")]++
			if epoch, err := strconv.Atoi(value("--epoch")); value("--kind") == "root" && (err != nil || epoch < 2) {
				t.Errorf("%s: %q is not to the next epoch", p.path, s.words)
			}
		}
	}
	if kinds["root"] == 0 || kinds["attestation"] == 0 {
		t.Errorf("the pages have %v made", kinds)
	}
}
