package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/guidance"
)

// noSite fails the test that lets it be asked.
func noSite(t *testing.T) func(context.Context, string) ([]byte, error) {
	return func(context.Context, string) ([]byte, error) {
		t.Error("a page was asked for")
		return nil, errors.New("no")
	}
}

func say(t *testing.T, site func(context.Context, string) ([]byte, error), args ...string) (int, string) {
	t.Helper()
	var b bytes.Buffer
	code := run(args, &b, &b, site)
	return code, b.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-fetch", "-pin"}, {"-pages", "x", "y"}, {"-no-such"}} {
		if code, out := say(t, noSite(t), args...); code != 2 {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}

func TestTheAnchorOfAPhrase(t *testing.T) {
	code, out := say(t, noSite(t), "-anchor", "Firewall > Aliases")
	if code != 0 || !strings.Contains(out, "words = 2\n") || !strings.Contains(out, guidance.Digest("firewall aliases")) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestMissingPagesAreReportedAndTheExitCodeSaysSo(t *testing.T) {
	code, out := say(t, noSite(t), "-pages", t.TempDir())
	if code != 1 || !strings.Contains(out, "gone     netgate_aliases") || !strings.Contains(out, "to look at") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestFetchAsksTheSiteItIsGiven(t *testing.T) {
	asked := 0
	code, _ := say(t, func(context.Context, string) ([]byte, error) { asked++; return nil, errors.New("no") }, "-fetch")
	if code != 1 || asked < 60 {
		t.Errorf("exit code %d, %d pages", code, asked)
	}
}

func TestPinPrintsTheDigestOfAChangedText(t *testing.T) {
	if code, out := say(t, noSite(t), "-pin", "-data", filepath.Join("..", "..", "pkg", "guidance", "registry")); code != 0 || out != "" {
		t.Errorf("the registry as it is: exit code %d\n%s", code, out)
	}
	dir := t.TempDir()
	text := "[[entry]]\nsource_id = \"one\"\ncontent_excerpt = \"changed\"\ncontent_hash = \"old\"\n"
	if err := os.WriteFile(filepath.Join(dir, "a.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := say(t, noSite(t), "-pin", "-data", dir)
	if code != 1 || !strings.Contains(out, "a.toml: one: content_hash = \""+guidance.Digest("changed")) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _ := say(t, noSite(t), "-pin", "-data", t.TempDir()); code != 1 {
		t.Errorf("no files: exit code %d", code)
	}
}
