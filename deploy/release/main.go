// Command release makes what people install: a .deb, an .rpm, a bill of
// materials and checksums. `make package` runs it.
//
// It builds the six programs itself, and refuses to pack one that was built
// another way: a test tag shortens the windows of the write path, and nobody sees
// that on an installed file. Two runs over one tree make the same bytes, so that
// anybody can check a package against its source.
//
// No daemon imports it. What it must never do is sign or upload.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// programs are what a package holds, in the order of the documents that list
// them.
var programs = []string{"mcpd", "guidanced", "docfetchd", "executord", "mcpctl", "mcpsign"}

// tags is the one list of build tags that ships.
const tags = "grpcnotrace"

// preRelease is the version of a tree whose commit has no release tag.
const preRelease = "0.1.0-dev"

func main() {
	out := flag.String("out", "dist", "directory for what is made; files of the same names are replaced")
	version := flag.String("version", "", "semantic version; left out: the commit's tag vX.Y.Z, else "+preRelease)
	bin := flag.String("bin", "", "pack these programs instead of building them; they are checked all the same")
	kinds := flag.String("kinds", "deb,rpm", "kinds of package")
	check := flag.Bool("licences", false, "only compare the list of licences with what the programs link")
	flag.Parse()
	made, err := run(*out, *version, *bin, strings.Split(*kinds, ","), *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	for _, path := range made {
		fmt.Println(path)
	}
}

// run returns the files that it made.
func run(out, version, bin string, kinds []string, onlyLicences bool) (made []string, err error) {
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if bin == "" {
		bin = filepath.Join(tmp, "bin")
		if err := build(bin); err != nil {
			return nil, err
		}
	}
	built, err := readBuilds(bin)
	if err != nil {
		return nil, err
	}
	table, err := readLicences(licenceFile)
	if err != nil {
		return nil, err
	}
	licences, err := table.match(built.modules)
	if err != nil || onlyLicences {
		return nil, err
	}

	if version == "" {
		version = tagged()
	}
	when, err := epoch()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	root := filepath.Join(tmp, "root")
	if err := stage(root, bin, built, licences, when); err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		path, err := pack(kind, root, out, version, when)
		if err != nil {
			return nil, err
		}
		made = append(made, path)
	}
	bill := filepath.Join(out, "pfsense-mcp-"+version+".cdx.json")
	b, err := sbom(version, built, licences, when)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(bill, b, 0o644); err != nil {
		return nil, err
	}
	made = append(made, bill)
	if err := checksums(out, made); err != nil {
		return nil, err
	}
	return append(made, filepath.Join(out, sumsFile)), nil
}

// build builds the programs as they ship.
func build(bin string) error {
	// A checkout that git does not trust is built without its revision instead of
	// not at all; the environment may have said something else.
	vcs := "-buildvcs=" + strconv.FormatBool(exec.Command("git", "rev-parse", "HEAD").Run() == nil)
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-tags", tags, vcs, "-o", bin + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, "./cmd/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return nil
}

// tagged returns the version that the commit's tag names.
func tagged() string {
	out, err := exec.Command("git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*.[0-9]*.[0-9]*").Output()
	if err != nil {
		return preRelease
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
}

// epoch is the time that stands in everything that is made: SOURCE_DATE_EPOCH,
// else the commit's, else a fixed one.
func epoch() (time.Time, error) {
	text, given := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !given {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), nil
		}
		text = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, errors.New("SOURCE_DATE_EPOCH is no number of seconds")
	}
	return time.Unix(n, 0).UTC(), nil
}

// pack runs nfpm and returns the package it made.
func pack(kind, root, out, version string, when time.Time) (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=deploy/tools.mod", "nfpm", "package", "-f", "deploy/package/nfpm.yaml", "-p", kind, "-t", out)
	cmd.Env = append(os.Environ(), "PACKAGE_ROOT="+root, "PACKAGE_VERSION="+version,
		"PACKAGE_ARCH="+goarch(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(when.Unix(), 10))
	b, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nfpm: %w\n%s", err, b)
	}
	_, path, ok := strings.Cut(string(b), "created package: ")
	if !ok {
		return "", fmt.Errorf("nfpm names no package:\n%s", b)
	}
	return strings.TrimSpace(path), nil
}
