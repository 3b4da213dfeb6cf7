package openapi

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/openapi/plain"
)

// The headings of an operation's description, as lines.
const (
	headDescription = "Description:"
	headDetails     = "Details:"
)

// describe takes an operation's description apart: the text, and the labels below
// the heading Details. A label that is not known to the letter is no label.
func (p *parser) describe(op *Operation, description string) {
	lines := plain.Lines(description)
	details := len(lines)
	for i, l := range lines {
		if l == headDetails {
			details = i
		}
	}
	text := lines[:details]
	if len(text) > 0 && text[0] == headDescription {
		text = text[1:]
	}
	op.Description, op.Cut = plain.Cut(strings.Join(text, " "), MaxDescription)
	for _, line := range lines[min(details+1, len(lines)):] {
		// In one label the colon is inside the bold marks.
		label, value, ok := strings.Cut(strings.ReplaceAll(line, "**", ""), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(label) {
		case "Endpoint type":
			op.Type = oneOf(value, map[string]string{"Singular": "Singular", "Plural": "Plural"})
		case "Associated model":
			op.Model = p.reference(value)
		case "Parent model":
			op.Parent = p.reference(value)
		case "Requires authentication":
			op.Auth = oneOf(value, map[string]string{"Yes": "yes", "No": "no"})
		case "Supported authentication modes":
			op.AuthModes = p.list(value)
		case "Allowed privileges":
			op.Privileges = p.list(value)
		case "Required packages":
			op.Packages = p.list(value)
		case "Applies immediately":
			op.Applies = oneOf(value, map[string]string{"Yes": "yes", "No": "no", "Not Applicable": "not_applicable"})
		case "Utilizes cache":
			op.Cache = p.reference(value)
		}
	}
}

// oneOf maps a value of a closed set; one outside it is not stated.
func oneOf(value string, set map[string]string) string { return set[value] }

// reference returns a name, or "" for None and for what is no name.
func (p *parser) reference(value string) string {
	if value == "None" {
		return ""
	}
	return p.Name([]byte(value))
}

// maxItems bounds a list: upstream's longest has three entries.
const maxItems = 256

// list reads "[ a, b ]". "[ None ]" is the empty list; an empty entry, or nothing
// between the brackets, makes it malformed.
func (p *parser) list(value string) List {
	inner, open := strings.CutPrefix(value, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	l := List{Stated: true, Malformed: !open || !closed}
	if strings.TrimSpace(inner) == "None" {
		return l
	}
	for item := range strings.SplitSeq(inner, ",") {
		n := p.Name([]byte(strings.TrimSpace(item)))
		if n == "" || len(l.Items) >= maxItems {
			l.Malformed = true
			break
		}
		if !slices.Contains(l.Items, n) {
			l.Items = append(l.Items, n)
		}
	}
	if l.Malformed {
		// Half a list would be read as the whole.
		l.Items = nil
	}
	return l
}

// condition splits a field's description into its text and the condition under
// which the field is available, which stands behind a line break and a sentence
// that announces it.
func condition(lines []string) (text, when string) {
	for i, l := range lines {
		if i > 0 && strings.Contains(strings.ToLower(l), "only available when") {
			rest := lines[i+1:]
			if len(rest) == 0 {
				rest = lines[i : i+1]
			}
			var parts []string
			for _, r := range rest {
				parts = append(parts, strings.TrimPrefix(r, "- "))
			}
			return strings.Join(lines[:i], " "), strings.Join(parts, "; ")
		}
	}
	return strings.Join(lines, " "), ""
}
