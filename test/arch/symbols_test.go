package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// symbolBans are substrings of linked symbols that a binary must not contain.
// The linker drops unreachable code, so a symbol that is there can be called.
var symbolBans = map[string][]struct{ part, reason string }{
	"guidanced": {
		{"net/http.(*Client)", "it has no network"},
		{"net/http.(*Transport)", "it has no network"},
		{"net/http.(*Server)", "it has no network"},
		{"crypto/tls.(*Conn).clientHandshake", "it has no network"},
		{" os/exec.", "it starts no process"},
		{" html/template.", "it renders nothing"},
	},
	"docfetchd": {
		{"net/http.(*Server)", "it serves no HTTP"},
		{" os/exec.", "it starts no process"},
		{" html/template.", "it renders nothing"},
	},
	"executord": {
		{"net/http.(*Server)", "it serves no HTTP"},
		{" os/exec.", "it starts no process"},
		{" html/template.", "it renders nothing"},
	},
	"mcpsign": {
		{" syscall.socket", "it has no network"},
		{" syscall.connect", "it has no network"},
		{" syscall.bind", "it has no network"},
		{" syscall.forkExec", "it starts no process"},
		{" os.StartProcess", "it starts no process"},
	},
	"mcpd": {
		{" os/exec.(*Cmd).Start", "it starts no process"},
		{" html/template.", "it renders nothing"},
	},
}

// checkSymbols finds banned symbols in the output of go tool nm.
func checkSymbols(binary, nm string) []string {
	var bad []string
	for _, b := range symbolBans[binary] {
		for line := range strings.Lines(nm) {
			if strings.Contains(line, b.part) && !strings.Contains(line, "go:itab") && !strings.Contains(line, "type:") {
				bad = append(bad, binary+" contains "+strings.TrimSpace(line)+": "+b.reason)
				break
			}
		}
	}
	return bad
}

func TestNoBinaryContainsWhatItMustNotDo(t *testing.T) {
	for _, b := range binaries(t) {
		if len(symbolBans[b]) == 0 {
			continue
		}
		t.Run(b, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), b)
			build := exec.Command("go", "build", "-tags", tags, "-trimpath", "-o", file, "./cmd/"+b)
			build.Dir = root
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("building %s: %v\n%s", b, err, out)
			}
			nm, err := exec.Command("go", "tool", "nm", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(nm), "main.main") {
				t.Fatal("go tool nm shows no symbols: the rule would hold for any binary")
			}
			want(t, checkSymbols(b, string(nm)))
		})
	}
}

func TestTheSymbolRuleCanFail(t *testing.T) {
	mustFail(t, checkSymbols("guidanced", "  4a2b60 T net/http.(*Client).Do\n"), "no network")
	mustFail(t, checkSymbols("executord", "  4a2b60 T os/exec.Command\n"), "no process")
}
