// Package standing owns how requests and contracts are shown: for a person, and as
// JSON.
//
// Only the inner packages of pkg/opctl import it. It asks nobody; everything in what it
// shows is executord's word, and an alias's name an outsider's, so it must never print
// a text that was not cleaned or spelt out.
//
// The attack it stops: a name or a closed word that drives the operator's terminal, or
// forges a line of the list.
package standing

import (
	"fmt"
	"io"
	"strings"
	"time"

	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/reason"
	"pfsensemcp/pkg/textsafe"
	"pfsensemcp/pkg/textsafe/spelling"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Request is a request as --json prints it. Times are Unix seconds, 0 for none.
type Request struct {
	ID          string  `json:"request_id"`
	Status      string  `json:"status"`
	Origin      string  `json:"origin"`
	UID         *uint32 `json:"asked_by_uid"` // as mcpd claims it; null for an operator's own
	Alias       string  `json:"alias_name"`
	OpenedAt    int64   `json:"opened_at"`
	ExpiresAt   int64   `json:"expires_at"`
	ConcludedAt int64   `json:"concluded_at"`
	Previews    uint32  `json:"preview_seq"`
	Contract    string  `json:"contract_id"`
	Projected   string  `json:"projected"` // what a poll would say now
	Result      string  `json:"result"`
	Next        string  `json:"next"`
}

// Contract is a contract as --json prints it. Times are Unix seconds, 0 for none.
type Contract struct {
	ID            string   `json:"contract_id"`
	Operation     string   `json:"operation_id"`
	Request       string   `json:"request_id"`
	State         string   `json:"state"`
	Version       uint32   `json:"state_version"`
	Boundary      string   `json:"send_boundary"`
	Origin        string   `json:"uncertainty_origin"`
	CreatedAt     int64    `json:"created_at"`
	ExpiresAt     int64    `json:"expires_at"`
	ConfirmedAt   int64    `json:"confirmed_at"`
	SettledAt     int64    `json:"settled_at"`
	Reason        string   `json:"reason"`
	Contended     bool     `json:"contended"`
	Look          string   `json:"look"`
	LandingUntil  int64    `json:"landing_window_until"`
	RollbackUntil int64    `json:"rollback_until"`
	AttestedOnly  bool     `json:"attested_only"`
	Released      bool     `json:"released"`
	Lab           bool     `json:"lab"`
	Next          string   `json:"next"`
	Digests       *Digests `json:"digests,omitempty"`
	state         executorpb.State
}

// Digests are a contract's, in hex, "" for none.
type Digests struct {
	Idempotency       string `json:"idempotency_key"`
	TargetIdentity    string `json:"target_identity"`
	TargetFingerprint string `json:"target_fingerprint"`
	Intent            string `json:"intent"`
	Snapshot          string `json:"snapshot"`
	Collection        string `json:"collection"`
	ExecutionIntent   string `json:"execution_intent"`
	Plan              string `json:"plan"`
	Confirmation      string `json:"confirmation"`
	Verified          string `json:"verified_target_fingerprint"`
}

// StateWord returns the word of a state.
func StateWord(s executorpb.State) string { return cli.Word(s.String(), "STATE_") }

// OfRequest reads a request of executord's.
func OfRequest(r *executorpb.Request) Request {
	return Request{
		ID: r.GetRequestId(), Status: cli.Word(r.GetStatus().String(), "REQUEST_STATUS_"), Origin: r.GetOrigin(), UID: r.Uid,
		Alias: r.GetAliasName(), OpenedAt: r.GetOpenedAt(), ExpiresAt: r.GetExpiresAt(), ConcludedAt: r.GetConcludedAt(),
		Previews: r.GetPreviewSeq(), Contract: r.GetContractId(), Projected: cli.Word(r.GetProjected().String(), "WRITE_STATE_"),
		Result: r.GetResult(), Next: r.GetNext(),
	}
}

// OfContract reads a contract of executord's; d may be nil.
func OfContract(c *executorpb.Contract, d *executorpb.Digests) Contract {
	out := Contract{
		ID: c.GetContractId(), Operation: c.GetOperationId(), Request: c.GetRequestId(), State: StateWord(c.GetState()), Version: c.GetStateVersion(),
		Boundary: c.GetSendBoundary(), Origin: c.GetUncertaintyOrigin(), CreatedAt: c.GetCreatedAt(), ExpiresAt: c.GetExpiresAt(),
		ConfirmedAt: c.GetConfirmedAt(), SettledAt: c.GetSettledAt(), Reason: c.GetReason(), Contended: c.GetContended(), Look: c.GetLook(),
		LandingUntil: c.GetLandingWindowUntil(), RollbackUntil: c.GetRollbackUntil(), AttestedOnly: c.GetAttestedOnly(), Released: c.GetReleased(),
		Lab: c.GetLab(), Next: c.GetNext(), state: c.GetState(),
	}
	if d != nil {
		out.Digests = &Digests{
			Idempotency: d.GetIdempotencyKey(), TargetIdentity: d.GetTargetIdentity(), TargetFingerprint: d.GetTargetFingerprint(), Intent: d.GetIntent(),
			Snapshot: d.GetSnapshot(), Collection: d.GetCollection(), ExecutionIntent: d.GetExecutionIntent(), Plan: d.GetPlan(),
			Confirmation: d.GetConfirmation(), Verified: d.GetVerifiedTargetFingerprint(),
		}
	}
	return out
}

// Print shows a request. Everything in it is executord's word, its alias an outsider's.
func (r *Request) Print(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "%s  %s\n", cli.Clean(r.ID), r.Status)
	cli.Row(w, "alias", spelling.Lines(r.Alias)...)
	cli.Row(w, "opened", cli.Around(r.OpenedAt, now)+", expires "+cli.Around(r.ExpiresAt, now))
	if r.ConcludedAt != 0 {
		cli.Row(w, "concluded", cli.Around(r.ConcludedAt, now)+": "+cli.Clean(r.Result))
	}
	cli.Row(w, "previews", fmt.Sprint(r.Previews))
	if r.Contract != "" {
		cli.Row(w, "contract", cli.Clean(r.Contract))
	}
	cli.Row(w, "a poll says", r.Projected)
	if r.Next != "" {
		cli.Row(w, "next", steps(r.Next)...)
	}
}

