package guidance

import (
	"cmp"
	"slices"
)

// State is how far an entry fits the appliance that was observed.
type State string

// The states, best first. Conflict is none: a registry with one does not load.
const (
	Applicable          State = "applicable"
	PartiallyApplicable State = "partially_applicable"
	VersionUnconfirmed  State = "version_unconfirmed"
	Stale               State = "stale"
	EditionMismatch     State = "edition_mismatch"
	NoGuidance          State = "no_official_guidance_found" // of a whole lookup alone
)

var stateOrder = []State{Applicable, PartiallyApplicable, VersionUnconfirmed, Stale, EditionMismatch, NoGuidance}

// Judged is one entry with its judgement.
type Judged struct {
	Entry *Entry
	State State

	// Chain holds the ids of the overlays behind the state: for Stale those
	// that supersede the entry, most superseded first, for PartiallyApplicable
	// those that add to it, by name. Empty otherwise.
	Chain []string

	// Mismatch is true when the entry names a version and another one was
	// observed. Where none was observed there is nothing to mismatch.
	Mismatch bool
}

// Lookup judges every entry of a capability against what was observed and
// returns them in the order of the data, with the worst of their states:
// NoGuidance when there is no entry. No entry is ever left out because it does
// not fit. Two calls with the same arguments return equal results.
func (r *Registry) Lookup(capability string, seen Observed) ([]Judged, State) {
	overall, entries := NoGuidance, r.coverage[capability]
	candidates := r.candidates(capability, seen)
	judged := make([]Judged, 0, len(entries))
	for _, e := range entries {
		j := r.judge(e, candidates, seen)
		if len(judged) == 0 || worse(j.State, overall) {
			overall = j.State
		}
		judged = append(judged, j)
	}
	return judged, overall
}

func worse(a, b State) bool {
	return slices.Index(stateOrder, a) > slices.Index(stateOrder, b)
}

// candidates are the overlays of a capability that speak of the appliance that
// was observed, by id. Of an unknown edition only what holds for both speaks.
func (r *Registry) candidates(capability string, seen Observed) []*Overlay {
	var out []*Overlay
	for _, o := range r.caveats[capability] {
		edition := o.Edition == EditionBoth || sameEdition(o.Edition, seen.Edition)
		version := o.Version == Unversioned || o.Version == seen.Version
		if edition && version {
			out = append(out, o)
		}
	}
	return out
}

func sameEdition(entry, observed string) bool {
	return entry == EditionCE && observed == KnownCE || entry == EditionPlus && observed == KnownPlus
}

// judge is the decision table: the first row that fits decides.
func (r *Registry) judge(e *Entry, candidates []*Overlay, seen Observed) Judged {
	j := Judged{Entry: e}
	versionFits := e.Version == Unversioned || e.Version == seen.Version
	j.Mismatch = !versionFits && seen.Version != ""

	var superseding []*Overlay
	for _, o := range candidates {
		if r.reaches(o, e.SourceID) {
			superseding = append(superseding, o)
		}
	}
	editionFits := e.Edition == EditionBoth || sameEdition(e.Edition, seen.Edition)
	switch {
	case !editionFits && seen.Edition != Unknown:
		j.State = EditionMismatch
	case len(superseding) > 0:
		j.State, j.Chain = Stale, r.oldestFirst(superseding)
	case !editionFits || !versionFits:
		j.State = VersionUnconfirmed
	case len(candidates) > 0:
		j.State, j.Chain = PartiallyApplicable, ids(candidates)
	default:
		j.State = Applicable
	}
	// Weak evidence proves no fit, however well everything else matches.
	if e.Evidence == Inferred || e.Evidence == UnknownEvidence {
		if j.State == Applicable || j.State == PartiallyApplicable {
			j.State, j.Chain = VersionUnconfirmed, nil
		}
	}
	return j
}

// reaches says whether an overlay supersedes id, directly or through others.
func (r *Registry) reaches(o *Overlay, id string) bool {
	// As many steps as there are overlays and no more: the check for circles
	// itself walks here.
	for range len(r.overlays) {
		if o == nil || o.Supersedes == "" {
			return false
		}
		if o.Supersedes == id {
			return true
		}
		o = r.overlays[o.Supersedes]
	}
	return false
}

// depth is the number of steps from an overlay down to the end of its chain.
func (r *Registry) depth(o *Overlay) int {
	n := 0
	for o != nil && o.Supersedes != "" && n <= len(r.overlays) {
		o = r.overlays[o.Supersedes]
		n++
	}
	return n
}

// oldestFirst orders overlays so that the current truth comes last.
func (r *Registry) oldestFirst(list []*Overlay) []string {
	slices.SortStableFunc(list, func(a, b *Overlay) int {
		return cmp.Or(cmp.Compare(r.depth(a), r.depth(b)), cmp.Compare(a.ID, b.ID))
	})
	return ids(list)
}

func ids(list []*Overlay) []string {
	out := make([]string, len(list))
	for i, o := range list {
		out[i] = o.ID
	}
	return out
}
