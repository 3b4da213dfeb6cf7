package posture

import (
	"context"
	"fmt"
	"slices"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/reason"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// discovered is `mcpctl discover --json`.
type discovered struct {
	Capability    string   `json:"capability_posture"`
	WriteActive   uint32   `json:"write_capabilities_active"`
	WriteTotal    uint32   `json:"write_capabilities_total"`
	Endpoints     uint32   `json:"endpoints_allowed"`
	Constructible bool     `json:"constructible"`
	Why           string   `json:"why"`        // closed word for why not; "" when it is
	Quarantine    string   `json:"quarantine"` // closed word; "" when there is none
	Anchor        anchor   `json:"anchor"`
	Identity      identity `json:"identity"`
	Lab           bool     `json:"lab"`
	TestBuild     bool     `json:"test_build"`
	Next          string   `json:"next"`
}

// identity binds an approval to this executor and appliance; "" for what is not known.
type identity struct {
	Store         string `json:"store_id"`
	Build         string `json:"executor_build_id"`
	Policy        string `json:"policy_digest"`
	Authorities   string `json:"authority_set_digest"`
	Appliance     string `json:"appliance_target_digest"`
	AttestationID string `json:"attestation_key_id"`
	Account       string `json:"appliance_account"`
}

// discover is `mcpctl discover`.
func discover(ctx context.Context, c *suite.Call, args []string) error {
	if err := c.None(args); err != nil {
		return err
	}
	var r *executorpb.DiscoverResponse
	err := c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.Discover(ctx, &executorpb.DiscoverRequest{})
		return err
	})
	if err != nil {
		return err
	}
	p, i := r.GetPosture(), r.GetIdentity()
	d := discovered{
		Capability: p.GetCapabilityPosture(), WriteActive: p.GetWriteCapabilitiesActive(), WriteTotal: p.GetWriteCapabilitiesTotal(),
		Endpoints: p.GetEndpointsAllowed(), Constructible: p.GetConstructible(), Why: p.GetWhy(), Quarantine: p.GetQuarantine(),
		Anchor: ofAnchor(r.GetAnchor()), Lab: r.GetLab(), TestBuild: r.GetTestBuild(),
		Identity: identity{
			Store: i.GetStoreId(), Build: i.GetExecutorBuildId(), Policy: i.GetPolicyDigest(), Authorities: i.GetAuthoritySetDigest(),
			Appliance: i.GetApplianceTargetDigest(), AttestationID: i.GetAttestationKeyId(), Account: i.GetApplianceAccount(),
		},
	}
	d.Next = d.next()
	if *c.JSON {
		err = cli.WriteJSON(c.Out, d)
	} else {
		d.print(c)
	}
	if err == nil && d.differs() {
		err = cli.Exit(cli.ExitUsage)
	}
	return err
}

// differs says whether things that must agree do not. A counter that does not answer
// is not such a thing.
func (d *discovered) differs() bool {
	away := []string{"", "anchor_unreachable", "anchor_unavailable"}
	return d.Anchor.differs() || !slices.Contains(away, d.Quarantine)
}

func (d *discovered) next() string {
	m, known := reason.Of(d.Quarantine)
	switch {
	case d.Quarantine != "" && known && m.Do != "":
		return m.Do
	case d.Quarantine != "" || d.Anchor.differs():
		return "mcpctl anchor status, then mcpctl audit verify"
	case d.Why == "unprovisioned":
		return "mcpctl anchor status names the next step"
	case d.Anchor.Evidence == change.EvidenceUnconfigured:
		return "nothing, unless changes shall be asked for: then mcpctl setup --write"
	case d.Constructible:
		return "nothing; mcpctl write list shows what is open"
	}
	return "mcpctl doctor write"
}

func (d *discovered) print(c *suite.Call) {
	if d.Lab {
		fmt.Fprintln(c.Out, "*** LABORATORY: this store is not production's ***")
	}
	if d.TestBuild {
		fmt.Fprintln(c.Out, "*** TEST BUILD: this executor has shortened waiting times ***")
	}
	fmt.Fprintf(c.Out, "posture %s\n", cli.Clean(d.Capability))
	cli.Row(c.Out, "writing", fmt.Sprintf("%d of %d capabilities, %d endpoints allowed", d.WriteActive, d.WriteTotal, d.Endpoints))
	switch {
	case d.Constructible:
		cli.Row(c.Out, "write tool", "may be offered")
	case d.Why != "" && d.Why != d.Quarantine:
		cli.Row(c.Out, "write tool", "not offered", word(d.Why))
	default:
		cli.Row(c.Out, "write tool", "not offered")
	}
	if d.Quarantine != "" {
		cli.Row(c.Out, "QUARANTINE", word(d.Quarantine))
	}
	d.Anchor.print(c)
	for _, one := range []struct{ name, is string }{
		{"store", d.Identity.Store},
		{"build", d.Identity.Build},
		{"policy", d.Identity.Policy},
		{"owners", d.Identity.Authorities},
		{"appliance", d.Identity.Appliance},
		{"account", d.Identity.Account},
		{"attests", d.Identity.AttestationID},
	} {
		if one.is != "" {
			cli.Row(c.Out, one.name, cli.Clean(one.is))
		}
	}
	cli.Next(c.Out, d.Next)
}

