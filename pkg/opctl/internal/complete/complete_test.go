package complete

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/opctl/internal/cli"
)

// table is a small one; its commands end the test when they do more than parse.
func table(t *testing.T) []cli.Command {
	run := func(names ...string) func(context.Context, cli.Env, *flag.FlagSet, []string) error {
		return func(_ context.Context, _ cli.Env, fs *flag.FlagSet, args []string) error {
			for _, n := range names {
				fs.Bool(n, false, "it's a flag")
			}
			if _, err := cli.Parse(fs, args, 0, 1); err != nil {
				return err
			}
			t.Error("a command was run")
			return nil
		}
	}
	return []cli.Command{
		{Name: "doctor", Help: "check", Words: []string{"suite", "write"}, Run: run("json")},
		{Name: "logs", Help: "show", Run: run("f", "request")},
		{Name: "write", Help: "change", Sub: []cli.Command{{Name: "list", Help: "all", Run: run("json")}, {Name: "show", Help: "one", Run: run("dir")}}},
	}
}

func script(t *testing.T, shell string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	c := Command(func() []cli.Command { return table(t) })
	if code := cli.Run(t.Context(), cli.Env{Out: &out, Err: &errOut}, "mcpctl", []cli.Command{c}, []string{"completion", shell}); code != cli.ExitOK {
		t.Fatalf("%d %s", code, errOut.String())
	}
	return out.String()
}

func TestBashOffersWhatFitsThePlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcpctl.bash")
	if err := os.WriteFile(path, []byte(script(t, "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"":                "doctor logs write",
		"d":               "doctor",
		"doctor ":         "suite write --json",
		"doctor s":        "suite",
		"doctor suite -":  "--json",
		"logs -":          "-f --request",
		"write ":          "list show",
		"write show --":   "--dir",
		"write nothing x": "",
		"nothing ":        "",
	} {
		words := strings.Split("mcpctl "+typed, " ")
		quoted := "'" + strings.Join(words, "' '") + "'"
		sh := `source "$1"; COMP_WORDS=(` + quoted + `); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mcpctl; echo "${COMPREPLY[*]}"`
		out, err := exec.Command("bash", "--norc", "-c", sh, "bash", path).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q: %q, want %q (%v)", typed, got, want, err)
		}
	}
}

func TestEachScriptIsOneOfItsShell(t *testing.T) {
	for _, shell := range shells() {
		text := script(t, shell)
		for _, want := range []string{"doctor", "suite", "request", "list"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is not in it", shell, want)
			}
		}
		if strings.Contains(text, "$(mcpctl") || strings.Contains(text, "`mcpctl") {
			t.Errorf("%s: it starts mcpctl", shell)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here: its script was not read by it", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	var out bytes.Buffer
	c := Command(func() []cli.Command { return nil })
	if code := cli.Run(t.Context(), cli.Env{Out: &out, Err: &out}, "mcpctl", []cli.Command{c}, []string{"completion", "tcsh"}); code != cli.ExitUsage {
		t.Errorf("%d", code)
	}
}