// steps returns what executord says comes next as the terminal may see it, a step a line.
func steps(s string) []string { return strings.Split(textsafe.Clean(s, cli.MaxError), "; ") }

// At returns the state.
func (c *Contract) At() executorpb.State { return c.state }

// Print shows a contract.
func (c *Contract) Print(w io.Writer, now time.Time) {
	if c.Lab {
		fmt.Fprintln(w, "*** LABORATORY: this store is not production's ***")
	}
	fmt.Fprintf(w, "%s  %s, version %d\n", cli.Clean(c.ID), c.State, c.Version)
	row := func(name, text string, shown bool) {
		if shown {
			cli.Row(w, name, text)
		}
	}
	row("request", cli.Clean(c.Request), c.Request != "")
	row("created", cli.Around(c.CreatedAt, now), c.CreatedAt != 0)
	row("expires", cli.Around(c.ExpiresAt, now), c.state == executorpb.State_STATE_PREPARED)
	row("confirmed", cli.Around(c.ConfirmedAt, now), c.ConfirmedAt != 0)
	row("settled", cli.Around(c.SettledAt, now), c.SettledAt != 0)
	row("reason", reason.Line(c.Reason), c.Reason != "")
	row("attested", "settled by attestation: on a signature alone; it can never be rolled back", c.AttestedOnly)
	row("released", "the target was let go by signature", c.Released)
	row("contended", "the exchange waited for a lock: another person's change made meanwhile may be lost; look at the appliance's recent changes", c.Contended)
	row("later look", lookText(c.Look), c.Look != "")
	row("may land", "the write may still arrive until "+cli.Around(c.LandingUntil, now)+"; that time is an assumption", c.LandingUntil != 0)
	row("undo", "possible until "+cli.Around(c.RollbackUntil, now), c.RollbackUntil != 0)
	if d := c.Digests; d != nil {
		for _, one := range []struct{ name, digest string }{
			{"idempotency", d.Idempotency},
			{"target", d.TargetIdentity},
			{"fingerprint", d.TargetFingerprint},
			{"intent", d.Intent},
			{"snapshot", d.Snapshot},
			{"collection", d.Collection},
			{"change", d.ExecutionIntent},
			{"plan", d.Plan},
			{"confirm", d.Confirmation},
			{"verified", d.Verified},
		} {
			row(one.name, cli.Clean(one.digest), one.digest != "")
		}
	}
	if c.Next != "" {
		cli.Row(w, "next", steps(c.Next)...)
	}
}

// lookText says what the third look, a minute after the change, has seen.
func lookText(s string) string {
	switch s {
	case "due":
		return "due: executord looks once more about a minute after the change"
	case "held":
		return "held: the text was still there about a minute later"
	case "reverted":
		return "REVERTED: the text was gone again about a minute later; somebody's apply or another change put the old one back"
	case "skipped":
		return "skipped: another change or an undo came first"
	case "unreadable":
		return "unreadable: the appliance could not be read then; look at the alias there"
	}
	return cli.Clean(s)
}
