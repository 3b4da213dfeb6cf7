package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/test/programs"
)

// shown is a command as a page shows it.
type shown struct {
	page    string
	program string
	words   []string
}

var (
	span = regexp.MustCompile("`([^`\n]+)`")
	// A command stands at the beginning of a line or span, behind a prompt, another
	// command, ssh's host, or sudo.
	command = regexp.MustCompile(`(?:^|\$ |&& |; |HOST |sudo )\s*(?:bin/|/usr/bin/)?(mcpctl|mcpsign|mcpd|executord|guidanced|docfetchd|make)((?: [^;&#|()]*)?)`)
	isWord  = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	target  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// commands returns what a page shows to type.
func (p page) commands() []shown {
	prose, texts := p.split()
	for i := range texts {
		// What stands behind a gap is a remark.
		texts[i], _, _ = strings.Cut(strings.TrimLeft(texts[i], " "), "  ")
	}
	for _, m := range span.FindAllStringSubmatch(prose, -1) {
		texts = append(texts, m[1])
	}
	var out []shown
	for _, text := range texts {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			out = append(out, shown{p.path, m[1], strings.Fields(m[2])})
		}
	}
	return out
}

// helper tells what a program prints as its help for a path of sub-commands, and
// whether it knows the path.
type helper func(program string, path []string) (text string, known bool)

// check says what is wrong with a command, "" when nothing is.
func (s shown) check(help helper, makefile string) string {
	whole := strings.Join(append([]string{s.program}, s.words...), " ")
	if s.program == "make" {
		return s.checkMake(makefile, whole)
	}
	var path []string
	for _, w := range s.words {
		if !isWord.MatchString(w) {
			break
		}
		// An argument may look like a sub-command: what is no group takes arguments.
		if text, _ := help(s.program, path); len(path) > 0 && !strings.Contains(text, " COMMAND") && s.program == "mcpctl" {
			break
		}
		path = append(path, w)
	}
	if s.program == "mcpsign" && len(path) > 1 {
		path = path[:1]
	}
	text, known := help(s.program, path)
	if !known {
		return whole + ": there is no such command"
	}
	for _, w := range s.words {
		name, _, _ := strings.Cut(strings.Trim(w, "[]"), "=")
		if !strings.HasPrefix(name, "-") || name == "-" || name == "--help" {
			continue
		}
		if !regexp.MustCompile(`(?m)(^|[\s\[|])-?` + regexp.QuoteMeta("-"+strings.TrimLeft(name, "-")) + `([\s\],=]|$)`).MatchString(text) {
			return whole + ": there is no flag " + name
		}
	}
	return ""
}

func (s shown) checkMake(makefile, whole string) string {
	var targets []string
	for _, m := range target.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	for _, w := range s.words {
		if name, _, set := strings.Cut(w, "="); set {
			if !strings.Contains(makefile, "$("+name) && !strings.Contains(makefile, ","+name+")") {
				return whole + ": the Makefile has no variable " + name
			}
		} else if isWord.MatchString(w) && !slices.Contains(targets, w) {
			return whole + ": the Makefile has no target " + w
		}
	}
	return ""
}

// built builds the programs and returns how to ask them.
func built(t *testing.T) helper {
	t.Helper()
	dir := t.TempDir()
	if err := programs.Build(programs.Shipped, dir, "cmd/mcpd", "cmd/guidanced", "cmd/docfetchd", "cmd/executord", "cmd/mcpctl", "cmd/mcpsign"); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		text  string
		known bool
	}
	asked := map[string]answer{}
	return func(program string, path []string) (string, bool) {
		key := strings.Join(append([]string{program}, path...), " ")
		if a, ok := asked[key]; ok {
			return a.text, a.known
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		args := append(slices.Clone(path), "--help")
		if program == "mcpsign" { // its help is one screen for all
			args = []string{"help"}
		}
		cmd := exec.CommandContext(ctx, filepath.Join(dir, program), args...)
		cmd.Env = []string{"HOME=" + dir}
		out, err := cmd.CombinedOutput()
		a := answer{string(out), err == nil}
		if program == "mcpsign" && len(path) > 0 {
			a.known = strings.Contains(a.text, "\n  mcpsign "+path[0])
		}
		asked[key] = a
		return a.text, a.known
	}
}

func TestEveryCommandThatAPageShowsExists(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	help, seen := built(t), map[string]int{}
	for _, p := range pages(t) {
		for _, s := range p.commands() {
			seen[s.program]++
			if bad := s.check(help, string(b)); bad != "" {
				t.Errorf("%s: %s", p.path, bad)
			}
		}
	}
	for _, program := range []string{"mcpctl", "mcpsign", "mcpd", "executord", "make"} {
		if seen[program] < 5 {
			t.Errorf("only %d commands of %s were seen", seen[program], program)
		}
	}
	t.Run("and the check can fail", func(t *testing.T) {
		for _, bad := range []string{
			"mcpctl frobnicate", "mcpctl write frobnicate", "mcpctl write preview REQ --frobnicate", "mcpctl setup --dry-runs", "mcpsign frobnicate -i x",
			"mcpsign sign-rollback -p x", "mcpd frobnicate", "executord verify --frobnicate", "make frobnicate", "make demo FROB=1",
		} {
			for _, s := range (page{"x.md", "```\n" + bad + "\n```\n"}).commands() {
				if s.check(help, string(b)) == "" {
					t.Errorf("%q passes", bad)
				}
			}
		}
		for _, good := range []string{"mcpctl status", "mcpctl client-config cursor --ssh fw-host", "mcpctl completion bash", "$ mcpctl write confirm c.json", "make demo ONCE=1"} {
			found := (page{"x.md", "`" + good + "`\n"}).commands()
			if len(found) != 1 {
				t.Fatalf("%q is %d commands", good, len(found))
			}
			if bad := found[0].check(help, string(b)); bad != "" {
				t.Error(bad)
			}
		}
	})
}
