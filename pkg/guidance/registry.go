package guidance

import (
	"embed"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
)

// The closed sets of the registry.
const (
	EditionCE   = "CE"
	EditionPlus = "Plus"
	EditionBoth = "both"

	Unversioned = "unversioned"

	ExplicitVersionScoped = "explicit_version_scoped"    // the page names the versions it covers
	ExplicitUnversioned   = "explicit_unversioned"       // the page says that it holds for every version
	Inferred              = "inferred_from_current_docs" // an undated page without a stated scope
	UnknownEvidence       = "unknown"                    // how strong it is was not established

	BundledSnapshot = "bundled_snapshot" // the only retrieval mode: nothing is fetched
	TrustLabel      = "pinned-snapshot"
)

// Entry is one page of the vendor's documentation and this project's text about
// it. Entries are shared and never change after Load.
type Entry struct {
	SourceID string `toml:"source_id"`     // ^[a-z0-9][a-z0-9_-]{2,63}$
	Title    string `toml:"title"`         // at most 200 characters
	URL      string `toml:"canonical_url"` // a page below https://docs.netgate.com/pfsense/en/latest/
	Edition  string `toml:"pfsense_edition"`
	Version  string `toml:"version_applicability"` // Unversioned, or one exact base version
	Evidence string `toml:"evidence_level"`
	Mode     string `toml:"retrieval_mode"`
	Excerpt  string `toml:"content_excerpt"` // ours; at most 2,000 characters, shown verbatim
	Hash     string `toml:"content_hash"`    // Digest of Excerpt

	// The anchor: a phrase of the page, kept only as Anchor keeps it. It never
	// leaves the registry.
	AnchorWords int    `toml:"source_verification_words"`
	AnchorHash  string `toml:"source_verification_hash"`

	License string `toml:"license_note"` // at most 500 characters; never shown either
}

// Overlay is a later word on a capability: a release note or an erratum that
// adds a caveat, or takes an entry or an older overlay out of date.
type Overlay struct {
	ID          string `toml:"overlay_id"` // as a source_id, and different from all of them
	Capability  string `toml:"capability"`
	Version     string `toml:"applies_to_version"`
	Edition     string `toml:"applies_to_edition"`
	Evidence    string `toml:"evidence_level"`
	Supersedes  string `toml:"supersedes_id"` // an entry or an overlay of the same capability; absent when none
	Caveat      string `toml:"caveat_summary"`
	CaveatHash  string `toml:"caveat_hash"`
	AnchorWords int    `toml:"source_verification_words"`
	AnchorHash  string `toml:"source_verification_hash"`
	URL         string `toml:"canonical_url"`
}

// Registry is the whole data, checked. It is safe for concurrent use, as nobody
// can change it.
type Registry struct {
	snapshot string
	entries  map[string]*Entry
	overlays map[string]*Overlay
	coverage map[string][]*Entry   // by capability, in the order of the data
	caveats  map[string][]*Overlay // by capability, sorted by id
	without  map[string]string     // capability to reason
}

//go:embed registry/*.toml
var bundled embed.FS

// Bundled returns the registry that is compiled in, held against the READ
// capabilities of the catalog. The error names every fault's entry and rule.
func Bundled() (*Registry, error) {
	sub, err := fs.Sub(bundled, "registry")
	if err != nil {
		return nil, err
	}
	return Load(sub, catalog.ReadCapabilities())
}

// Load reads the registry from the *.toml files at the top of fsys and refuses
// all of it for any fault. Every one of capabilities must be covered by one to
// three entries or stand on the list without guidance, and nothing else may.
func Load(fsys fs.FS, capabilities []string) (*Registry, error) {
	all, err := read(fsys)
	if err != nil {
		return nil, err
	}
	r := &Registry{
		snapshot: all.Snapshot,
		entries:  make(map[string]*Entry, len(all.Entries)),
		overlays: make(map[string]*Overlay, len(all.Overlays)),
		coverage: make(map[string][]*Entry, len(all.Coverage)),
		caveats:  map[string][]*Overlay{},
		without:  make(map[string]string, len(all.Without)),
	}
	if err := r.fill(all, capabilities); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot returns the id of this state of the data.
func (r *Registry) Snapshot() string { return r.snapshot }

// Covered returns the entries of a capability in the order of the data. Without
// any, it returns the reason why there are none.
func (r *Registry) Covered(capability string) (entries []*Entry, reason string) {
	return r.coverage[capability], r.without[capability]
}

// Known says whether the registry was loaded for a capability.
func (r *Registry) Known(capability string) bool {
	_, bare := r.without[capability]
	return bare || len(r.coverage[capability]) > 0
}

// Entries returns all entries, by id: for the maintainers' audit.
func (r *Registry) Entries() []*Entry {
	return slices.SortedFunc(maps.Values(r.entries), func(a, b *Entry) int { return strings.Compare(a.SourceID, b.SourceID) })
}

// Overlays returns all overlays, by id: for the maintainers' audit.
func (r *Registry) Overlays() []*Overlay {
	return slices.SortedFunc(maps.Values(r.overlays), func(a, b *Overlay) int { return strings.Compare(a.ID, b.ID) })
}
