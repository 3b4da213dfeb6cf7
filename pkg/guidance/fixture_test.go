package guidance

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// The tests' own registries: two capabilities, and whatever entries and overlays
// a test wants.
const (
	capA = "FIREWALL_READ"
	capB = "ALIAS_READ"
)

// entryText returns an entry of a file; over holds the fields that differ.
func entryText(id string, over map[string]string) string {
	excerpt := "What " + id + " covers."
	return table("entry", map[string]string{
		"source_id":                 quote(id),
		"title":                     quote("Title of " + id),
		"canonical_url":             quote("https://docs.netgate.com/pfsense/en/latest/firewall/" + strings.ReplaceAll(id, "_", "-") + ".html"),
		"pfsense_edition":           quote(EditionBoth),
		"version_applicability":     quote(Unversioned),
		"evidence_level":            quote(ExplicitUnversioned),
		"retrieval_mode":            quote(BundledSnapshot),
		"content_excerpt":           quote(excerpt),
		"content_hash":              quote(Digest(excerpt)),
		"source_verification_words": "2",
		"source_verification_hash":  quote(Digest("two words")),
		"license_note":              quote("ours"),
	}, over)
}

// overlayText returns an overlay of capA.
func overlayText(id, supersedes string, over map[string]string) string {
	caveat := "What " + id + " adds."
	fields := map[string]string{
		"overlay_id":                quote(id),
		"capability":                quote(capA),
		"applies_to_version":        quote(Unversioned),
		"applies_to_edition":        quote(EditionBoth),
		"evidence_level":            quote(ExplicitUnversioned),
		"caveat_summary":            quote(caveat),
		"caveat_hash":               quote(Digest(caveat)),
		"source_verification_words": "2",
		"source_verification_hash":  quote(Digest("two words")),
		"canonical_url":             quote("https://docs.netgate.com/pfsense/en/latest/releases/25-07.html"),
	}
	if supersedes != "" {
		fields["supersedes_id"] = quote(supersedes)
	}
	return table("overlay", fields, over)
}

// covering returns the lists for capA, which its sources cover, and capB, which
// has a reason.
func covering(sources ...string) string {
	quoted := make([]string, len(sources))
	for i, s := range sources {
		quoted[i] = quote(s)
	}
	return table("coverage", map[string]string{"capability": quote(capA), "sources": "[" + strings.Join(quoted, ", ") + "]"}, nil) +
		table("without", map[string]string{"capability": quote(capB), "reason": quote("no page")}, nil)
}

func table(name string, fields, over map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[%s]]\n", name)
	for key, value := range fields {
		if v, ok := over[key]; ok {
			value = v
		}
		if value != "" { // an empty value leaves the field out
			fmt.Fprintf(&b, "%s = %s\n", key, value)
		}
	}
	for key, value := range over {
		if _, ok := fields[key]; !ok {
			fmt.Fprintf(&b, "%s = %s\n", key, value)
		}
	}
	return b.String() + "\n"
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

const header = "snapshot_version = \"guidance-registry-2026-01-01\"\n\n"

// loadText loads a registry of one file.
func loadText(parts ...string) (*Registry, error) {
	fsys := fstest.MapFS{"all.toml": {Data: []byte(header + strings.Join(parts, ""))}}
	return Load(fsys, []string{capA, capB})
}

func mustLoad(t testing.TB, parts ...string) *Registry {
	t.Helper()
	r, err := loadText(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
