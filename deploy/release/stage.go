package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ownLicence is that of this project, the file LICENSE.
const ownLicence = "MIT"

const (
	docDir   = "usr/share/doc/pfsense-mcp"
	sumsFile = "SHA256SUMS"
)

// stage lays out below root what the packages hold: what deploy/install.sh
// installs, and the texts that belong to a package alone.
func stage(root, bin string, b *builds, licences licenceTable, when time.Time) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	if out, err := exec.Command("deploy/install.sh", root, bin).CombinedOutput(); err != nil {
		return fmt.Errorf("deploy/install.sh: %w\n%s", err, out)
	}
	if err := completions(root, bin); err != nil {
		return err
	}
	if err := documents(filepath.Join(root, docDir)); err != nil {
		return err
	}
	if err := copyright(filepath.Join(root, docDir), b, licences); err != nil {
		return err
	}
	if err := squeeze(filepath.Join(root, "usr/share/man")); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, when, when)
	})
}

// completions has mcpctl write what shells complete its commands with.
func completions(root, bin string) error {
	for shell, path := range map[string]string{
		"bash": "usr/share/bash-completion/completions/mcpctl", "zsh": "usr/share/zsh/vendor-completions/_mcpctl", "fish": "usr/share/fish/vendor_completions.d/mcpctl.fish",
	} {
		text, err := exec.Command(filepath.Join(bin, "mcpctl"), "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("mcpctl completion %s: %w", shell, err)
		}
		to := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere are the files that README.md links to and that a package keeps in another
// place, as seen from the packaged README.md.
func elsewhere() map[string]string {
	return map[string]string{"LICENSE": "copyright", "deploy/systemd/man": "../../man"}
}

// documents copies what people read: README.md and the pages of docs/.
func documents(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	for from, to := range elsewhere() {
		readme = bytes.ReplaceAll(readme, []byte("]("+from+")"), []byte("]("+to+")"))
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), readme, 0o644); err != nil {
		return err
	}
	pages := filepath.Join(dir, "docs")
	if err := os.CopyFS(pages, os.DirFS("docs")); err != nil {
		return err
	}
	return filepath.WalkDir(pages, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

// copyright writes whose work is in the programs, and every text that a licence
// asks to pass on.
func copyright(dir string, b *builds, licences licenceTable) error {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "pfsense-mcp: %s\n\n%s\n", ownLicence, own)
	text.WriteString("The programs link these modules, whose texts are below licences/:\n\n")
	for _, m := range b.modules {
		fmt.Fprintf(&text, "%s %s: %s\n", m.path, m.version, licences[m.path].spdx)
		for _, f := range licences[m.path].files {
			to := filepath.Join(dir, "licences", m.path, f.name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(to, f.text, 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "copyright"), text.Bytes(), 0o644)
}

// squeeze compresses the man pages, as both kinds of package have them.
func squeeze(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".gz") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression) // the header holds no time and no name
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(path+".gz", z.Bytes(), 0o644); err != nil {
			return err
		}
		return os.Remove(path)
	})
}

// checksums writes what `sha256sum -c` reads, beside the files.
func checksums(out string, files []string) error {
	var text bytes.Buffer
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), filepath.Base(path))
	}
	return os.WriteFile(filepath.Join(out, sumsFile), text.Bytes(), 0o644)
}
