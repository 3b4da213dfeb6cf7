package guidance

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of guidance.md section 2; texts in characters.
const (
	maxTitle    = 200
	maxText     = 2000
	maxLicense  = 500
	maxReason   = 300
	minAnchor   = 2  // one word is on every page
	maxAnchor   = 40 // some 300 characters
	maxSources  = 3
	maxOverlays = 16 // a capability with more needs a new text, not another caveat
)

var (
	idForm       = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{2,63}$`)
	hashForm     = regexp.MustCompile(`^[0-9a-f]{64}$`)
	versionForm  = regexp.MustCompile(`^[1-9][0-9]?(\.[0-9]{1,3}){1,2}$`)
	snapshotForm = regexp.MustCompile(`^guidance-registry-[0-9]{4}-[0-9]{2}-[0-9]{2}[a-z]?$`)

	// The one form says all of it: https, the one host, no user, no port, no
	// query, no fragment, no escape and no way up.
	urlForm = regexp.MustCompile(`^https://docs\.netgate\.com/pfsense/en/latest/([a-z0-9]+(-[a-z0-9]+)*/)*[a-z0-9]+(-[a-z0-9]+)*\.html$`)
)

// fill moves the data into the registry while it checks every rule.
func (r *Registry) fill(all *data, capabilities []string) error {
	var f faults
	if !snapshotForm.MatchString(all.Snapshot) {
		f.add("registry", "snapshot_version is missing or not guidance-registry-YYYY-MM-DD")
	}
	for i := range all.Entries {
		e := &all.Entries[i]
		where := fmt.Sprintf("entry %.64q", cmp.Or(e.SourceID, fmt.Sprintf("number %d", i+1)))
		e.check(where, &f)
		if r.entries[e.SourceID] != nil {
			f.add(where, "source_id is used twice")
		}
		r.entries[e.SourceID] = e
	}
	for i := range all.Overlays {
		o := &all.Overlays[i]
		where := fmt.Sprintf("overlay %.64q", cmp.Or(o.ID, fmt.Sprintf("number %d", i+1)))
		o.check(where, &f)
		if r.overlays[o.ID] != nil || r.entries[o.ID] != nil {
			f.add(where, "overlay_id is used twice")
		}
		if !slices.Contains(capabilities, o.Capability) {
			f.add(where, "capability is none of the catalog's")
		}
		r.overlays[o.ID] = o
		r.caveats[o.Capability] = append(r.caveats[o.Capability], o)
	}
	r.cover(all, capabilities, &f)
	r.link(&f)
	return f.err()
}

// check holds an entry against the rules that need no other entry.
func (e *Entry) check(where string, f *faults) {
	if !idForm.MatchString(e.SourceID) {
		f.add(where, "source_id is not 3 to 64 of a-z 0-9 _ - beginning with a letter or digit")
	}
	checkText(where, "title", e.Title, maxTitle, f)
	checkURL(where, e.URL, f)
	checkScope(where, "pfsense_edition", e.Edition, "version_applicability", e.Version, f)
	checkEvidence(where, e.Evidence, f)
	if e.Mode != BundledSnapshot {
		f.add(where, "retrieval_mode is not bundled_snapshot")
	}
	checkText(where, "content_excerpt", e.Excerpt, maxText, f)
	checkHash(where, "content_hash", e.Hash, "content_excerpt", e.Excerpt, f)
	checkAnchor(where, e.AnchorWords, e.AnchorHash, f)
	checkText(where, "license_note", e.License, maxLicense, f)
}

// check holds an overlay against the rules that need nothing else.
func (o *Overlay) check(where string, f *faults) {
	if !idForm.MatchString(o.ID) {
		f.add(where, "overlay_id is not 3 to 64 of a-z 0-9 _ - beginning with a letter or digit")
	}
	checkURL(where, o.URL, f)
	checkScope(where, "applies_to_edition", o.Edition, "applies_to_version", o.Version, f)
	checkEvidence(where, o.Evidence, f)
	checkText(where, "caveat_summary", o.Caveat, maxText, f)
	checkHash(where, "caveat_hash", o.CaveatHash, "caveat_summary", o.Caveat, f)
	checkAnchor(where, o.AnchorWords, o.AnchorHash, f)
}

func checkURL(where, url string, f *faults) {
	if !urlForm.MatchString(url) {
		f.add(where, "canonical_url is not a page below https://docs.netgate.com/pfsense/en/latest/ without user, port, query and fragment")
	}
}

func checkScope(where, editionField, edition, versionField, version string, f *faults) {
	observed, ok := map[string]string{EditionCE: KnownCE, EditionPlus: KnownPlus, EditionBoth: ""}[edition]
	if !ok {
		f.add(where, editionField+" is none of CE, Plus, both")
	}
	if version == Unversioned {
		return
	}
	if !versionForm.MatchString(version) {
		f.add(where, versionField+" is neither unversioned nor one base version such as 2.8.1 or 25.07")
	} else if ok && observed != "" && EditionOf(version) != observed {
		f.add(where, versionField+" names a version of the other edition")
	}
}

