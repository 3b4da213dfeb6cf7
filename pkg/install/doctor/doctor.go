// Package doctor owns the checks of `mcpctl doctor`: what the daemons say of
// themselves and of the appliance, what lies on the host, and whether a change could
// be asked for.
//
// Only opctl imports it. It reads and asks; it must never repair, delete, advance or
// retry anything, and shows no text of a daemon but through textsafe. Its questions
// to the appliance are few and paced by mcpd, because a doctor that triggers the
// login protection is the fault that it looks for.
//
// The attacks it stops: a wall that fell without anybody noticing (a member too many
// in the group that opens the inner sockets, a directory that others may write, one
// key for both identities), and a finding that was painted green by a daemon's words.
package doctor

import (
	"context"
	"slices"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/doctor/internal/finding"
	"pfsensemcp/pkg/install/doctor/internal/host"
	"pfsensemcp/pkg/openapi/contract"
	adminpb "pfsensemcp/proto/admin/v1"
	executorpb "pfsensemcp/proto/executor/v1"
)

// The form of a finding.
type (
	Status = finding.Status
	Check  = finding.Check
	// Host is the machine that the package is installed on.
	Host = host.Host
)

// The outcomes.
const (
	Pass          = finding.Pass
	Warn          = finding.Warn
	Fail          = finding.Fail
	Unknown       = finding.Unknown
	NotConfigured = finding.NotConfigured
)

// The parts of the doctor.
const (
	PartSuite = "suite"
	PartWrite = "write"
)

// Tool says whether the appliance lets the READ key do what a tool asks.
type Tool struct {
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"` // allowed, missing or unknown
	Missing []string `json:"missing,omitempty"`
}

// Report is everything that was found, in a fixed order.
type Report struct {
	Checks []Check `json:"checks"`
	Tools  []Tool  `json:"tools"`
}

// Config says what to look at. What is nil is not looked at.
type Config struct {
	Suite bool // the part suite
	Write bool // the part write

	Mcpd     adminpb.McpdClient
	Executor executorpb.AdminClient
	Host     *Host // nil for a suite that no package installed

	Probes   bool                  // ask the appliance for every privilege
	Progress func(done, total int) // of the probes; may be nil
	Version  string                // of the program that asks
	Built    time.Time             // when it was made; zero when that is not known
	Now      func() time.Time
}

// examination is one run.
type examination struct {
	Config
	finding.List
	ctx   context.Context
	tools []Tool

	facts   *adminpb.ApplianceFactsResponse // nil when mcpd did not answer
	members map[string]*adminpb.Member
	doc     *contract.Contract // the appliance's, once it was asked for
	docErr  error
}

// Run looks at everything that c names. It returns no error: what could not be
// looked at is a finding.
func Run(ctx context.Context, c Config) *Report {
	x := &examination{Config: c, ctx: ctx, members: map[string]*adminpb.Member{}}
	x.tools = []Tool{}
	x.Part = PartSuite
	x.ask() // the write part needs the answers too
	if c.Suite {
		x.daemons()
		x.appliance()
		x.readIdentity()
		if c.Host != nil {
			x.Host.Examine(ctx, &x.List, host.Moment{Now: x.Now(), Built: x.Built, Started: x.started()})
		}
	}
	if c.Write {
		x.Part = PartWrite
		x.write()
	}
	return &Report{Checks: x.Checks, Tools: x.tools}
}

// started is when each daemon says that it started.
func (x *examination) started() map[string]time.Time {
	out := map[string]time.Time{}
	for name, m := range x.members {
		if m.GetReachable() {
			out[name] = time.Unix(m.GetStatus().GetStartedAt(), 0)
		}
	}
	return out
}

// within bounds one question to a daemon that answers from memory, slow one to a
// daemon that asks the appliance or the TPM first.
const (
	within = 10 * time.Second
	slow   = 110 * time.Second
)

// problem is what an error says to a person.
func problem(err error) (detail, next string) {
	p := errs.Public(err)
	return p.Msg, p.Next
}

// The exit codes.
const (
	ExitOK       = 0
	ExitFail     = 1 // a check failed, or write was asked for and is not ready
	ExitMismatch = 2 // the store or the counter is not what it must be
)

// mismatch are the checks whose failure means that nothing may be believed until a
// person has looked.
var mismatch = []string{"store.integrity", "anchor.verified"}

// ExitCode returns the exit code. writeAsked says that the part write was asked for
// by name: then whatever is not ready counts.
func (r *Report) ExitCode(writeAsked bool) int {
	code := ExitOK
	for _, c := range r.Checks {
		switch {
		case c.Status == Fail && slices.Contains(mismatch, c.ID):
			return ExitMismatch
		case c.Status == Fail, writeAsked && c.Part == PartWrite && c.Status != Pass && c.Status != Warn:
			code = ExitFail
		}
	}
	return code
}

// Count returns how many checks have a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == s {
			n++
		}
	}
	return n
}
