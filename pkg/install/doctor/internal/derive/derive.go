// Package derive owns the proof that a privilege is the one which guards an endpoint:
// what this project derives from the path, and what the appliance's own document says,
// must be the same single name.
//
// doctor alone imports it. It must never choose: whatever is missing, malformed, several
// or different, there is no privilege.
//
// The attack it stops: a privilege granted because a document, or our own rule after a
// change of the package, said so alone.
package derive

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/openapi/contract"
)

// The reasons for which there is no privilege.
const (
	NoRule       = "no_rule"       // nothing can be derived from the path and the method
	NoPath       = "no_path"       // the document does not have the path
	NoMethod     = "no_method"     // or not the method on it
	NotStated    = "not_stated"    // the description, or the line about privileges, is missing
	Malformed    = "malformed"     // the line is no list, or has an empty entry
	PageAllOnly  = "page_all_only" // it names the privilege that holds all others, and no other
	Several      = "several"
	Disagreement = "disagreement" // it names one, and not the one that is derived
)

// everything stands in every list and says nothing.
const everything = "page-all"

// Privilege returns the privilege that guards a method of an endpoint, or "" and why
// there is none. The document is the appliance's.
func Privilege(c *contract.Contract, path, method string) (privilege, why string) {
	derived := catalog.PrivilegeFor(path, method)
	if derived == "" {
		return "", NoRule
	}
	op, ok := c.Operations[contract.Key(strings.ToUpper(method), path)]
	switch {
	case !ok && slices.ContainsFunc(verbs(), func(v string) bool { _, has := c.Operations[contract.Key(v, path)]; return has }):
		return "", NoMethod
	case !ok:
		return "", NoPath
	case slices.Contains(op.Malformed, contract.LabelPrivileges):
		return "", Malformed
	case op.Privileges == nil:
		return "", NotStated
	}
	var left []string
	for _, p := range op.Privileges {
		if p == "" {
			return "", Malformed
		}
		if p != everything && !slices.Contains(left, p) {
			left = append(left, p)
		}
	}
	switch {
	case len(op.Privileges) == 0:
		return "", NotStated
	case len(left) == 0:
		return "", PageAllOnly
	case len(left) > 1:
		return "", Several
	case left[0] != derived:
		return "", Disagreement
	}
	return derived, ""
}

func verbs() []string { return []string{"GET", "POST", "PUT", "PATCH", "DELETE"} }