func checkEvidence(where, level string, f *faults) {
	switch level {
	case ExplicitVersionScoped, ExplicitUnversioned, Inferred, UnknownEvidence:
	default:
		f.add(where, "evidence_level is none of the four")
	}
}

// checkText holds a text to its bound and to characters that show as what they
// are: no control, no invisible or reordering character, no line end.
func checkText(where, field, text string, most int, f *faults) {
	switch {
	case text == "":
		f.add(where, field+" is missing")
	case utf8.RuneCountInString(text) > most:
		f.add(where, fmt.Sprintf("%s has more than %d characters", field, most))
	case strings.TrimSpace(text) != text || strings.Contains(text, "  "):
		f.add(where, field+" has blanks that are none of its words")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
		f.add(where, field+" has a character that cannot be printed")
	}
}

func checkHash(where, field, hash, textField, text string, f *faults) {
	switch {
	case !hashForm.MatchString(hash):
		f.add(where, field+" is not 64 lower-case hexadecimal digits")
	case Digest(text) != hash:
		f.add(where, field+" is not the digest of "+textField)
	}
}

func checkAnchor(where string, words int, hash string, f *faults) {
	if words < minAnchor || words > maxAnchor {
		f.add(where, fmt.Sprintf("source_verification_words is not %d to %d", minAnchor, maxAnchor))
	}
	if !hashForm.MatchString(hash) {
		f.add(where, "source_verification_hash is not 64 lower-case hexadecimal digits")
	}
}

// cover checks that every capability has its entries or its reason, and that
// every entry belongs to one.
func (r *Registry) cover(all *data, capabilities []string, f *faults) {
	seen, used := map[string]bool{}, map[string]bool{}
	once := func(where, capability string) {
		if !slices.Contains(capabilities, capability) {
			f.add(where, "capability is none of the catalog's")
		}
		if seen[capability] {
			f.add(where, "the capability stands on the lists twice")
		}
		seen[capability] = true
	}
	for _, c := range all.Coverage {
		where := fmt.Sprintf("coverage of %.64q", c.Capability)
		once(where, c.Capability)
		if n := len(c.Sources); n < 1 || n > maxSources {
			f.add(where, fmt.Sprintf("it has %d sources, not 1 to %d", n, maxSources))
		}
		for i, id := range c.Sources {
			e := r.entries[id]
			switch {
			case e == nil:
				f.add(where, fmt.Sprintf("source %.64q is no entry", id))
			case slices.Contains(c.Sources[:i], id):
				f.add(where, fmt.Sprintf("source %.64q stands twice", id))
			default:
				used[id] = true
				r.coverage[c.Capability] = append(r.coverage[c.Capability], e)
			}
		}
	}
	for _, w := range all.Without {
		where := fmt.Sprintf("without %.64q", w.Capability)
		once(where, w.Capability)
		checkText(where, "reason", w.Reason, maxReason, f)
		r.without[w.Capability] = w.Reason
	}
	for _, c := range capabilities {
		if !seen[c] {
			f.add(fmt.Sprintf("capability %q", c), "it is neither covered nor on the list without guidance")
		}
	}
	for i := range all.Entries {
		if e := &all.Entries[i]; !used[e.SourceID] {
			f.add(fmt.Sprintf("entry %.64q", e.SourceID), "no capability uses it")
		}
	}
}

// link checks how overlays hang together: what they supersede is there, no
// chain runs in a circle, and no two say something about the same appliance
// without one of them having the last word.
func (r *Registry) link(f *faults) {
	for _, capability := range slices.Sorted(maps.Keys(r.caveats)) {
		list := r.caveats[capability]
		slices.SortFunc(list, func(a, b *Overlay) int { return strings.Compare(a.ID, b.ID) })
		if len(list) > maxOverlays {
			f.add(fmt.Sprintf("capability %.64q", capability), fmt.Sprintf("it has more than %d overlays", maxOverlays))
		}
		for i, o := range list {
			where := fmt.Sprintf("overlay %.64q", o.ID)
			r.linkOne(where, o, f)
			for _, other := range list[:i] {
				if o.Version == other.Version && compatible(o.Edition, other.Edition) && !r.reaches(o, other.ID) && !r.reaches(other, o.ID) {
					f.add(where, fmt.Sprintf("it conflicts with overlay %.64q: same capability, edition and version, and neither supersedes the other", other.ID))
				}
			}
		}
	}
}

func (r *Registry) linkOne(where string, o *Overlay, f *faults) {
	if o.Supersedes == "" {
		return
	}
	e, older := r.entries[o.Supersedes], r.overlays[o.Supersedes]
	switch {
	case e == nil && older == nil:
		f.add(where, "supersedes_id is neither an entry nor an overlay")
	case older != nil && older.Capability != o.Capability, e != nil && !slices.Contains(r.coverage[o.Capability], e):
		f.add(where, "supersedes_id belongs to another capability")
	case r.reaches(o, o.ID):
		f.add(where, "supersedes_id runs in a circle")
	}
}

// compatible says whether two editions can mean one appliance.
func compatible(a, b string) bool { return a == b || a == EditionBoth || b == EditionBoth }
