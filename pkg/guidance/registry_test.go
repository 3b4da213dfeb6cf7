package guidance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
)

func bundledRegistry(t testing.TB) *Registry {
	t.Helper()
	r, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheBundledRegistryCoversNearlyEverything(t *testing.T) {
	r := bundledRegistry(t)
	covered := 0
	for _, c := range catalog.ReadCapabilities() {
		entries, reason := r.Covered(c)
		switch {
		case len(entries) > 0 && reason == "":
			covered++
		case len(entries) == 0 && reason != "":
			t.Logf("%s: %s", c, reason)
		default:
			t.Errorf("%s has %d entries and the reason %q", c, len(entries), reason)
		}
	}
	if covered < 81 {
		t.Errorf("%d capabilities are covered, and 81 were", covered)
	}
	if len(r.overlays) != 0 {
		t.Error("the first overlay is here: its caveat needs a place in the answer")
	}
}

func TestEveryTextIsLongEnoughToHelpAndShortEnoughToRead(t *testing.T) {
	r := bundledRegistry(t)
	seen := map[string]string{}
	for id, e := range r.entries {
		if n := utf8.RuneCountInString(e.Excerpt); n < 300 || n > 900 {
			t.Errorf("%s has %d characters, not 300 to 900", id, n)
		}
		if other, ok := seen[e.Excerpt]; ok {
			t.Errorf("%s and %s have one text", id, other)
		}
		seen[e.Excerpt] = id
		if !strings.HasSuffix(e.Excerpt, ".") {
			t.Errorf("%s does not end with its sentence", id)
		}
		if !strings.Contains(e.License, "this project") || !strings.Contains(e.License, "quotes nothing") {
			t.Errorf("%s: the licence note does not say whose text it is", id)
		}
	}
}

func TestTheTwoShaperPagesAreNotCrossed(t *testing.T) {
	r := bundledRegistry(t)
	for capability, page := range map[string]string{
		"FIREWALL_TRAFFIC_SHAPER_READ":  "/trafficshaper/limiters.html",
		"FIREWALL_TRAFFIC_SHAPERS_READ": "/trafficshaper/index.html",
	} {
		entries, _ := r.Covered(capability)
		if len(entries) == 0 || !strings.HasSuffix(entries[0].URL, page) {
			t.Errorf("%s does not begin with %s", capability, page)
		}
	}
}

func TestWhatTheReferenceCoveredIsCovered(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "contract", "guidance-registry.tsv"))
	if err != nil {
		t.Skip("the shared contract is not here")
	}
	r := bundledRegistry(t)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		capability, _, _ := strings.Cut(line, "\t")
		if entries, _ := r.Covered(capability); len(entries) == 0 {
			t.Errorf("%s has no entry", capability)
		}
	}
}

func TestTheFixtureLoads(t *testing.T) {
	mustLoad(t, entryText("one", nil), entryText("two", nil), covering("one", "two"), overlayText("late", "one", nil))
}

