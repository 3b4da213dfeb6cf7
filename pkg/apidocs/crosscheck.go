package apidocs

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/openapi/contract"
)

// Verdict is what a privilege cross-check says of one tool.
type Verdict string

// The verdicts.
const (
	Match              Verdict = "match"                // both documents name the same privileges
	Drift              Verdict = "drift"                // they name different ones
	Explained          Verdict = "explained_difference" // one document cannot be asked, and the note says why
	SingleSource       Verdict = "single_source"        // there is no second document: consistent with itself alone
	PinnedDisagreement Verdict = "pinned_disagreement"  // no document names the privilege that this project derives
)

// pageAll stands in every list and says nothing.
const pageAll = "page-all"

// Checked is one tool's row.
type Checked struct {
	Tool      string   `json:"tool"`
	Path      string   `json:"path"`
	Pinned    string   `json:"pinned"`    // the privilege that this project derives from the path; a comment
	Upstream  []string `json:"upstream"`  // without page-all; null when not stated
	Appliance []string `json:"appliance"` // without page-all; null when not stated
	Verdict   Verdict  `json:"verdict"`
	Note      string   `json:"note"`
}

// CrossChecked is the report.
type CrossChecked struct {
	Rows    []Checked       `json:"rows"`
	Counts  map[Verdict]int `json:"counts"`
	PageAll int             `json:"page_all_only"` // rows in which both documents name nothing but page-all
}

// Clean says whether nothing was found that somebody must look at.
func (c *CrossChecked) Clean() bool { return c.Counts[Drift]+c.Counts[PinnedDisagreement] == 0 }

// CrossCheck compares, for every tool with an endpoint, the privileges that the two
// documents allow its GET with. The two sets are compared with each other, never
// through the derivation, which would hide a drift. A nil contract is one that
// cannot be had. It changes nothing and is no proof of any key's rights.
func CrossCheck(tools []*catalog.Tool, upstream, appliance *contract.Contract) *CrossChecked {
	out := &CrossChecked{Rows: []Checked{}, Counts: map[Verdict]int{Match: 0, Drift: 0, Explained: 0, SingleSource: 0, PinnedDisagreement: 0}}
	for _, t := range tools {
		if t.Path == "" {
			continue
		}
		row := Checked{Tool: t.Name, Path: t.Path, Pinned: catalog.Privilege(t)}
		row.Verdict, row.Note = check(&row, upstream, appliance)
		if row.Upstream != nil && row.Appliance != nil && len(row.Upstream) == 0 && len(row.Appliance) == 0 {
			out.PageAll++
		}
		out.Rows = append(out.Rows, row)
		out.Counts[row.Verdict]++
	}
	return out
}

func check(row *Checked, upstream, appliance *contract.Contract) (Verdict, string) {
	if upstream == nil {
		return Explained, "the published document was not consulted or cannot be read"
	}
	up, why := privileges(upstream, row.Path)
	if row.Upstream = up; up == nil {
		return Explained, "the published document " + why
	}
	if appliance == nil {
		if !slices.Contains(up, row.Pinned) {
			return PinnedDisagreement, "the published document does not name the privilege that is derived from the path"
		}
		return SingleSource, "there is no appliance's document to compare with"
	}
	app, why := privileges(appliance, row.Path)
	if row.Appliance = app; app == nil {
		return Explained, "the appliance's document " + why
	}
	switch {
	case !slices.Equal(up, app):
		return Drift, "the two documents name different privileges"
	case !slices.Contains(up, row.Pinned):
		note := "both documents agree, and do not name the privilege that is derived from the path"
		if len(up) == 0 {
			note = "both documents name nothing but page-all"
		}
		return PinnedDisagreement, note
	}
	return Match, ""
}

// privileges returns the privileges for GET on a path, sorted and without
// page-all, or nil and why there are none to compare.
func privileges(c *contract.Contract, path string) ([]string, string) {
	op, ok := c.Operations[contract.Key("GET", path)]
	switch {
	case !ok:
		for key := range c.Operations {
			if strings.HasSuffix(key, " "+path) {
				return nil, "has the path without GET"
			}
		}
		return nil, "does not have the path"
	case slices.Contains(op.Malformed, contract.LabelPrivileges):
		return nil, "has a list of privileges that is none"
	case op.Privileges == nil:
		return nil, "does not state the privileges"
	}
	out := slices.DeleteFunc(slices.Clone(op.Privileges), func(p string) bool { return p == pageAll })
	if out == nil {
		out = []string{}
	}
	slices.Sort(out)
	return slices.Compact(out), ""
}
