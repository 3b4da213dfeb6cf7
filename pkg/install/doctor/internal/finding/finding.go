// Package finding owns the form of a doctor's findings.
//
// doctor and its inner packages import it. It must never keep a text that did not go
// through textsafe: a detail may hold a daemon's words.
//
// The attack it stops: a daemon that was subverted driving the operator's terminal
// through a finding.
package finding

import "pfsensemcp/pkg/textsafe"

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	Pass          Status = "pass"
	Warn          Status = "warn"           // it works, and somebody should know
	Fail          Status = "fail"           // it is broken, or a wall is missing
	Unknown       Status = "unknown"        // it could not be looked at; the detail says why
	NotConfigured Status = "not_configured" // it is off by decision
)

// Check is one finding.
type Check struct {
	Part        string `json:"part"` // suite or write
	ID          string `json:"check_id"`
	Description string `json:"description"` // what holds when it passes
	Status      Status `json:"status"`
	Detail      string `json:"detail,omitempty"`
	Next        string `json:"next,omitempty"` // what to do, unless it passes
}

// maxText bounds one text, in bytes.
const maxText = 400

// List is the findings so far.
type List struct {
	Part   string // of what is added next
	Checks []Check
}

// Add appends a finding. Every text but the id may hold a daemon's words.
func (l *List) Add(id, description string, s Status, detail, next string) {
	if s == Pass || s == NotConfigured {
		next = ""
	}
	clean := func(s string) string { return textsafe.Clean(s, maxText) }
	l.Checks = append(l.Checks, Check{
		Part: l.Part, ID: id, Description: clean(description), Status: s, Detail: clean(detail), Next: clean(next),
	})
}
