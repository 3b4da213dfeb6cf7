package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestReview25AProgramBuiltInAnotherWayIsNotPacked(t *testing.T) {
	t.Chdir("../..")
	bin := t.TempDir()
	for _, row := range []struct {
		name string
		args []string
		want string // a part of the fault; "" for none
	}{
		{"as it ships", []string{"-trimpath", "-tags", tags}, ""},
		{"a test tag more", []string{"-trimpath", "-tags", tags + ",pfsense_demo"}, "-tags=grpcnotrace,pfsense_demo"},
		{"another tag", []string{"-trimpath", "-tags", "pfsense_demo"}, "-tags=pfsense_demo"},
		{"no tag", []string{"-trimpath"}, "-tags="},
		{"paths of the machine", []string{"-tags", tags}, "-trimpath="},
	} {
		path := filepath.Join(bin, "mcpsign")
		cmd := exec.Command("go", append(append([]string{"build", "-o", path}, row.args...), "./cmd/mcpsign")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", row.name, err, out)
		}
		_, _, err := readBuild(path, "mcpsign")
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if _, _, err := readBuild(path, "executord"); err == nil {
			t.Errorf("%s: mcpsign passes for executord", row.name)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "mcpsign"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readBuild(filepath.Join(bin, "mcpsign"), "mcpsign"); err == nil {
		t.Error("a script passes for a program")
	}
}

// packages are made twice, from the sources on.
func packages(t *testing.T) [2]string {
	t.Helper()
	t.Chdir("../..")
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	var out [2]string
	for i := range out {
		out[i] = filepath.Join(t.TempDir(), "dist")
		t.Setenv("TMPDIR", t.TempDir())
		if _, err := run(out[i], "1.2.3", "", []string{"deb", "rpm"}, false); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestTwoBuildsMakeTheSamePackagesAndTheyHoldWhatTheyShould(t *testing.T) {
	made := packages(t)
	entries, err := os.ReadDir(made[0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		a, errA := os.ReadFile(filepath.Join(made[0], e.Name()))
		b, errB := os.ReadFile(filepath.Join(made[1], e.Name()))
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two builds differ (%v)", e.Name(), err)
		}
	}
	if len(names) != 4 || !slices.Contains(names, sumsFile) {
		t.Fatalf("made: %v", names)
	}
	sums, err := exec.Command("sh", "-c", `cd "$1" && sha256sum -c `+sumsFile, "sh", made[0]).CombinedOutput()
	if err != nil || strings.Count(string(sums), ": OK") != 3 {
		t.Errorf("sha256sum -c: %v\n%s", err, sums)
	}
	debs, err := filepath.Glob(filepath.Join(made[0], "*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatal(debs, err)
	}
	holds(t, debs[0])
	bill, err := os.ReadFile(filepath.Join(made[0], "pfsense-mcp-1.2.3.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	accounts(t, bill)
}

// holds looks into a .deb.
func holds(t *testing.T, path string) {
	t.Helper()
	data, control := members(t, path)
	mode := map[string]int64{}
	for name, f := range data {
		mode[name] = f.mode
		if f.uid != 0 || f.gid != 0 || f.owner != "root" || f.group != "root" {
			t.Errorf("%s belongs to %s:%s", name, f.owner, f.group)
		}
		if f.mode&0o7022 != 0 {
			t.Errorf("%s has mode %o", name, f.mode)
		}
	}
	want := map[string]int64{"etc/pfsense-mcp/credentials/": 0o700, docDir + "/copyright": 0o644, docDir + "/README.md": 0o644, docDir + "/docs/tools.md": 0o644, "usr/share/bash-completion/completions/mcpctl": 0o644}
	var settings []string
	for _, p := range programs {
		want["usr/bin/"+p] = 0o755
		if _, err := os.Stat("deploy/systemd/examples/" + p + ".toml"); err == nil {
			want["etc/pfsense-mcp/"+p+".toml"] = 0o644
			settings = append(settings, "/etc/pfsense-mcp/"+p+".toml")
		}
	}
	for from, to := range map[string]string{
		"units": "usr/lib/systemd/system/", "sysusers.d": "usr/lib/sysusers.d/", "tmpfiles.d": "usr/lib/tmpfiles.d/", "examples": docDir + "/examples/",
	} {
		files, err := os.ReadDir("deploy/systemd/" + from)
		if err != nil || len(files) == 0 {
			t.Fatal(from, err)
		}
		for _, f := range files {
			want[to+f.Name()] = 0o644
		}
	}
	pages, err := filepath.Glob("deploy/systemd/man/*")
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	for _, page := range pages {
		want["usr/share/man/man"+strings.TrimPrefix(filepath.Ext(page), ".")+"/"+filepath.Base(page)+".gz"] = 0o644
	}
	for name, m := range want {
		if have, ok := mode[name]; !ok || have != m {
			t.Errorf("%s: mode %o, want %o", name, have, m)
		}
	}
	for name := range mode {
		if strings.Contains(name, "fakepf") || strings.Contains(name, "demo/") {
			t.Errorf("the package has %s", name)
		}
	}
	conf := strings.Fields(string(control["conffiles"].body))
	slices.Sort(conf)
	slices.Sort(settings)
	if !slices.Equal(conf, settings) || len(settings) != 4 {
		t.Errorf("the settings that an upgrade keeps: %v, want %v", conf, settings)
	}
	for script, from := range map[string]string{"postinst": "postinstall.sh", "prerm": "preremove.sh", "postrm": "postremove.sh"} {
		b, err := os.ReadFile("deploy/package/" + from)
		if err != nil || !bytes.Equal(b, control[script].body) {
			t.Errorf("%s is not %s (%v)", script, from, err)
		}
	}
}

// accounts looks at a bill of materials.
func accounts(t *testing.T, text []byte) {
	t.Helper()
	var doc bom
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{doc.Metadata.Component.Ref: true}
	for _, c := range doc.Components {
		if known[c.Ref] {
			t.Errorf("%s stands twice", c.Ref)
		}
		known[c.Ref] = true
		if len(c.Licences) != 1 || c.Licences[0].Expression == "" || c.Version == "" {
			t.Errorf("%s: version %q, licences %v", c.Ref, c.Version, c.Licences)
		}
		if c.Type == "library" && c.Name != standard && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("%s has no checksum: %v", c.Ref, c.Properties)
		}
	}
	for _, p := range programs {
		if !known["pfsense-mcp/"+p] {
			t.Errorf("%s is not in the bill", p)
		}
	}
	if !strings.Contains(string(text), `"name": "`+standard+`"`) {
		t.Error("the standard library is not in the bill")
	}
	for _, d := range doc.Dependencies {
		for _, to := range append(d.DependsOn, d.Ref) {
			if !known[to] {
				t.Errorf("%s links %s, which is no component", d.Ref, to)
			}
		}
	}
	if len(doc.Dependencies) != len(programs)+1 {
		t.Errorf("%d say what they link", len(doc.Dependencies))
	}
}

type member struct {
	mode         int64
	uid, gid     int
	owner, group string
	body         []byte
}

// members reads both archives of a .deb: an ar of three members, each behind a
// header of 60 bytes and padded to an even length.
func members(t *testing.T, path string) (data, control map[string]member) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const magic = "!<arch>\n"
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		t.Fatal("no ar archive")
	}
	for len(rest) >= 60 {
		name := strings.TrimRight(strings.TrimSpace(string(rest[:16])), "/")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || 60+size > len(rest) {
			t.Fatal("a broken ar archive", err)
		}
		body := rest[60 : 60+size]
		rest = rest[min(len(rest), 60+size+size%2):]
		switch name {
		case "data.tar.gz":
			data = untar(t, body)
		case "control.tar.gz":
			control = untar(t, body)
		}
	}
	if data == nil || control == nil {
		t.Fatal("a .deb without data or control")
	}
	return data, control
}

func untar(t *testing.T, b []byte) map[string]member {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]member{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(h.Name, "./")] = member{h.Mode, h.Uid, h.Gid, h.Uname, h.Gname, body}
	}
}

func TestALicenceThatNobodyReadIsAFault(t *testing.T) {
	t.Chdir("../..")
	table, err := readLicences(licenceFile)
	if err != nil {
		t.Fatal(err)
	}
	std := []module{{path: standard, version: "any"}}
	if got, err := table.match(std); err != nil || got[standard].spdx != "BSD-3-Clause" || len(got[standard].files[0].text) == 0 {
		t.Errorf("std: %v %v", got[standard].spdx, err)
	}
	if _, err := (licenceTable{}).match(std); err == nil || !strings.Contains(err.Error(), "has no line") {
		t.Errorf("a module without a line: %v", err)
	}
	changed := licenceTable{standard: {spdx: "BSD-3-Clause", files: []licenceText{{name: "LICENSE", sha256: strings.Repeat("0", 64)}}}}
	if _, err := changed.match(std); err == nil || !strings.Contains(err.Error(), "not the text that was read") {
		t.Errorf("another text: %v", err)
	}
	for _, line := range []string{"a", "a\tMIT", "a\tMIT\tLICENSE", "a\tMIT\tLICENSE=12", "a\tMIT\t../LICENSE=" + strings.Repeat("0", 64), "a\tMIT\tL=" + strings.Repeat("0", 64) + "\na\tMIT\tL=" + strings.Repeat("0", 64)} {
		path := filepath.Join(t.TempDir(), "licences.txt")
		if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLicences(path); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