// word shows a closed word, with its meaning.
func word(s string) string {
	switch s {
	case "write_off":
		return s + ": executord has no write configuration"
	case "write_disabled":
		return s + ": the setting write.enabled is off"
	case "unprovisioned":
		return s + ": the store is not tied to a counter yet"
	case "quarantine":
		return s + ": something must be settled first"
	}
	if _, ok := reason.Of(s); ok {
		return reason.Line(s)
	}
	return cli.Clean(s)
}

// analysed is `mcpctl plan --json`.
type analysed struct {
	Validity   string `json:"target_validity"`
	Status     string `json:"overall_status"`
	Safe       bool   `json:"safe_to_proceed"` // of the analysis; it approves nothing
	Capability string `json:"capability_transition"`
	Anchor     string `json:"anchor_transition"`
	Digest     string `json:"digest"`
	Steps      []step `json:"steps"`
	Next       string `json:"next"`
}

type step struct {
	Order         uint32 `json:"order"`
	ID            string `json:"step_id"`
	Axis          string `json:"axis"`
	Mutation      string `json:"mutation_class"`
	Authorization string `json:"authorization_required"`
	Blocked       bool   `json:"blocked"`
	Description   string `json:"description"`
}

// plan is `mcpctl plan`.
func plan(ctx context.Context, c *suite.Call, args []string) error {
	posture := c.FS.String("capability-posture", "", "the wanted posture `P`: read_only or write_protected")
	assurance := c.FS.String("anchor-assurance", "", "the wanted assurance `A`: none, software or hardware_witness")
	if err := c.None(args); err != nil {
		return err
	}
	if !slices.Contains([]string{change.PostureReadOnly, change.PostureWriteProtected}, *posture) ||
		!slices.Contains([]string{change.AssuranceNone, change.AssuranceSoftware, change.AssuranceHardware}, *assurance) {
		return c.Misuse("both targets are needed, each one of its words")
	}
	var r *executorpb.PlanResponse
	err := c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.Plan(ctx, &executorpb.PlanRequest{CapabilityPosture: *posture, AnchorAssurance: *assurance})
		return err
	})
	if err != nil {
		return err
	}
	a := analysed{
		Validity: r.GetTargetValidity(), Status: r.GetOverallStatus(), Safe: r.GetSafeToProceed(), Capability: r.GetCapabilityTransition(),
		Anchor: r.GetAnchorTransition(), Digest: r.GetDigest(), Steps: []step{},
	}
	for _, s := range r.GetSteps() {
		a.Steps = append(a.Steps, step{s.GetOrder(), s.GetStepId(), s.GetAxis(), s.GetMutationClass(), s.GetAuthorizationRequired(), s.GetBlocked(), s.GetDescription()})
	}
	code, what := verdict(a.Status)
	a.Next = what
	if *c.JSON {
		err = cli.WriteJSON(c.Out, a)
	} else {
		a.print(c)
	}
	if err == nil && code != cli.ExitOK {
		err = cli.Exit(code)
	}
	return err
}

// verdict is the exit code of a status, and what to do.
func verdict(status string) (code int, next string) {
	switch status {
	case "already_satisfied":
		return cli.ExitOK, "nothing: this is the posture of now"
	case "plan_generated":
		return cli.ExitOK, "take the steps in their order; this is an analysis, and permits none of them"
	case "blocked_not_implemented":
		return cli.ExitFail, "choose hardware_witness: a software counter is not implemented"
	case "blocked_invalid_target":
		return cli.ExitUsage, "choose another target: writing needs an anchor"
	case "blocked_anomaly_detected":
		return cli.ExitUsage, "store and counter differ: mcpctl anchor status"
	case "blocked_indeterminate_current_state":
		return cli.ExitUsage, "it is not clear how things stand: mcpctl discover, then mcpctl doctor write"
	}
	return cli.ExitUsage, "mcpctl does not know this answer; it and executord may be of different versions: mcpctl status"
}

func (a *analysed) print(c *suite.Call) {
	fmt.Fprintf(c.Out, "%s: an analysis, not an authorization\n", cli.Clean(a.Status))
	cli.Row(c.Out, "target", cli.Clean(a.Validity))
	cli.Row(c.Out, "moves", "capability "+cli.Clean(a.Capability)+", anchor "+cli.Clean(a.Anchor))
	cli.Row(c.Out, "safe", yesNo(a.Safe, "yes", "no"))
	for _, s := range a.Steps {
		title := fmt.Sprintf("%d %s", s.Order, cli.Clean(s.ID))
		if s.Blocked {
			title += " (decided each time)"
		}
		cli.Row(c.Out, "step", title, cli.Clean(s.Description), cli.Clean(s.Mutation)+", needs "+cli.Clean(s.Authorization))
	}
	if a.Digest != "" {
		cli.Row(c.Out, "digest", cli.Clean(a.Digest))
	}
	cli.Next(c.Out, a.Next)
}