// Each kind of fault refuses the whole registry, and the error names the entry
// and the rule.
func TestAnyFaultRefusesTheRegistry(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	text := func(s string) map[string]string {
		return map[string]string{"content_excerpt": quote(s), "content_hash": quote(Digest(s))}
	}
	one := func(over map[string]string) []string { return []string{entryText("one", over), covering("one")} }
	url := func(s string) []string {
		return one(map[string]string{"canonical_url": quote(s)})
	}
	with := func(parts ...string) []string {
		return append([]string{entryText("one", nil), covering("one")}, parts...)
	}
	late := func(over map[string]string) []string { return with(overlayText("late", "", over)) }

	for name, c := range map[string]struct {
		parts []string
		want  []string
	}{
		"an id with a capital":             {one(map[string]string{"source_id": quote("One")}), []string{`"One"`, "source_id is not"}},
		"an id of two letters":             {[]string{entryText("on", nil), covering("on")}, []string{`"on"`, "source_id is not"}},
		"an id of 65 letters":              {[]string{entryText(long(65), nil), covering(long(65))}, []string{"source_id is not"}},
		"an entry without an id":           {[]string{entryText("one", nil), entryText("two", map[string]string{"source_id": ""}), covering("one")}, []string{`"number 2"`, "source_id is not"}},
		"two entries with one id":          {[]string{entryText("one", nil), entryText("one", nil), covering("one")}, []string{`"one"`, "used twice"}},
		"no title":                         {one(map[string]string{"title": ""}), []string{`"one"`, "title is missing"}},
		"a title of 201 characters":        {one(map[string]string{"title": quote(long(201))}), []string{`"one"`, "title has more than 200"}},
		"http":                             {url("http://docs.netgate.com/pfsense/en/latest/a.html"), []string{`"one"`, "canonical_url"}},
		"another host":                     {url("https://docs.netgate.com.example.org/pfsense/en/latest/a.html"), []string{"canonical_url"}},
		"a host in capitals":               {url("https://Docs.netgate.com/pfsense/en/latest/a.html"), []string{"canonical_url"}},
		"a user in the address":            {url("https://docs.netgate.com@example.org/pfsense/en/latest/a.html"), []string{"canonical_url"}},
		"a user before the host":           {url("https://u:p@docs.netgate.com/pfsense/en/latest/a.html"), []string{"canonical_url"}},
		"a port":                           {url("https://docs.netgate.com:443/pfsense/en/latest/a.html"), []string{"canonical_url"}},
		"a query":                          {url("https://docs.netgate.com/pfsense/en/latest/a.html?x=1"), []string{"canonical_url"}},
		"an empty query":                   {url("https://docs.netgate.com/pfsense/en/latest/a.html?"), []string{"canonical_url"}},
		"a fragment":                       {url("https://docs.netgate.com/pfsense/en/latest/a.html#b"), []string{"canonical_url"}},
		"a path elsewhere":                 {url("https://docs.netgate.com/tnsr/en/latest/a.html"), []string{"canonical_url"}},
		"a path that climbs":               {url("https://docs.netgate.com/pfsense/en/latest/../../../a.html"), []string{"canonical_url"}},
		"an escape in the path":            {url("https://docs.netgate.com/pfsense/en/latest/%2e%2e/a.html"), []string{"canonical_url"}},
		"a line end after the address":     {url("https://docs.netgate.com/pfsense/en/latest/a.html\n"), []string{"canonical_url"}},
		"an unknown edition":               {one(map[string]string{"pfsense_edition": quote("ce")}), []string{`"one"`, "pfsense_edition is none"}},
		"a version range":                  {one(map[string]string{"version_applicability": quote("2.7 - 2.8")}), []string{`"one"`, "version_applicability is neither"}},
		"no version":                       {one(map[string]string{"version_applicability": ""}), []string{"version_applicability is neither"}},
		"a version of the other edition":   {one(map[string]string{"version_applicability": quote("25.07"), "pfsense_edition": quote("CE")}), []string{`"one"`, "the other edition"}},
		"an unknown evidence level":        {one(map[string]string{"evidence_level": quote("certain")}), []string{`"one"`, "evidence_level is none"}},
		"live retrieval":                   {one(map[string]string{"retrieval_mode": quote("live")}), []string{`"one"`, "retrieval_mode is not"}},
		"no text":                          {one(map[string]string{"content_excerpt": ""}), []string{`"one"`, "content_excerpt is missing"}},
		"a text of 2,001 characters":       {one(text(long(2001))), []string{`"one"`, "more than 2000"}},
		"a text with a line end":           {one(text("a\nb")), []string{`"one"`, "cannot be printed"}},
		"a text with a reordering mark":    {one(text("a\u202eb")), []string{`"one"`, "cannot be printed"}},
		"a text with blanks at its end":    {one(text("a ")), []string{`"one"`, "blanks"}},
		"a text that was changed":          {one(map[string]string{"content_excerpt": quote("changed")}), []string{`"one"`, "content_hash is not the digest"}},
		"a digest in capitals":             {one(map[string]string{"content_hash": quote(strings.ToUpper(Digest("What one covers.")))}), []string{`"one"`, "content_hash is not 64"}},
		"an anchor of one word":            {one(map[string]string{"source_verification_words": "1"}), []string{`"one"`, "source_verification_words"}},
		"an anchor of 41 words":            {one(map[string]string{"source_verification_words": "41"}), []string{"source_verification_words"}},
		"an anchor that is text":           {one(map[string]string{"source_verification_hash": quote("two words")}), []string{`"one"`, "source_verification_hash"}},
		"no licence note":                  {one(map[string]string{"license_note": ""}), []string{`"one"`, "license_note is missing"}},
		"a licence note of 501 characters": {one(map[string]string{"license_note": quote(long(501))}), []string{"license_note has more"}},
		"an unknown field":                 {one(map[string]string{"endpoint": quote("/x")}), []string{"all.toml", "unknown field"}},
		"a field in other letters":         {one(map[string]string{"title": "", "Title": quote("x")}), []string{"all.toml", `"Title"`}},
		"a field of another type":          {one(map[string]string{"source_verification_words": quote("2")}), []string{"all.toml", "not valid"}},
		"a field given twice":              {[]string{entryText("one", nil), "title = \"x\"\n", covering("one")}, []string{"all.toml", "not valid"}},
		"half a file":                      {[]string{"[[entry]\n"}, []string{"all.toml", "not valid", "line"}},

		"an overlay without an id":            {late(map[string]string{"overlay_id": ""}), []string{`"number 1"`, "overlay_id is not"}},
		"an overlay with an entry's id":       {with(overlayText("one", "", nil)), []string{`overlay "one"`, "used twice"}},
		"two overlays with one id":            {with(overlayText("late", "", nil), overlayText("late", "", nil)), []string{`"late"`, "used twice"}},
		"an overlay of an unknown capability": {late(map[string]string{"capability": quote("NO_READ")}), []string{`"late"`, "none of the catalog"}},
		"an overlay elsewhere":                {late(map[string]string{"canonical_url": quote("https://example.org/a.html")}), []string{`"late"`, "canonical_url"}},
		"an overlay of no edition":            {late(map[string]string{"applies_to_edition": quote("all")}), []string{`"late"`, "applies_to_edition"}},
		"an overlay of a version range":       {late(map[string]string{"applies_to_version": quote("2.x")}), []string{`"late"`, "applies_to_version"}},
		"an overlay of unknown evidence":      {late(map[string]string{"evidence_level": quote("")}), []string{`"late"`, "evidence_level"}},
		"a caveat that was changed":           {late(map[string]string{"caveat_summary": quote("changed")}), []string{`"late"`, "caveat_hash is not the digest"}},
		"a caveat of 2,001 characters":        {late(map[string]string{"caveat_summary": quote(long(2001)), "caveat_hash": quote(Digest(long(2001)))}), []string{`"late"`, "more than 2000"}},
		"an overlay without an anchor":        {late(map[string]string{"source_verification_words": ""}), []string{`"late"`, "source_verification_words"}},
		"an overlay that supersedes nothing":  {with(overlayText("late", "gone", nil)), []string{`"late"`, "neither an entry nor an overlay"}},
		"an overlay that supersedes itself":   {with(overlayText("late", "late", nil)), []string{`"late"`, "circle"}},
		"a circle of three":                   {with(overlayText("aaa", "bbb", nil), overlayText("bbb", "ccc", nil), overlayText("ccc", "aaa", nil)), []string{`"aaa"`, `"bbb"`, `"ccc"`, "circle"}},
		"two words about one appliance":       {with(overlayText("aaa", "", nil), overlayText("bbb", "", nil)), []string{`"bbb"`, `"aaa"`, "conflicts"}},
		"both and CE about one version": {with(
			overlayText("aaa", "", map[string]string{"applies_to_edition": quote("CE")}), overlayText("bbb", "one", nil)), []string{"conflicts"}},
		"an overlay on an entry of another capability": {[]string{
			entryText("one", nil), entryText("two", nil),
			table("coverage", map[string]string{"capability": quote(capA), "sources": `["one"]`}, nil),
			table("coverage", map[string]string{"capability": quote(capB), "sources": `["two"]`}, nil),
			overlayText("late", "two", nil),
		}, []string{`"late"`, "another capability"}},

		"a byte that TOML does not have":  {[]string{"\x00"}, []string{"all.toml"}},
		"an entry nobody uses":            {[]string{entryText("one", nil), entryText("two", nil), covering("one")}, []string{`"two"`, "no capability uses it"}},
		"a source that is no entry":       {[]string{entryText("one", nil), covering("one", "two")}, []string{capA, `"two"`, "is no entry"}},
		"a source twice":                  {[]string{entryText("one", nil), covering("one", "one")}, []string{capA, "stands twice"}},
		"no source":                       {[]string{entryText("one", nil), covering()}, []string{capA, "0 sources"}},
		"four sources":                    {[]string{entryText("one", nil), entryText("two", nil), entryText("three", nil), entryText("four", nil), covering("one", "two", "three", "four")}, []string{capA, "4 sources"}},
		"a capability on both lists":      {with(table("without", map[string]string{"capability": quote(capA), "reason": quote("x")}, nil)), []string{capA, "twice"}},
		"a capability without a reason":   {with(table("without", map[string]string{"capability": quote("X"), "reason": quote("")}, nil)), []string{"reason is missing"}},
		"a capability nobody knows":       {with(table("without", map[string]string{"capability": quote("NO_READ"), "reason": quote("x")}, nil)), []string{"NO_READ", "none of the catalog"}},
		"a capability on neither list":    {[]string{entryText("one", nil), table("coverage", map[string]string{"capability": quote(capA), "sources": `["one"]`}, nil)}, []string{capB, "neither covered nor"}},
		"a coverage nobody knows":         {with(table("coverage", map[string]string{"capability": quote("NO_READ"), "sources": `["one"]`}, nil)), []string{"NO_READ", "none of the catalog"}},
		"seventeen overlays on one thing": {with(manyOverlays(17)...), []string{capA, "more than 16 overlays"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(c.parts...)
			if err == nil {
				t.Fatal("it loads")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
			if e := errs.Public(err); e.Class != "registry" || e.Next == "" {
				t.Errorf("class %q, next %q", e.Class, e.Next)
			}
		})
	}
}

// manyOverlays returns a chain, as a conflict would be another fault.
func manyOverlays(n int) []string {
	var out []string
	below := "one"
	for i := range n {
		id := fmt.Sprintf("late_%02d", i)
		out = append(out, overlayText(id, below, nil))
		below = id
	}
	return out
}

func TestFaultsOfFiles(t *testing.T) {
	good := entryText("one", nil) + covering("one")
	for name, c := range map[string]struct {
		fsys fs.FS
		want string
	}{
		"no file":              {fstest.MapFS{"README": {}}, "it has no file"},
		"no snapshot":          {fstest.MapFS{"a.toml": {Data: []byte(good)}}, "snapshot_version is missing"},
		"a snapshot of no day": {fstest.MapFS{"a.toml": {Data: []byte("snapshot_version = \"latest\"\n" + good)}}, "snapshot_version is missing or not"},
		"two snapshots": {fstest.MapFS{
			"a.toml": {Data: []byte(header + good)}, "b.toml": {Data: []byte(header)},
		}, "by two files"},
		"a file that is too large": {fstest.MapFS{"a.toml": {Data: []byte("# " + strings.Repeat("x", maxFile))}}, "more than"},
		"a directory":              {fstest.MapFS{"a.toml": {Mode: fs.ModeDir}}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.fsys, []string{capA, capB})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAnErrorNamesTenFaultsAndCountsTheRest(t *testing.T) {
	var parts []string
	for i := range 30 {
		parts = append(parts, entryText(fmt.Sprintf("e%02d", i), nil))
	}
	_, err := loadText(append(parts, entryText("one", nil), covering("one"))...)
	if err == nil || !strings.Contains(err.Error(), "and 20 more") || len(err.Error()) > 2000 {
		t.Errorf("got %v", err)
	}
}

func TestTwoOverlaysThatAreLinkedOrApartDoNotConflict(t *testing.T) {
	base := entryText("one", nil) + covering("one")
	for name, parts := range map[string][]string{
		"linked":           {overlayText("aaa", "one", nil), overlayText("bbb", "aaa", nil)},
		"linked by a step": {overlayText("aaa", "one", nil), overlayText("bbb", "aaa", nil), overlayText("ccc", "bbb", nil)},
		"other versions":   {overlayText("aaa", "", map[string]string{"applies_to_version": quote("2.8.1")}), overlayText("bbb", "", nil)},
		"other editions":   {overlayText("aaa", "", map[string]string{"applies_to_edition": quote("CE")}), overlayText("bbb", "", map[string]string{"applies_to_edition": quote("Plus")})},
	} {
		if _, err := loadText(append([]string{base}, parts...)...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheBundledFilesAreAllThere(t *testing.T) {
	names, err := fs.Glob(bundled, "registry/*.toml")
	if err != nil || len(names) < 8 || !slices.IsSorted(names) {
		t.Errorf("%v, %v", names, err)
	}
}
