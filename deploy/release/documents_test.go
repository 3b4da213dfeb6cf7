package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePagesOfAPackageLinkToWhatThePackageHolds: on a host there is no tree around
// the pages.
func TestThePagesOfAPackageLinkToWhatThePackageHolds(t *testing.T) {
	t.Chdir("../..")
	root := t.TempDir()
	dir := filepath.Join(root, docDir)
	if err := documents(dir); err != nil {
		t.Fatal(err)
	}
	// What other steps of packing lay there.
	if err := os.WriteFile(filepath.Join(dir, "copyright"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "usr/share/man"), 0o755); err != nil {
		t.Fatal(err)
	}
	pages, links := 0, 0
	link := regexp.MustCompile(`\]\(([^)\s#]+)[^)\s]*\)`)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		pages++
		text, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			to := filepath.Join(filepath.Dir(path), m[1])
			if _, err := os.Stat(to); err != nil || !strings.HasPrefix(to, root) {
				t.Errorf("%s links to %s, which is not in the package", strings.TrimPrefix(path, root), m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 10 || links < 30 {
		t.Errorf("only %d pages with %d links were seen", pages, links)
	}
	for _, page := range []string{"README.md", "docs/handbook.md", "docs/threat-model.md", "docs/decisions/README.md", "docs/clients/README.md"} {
		if info, err := os.Stat(filepath.Join(dir, page)); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v", page, err)
		}
	}
}
