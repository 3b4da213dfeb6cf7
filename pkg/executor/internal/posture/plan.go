package posture

import (
	"strings"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
)

// The words of a plan beside those of package change.
const (
	Valid          = "valid"
	Combination    = "invalid_combination"
	NotImplemented = "valid_not_implemented"

	StatusSatisfied      = "already_satisfied"
	StatusGenerated      = "plan_generated"
	StatusTarget         = "blocked_invalid_target"
	StatusImplementation = "blocked_not_implemented"
	StatusAnomaly        = "blocked_anomaly_detected"
	StatusIndeterminate  = "blocked_indeterminate_current_state"

	TransitionNone      = "no_change"
	TransitionUpgrade   = "upgrade"
	TransitionDowngrade = "downgrade"
	TransitionLateral   = "lateral"
)

// Explained is one step of a plan with what people read of it. Neither the text nor
// the mark is part of the digest.
type Explained struct {
	change.Step
	Order   int    // from 1
	Text    string // one sentence
	Blocked bool   // this plan cannot lead over the step
}

// Transitions say which way the two axes go; no_change where no step was derived.
type Transitions struct{ Capability, Anchor string }

// Analyse derives the plan from the evidence to a wanted posture (read_only,
// write_protected) and assurance (none, software, hardware_witness). Any other wanted
// word is errs.Invalid. Explained has one entry for each step of the plan, in its order.
func Analyse(ev change.Evidence, capability, assurance string, x change.Executor) (change.Plan, []Explained, Transitions, error) {
	if capability != change.PostureReadOnly && capability != change.PostureWriteProtected {
		return change.Plan{}, nil, Transitions{}, errs.New(errs.Invalid, "capability_posture must be read_only or write_protected").WithClass("request_validation")
	}
	if assurance != change.AssuranceNone && assurance != change.AssuranceSoftware && assurance != change.AssuranceHardware {
		return change.Plan{}, nil, Transitions{}, errs.New(errs.Invalid, "anchor_assurance must be none, software or hardware_witness").WithClass("request_validation")
	}
	ev.Baseline, ev.Witness = number(ev.Baseline), number(ev.Witness)
	p, steps, way := analyse(ev, capability, assurance)
	p.Executor = x
	for i := range steps {
		steps[i].Order = i + 1
		p.Steps = append(p.Steps, steps[i].Step)
	}
	return p, steps, way, nil
}

// Steady returns the plan of a change: from the evidence to protected writing with a
// hardware witness. Whether it may be acted on is for change.Plan.Executable to say.
func Steady(ev change.Evidence, x change.Executor) change.Plan {
	// The wanted words are right, so there is no error.
	p, _, _, _ := Analyse(ev, change.PostureWriteProtected, change.AssuranceHardware, x)
	return p
}

func analyse(ev change.Evidence, capability, assurance string) (p change.Plan, steps []Explained, way Transitions) {
	p = change.Plan{TargetPosture: capability, TargetAssurance: assurance, TargetValidity: Valid, Evidence: ev}
	way = Transitions{TransitionNone, TransitionNone}
	mismatch := ev.Anchor == change.EvidenceMismatch
	switch {
	case capability == change.PostureWriteProtected && assurance == change.AssuranceNone:
		// A write without a counter could be undone by restoring a file.
		p.TargetValidity, p.Status = Combination, StatusTarget
		return p, nil, way
	case assurance == change.AssuranceSoftware:
		p.TargetValidity, p.Status = NotImplemented, StatusImplementation
	}
	p.SafeToProceed = p.TargetValidity == Valid && !mismatch
	switch {
	case known(ev.Assurance) && (assurance != change.AssuranceSoftware || ev.Assurance == change.AssuranceHardware):
	case p.Status == "":
		p.Status = StatusIndeterminate
		return p, nil, way
	default:
		// Nobody has decided how a software anchor would come about.
		return p, nil, way
	}

	way.Anchor, way.Capability = moves(ev.Assurance, assurance), TransitionNone
	anchor, posture := anchorSteps(ev.Assurance, assurance), capabilitySteps(ev.Posture, capability)
	switch {
	case ev.Posture == capability:
	case capability == change.PostureWriteProtected:
		way.Capability = TransitionUpgrade
	default:
		way.Capability = TransitionDowngrade
	}
	if steps = append(anchor, posture...); way.Capability == TransitionDowngrade && way.Anchor == TransitionDowngrade {
		// Nothing may write while its anchor is being taken away.
		steps = append(posture, anchor...)
	}
	changes := false
	for i := range steps {
		s := &steps[i]
		changes = changes || s.MutationClass != "none" && s.ID != change.StepID
		// What a counter that disagrees means has to be found out before anything
		// is built on it.
		s.Blocked = s.ID == change.StepID || s.Level == change.LevelUndetermined || mismatch && s.MutationClass != "none"
	}
	switch {
	case mismatch:
		p.Status = StatusAnomaly
	case p.Status != "":
	case changes:
		p.Status = StatusGenerated
	default:
		p.Status = StatusSatisfied
	}
	return p, steps, way
}

// known says whether an assurance is one from which a way can be derived.
func known(assurance string) bool {
	return assurance == change.AssuranceNone || assurance == change.AssuranceSoftware || assurance == change.AssuranceHardware
}

// moves says which way the anchor's axis goes.
func moves(from, to string) string {
	switch {
	case from == to:
		return TransitionNone
	case from == change.AssuranceNone:
		return TransitionUpgrade
	case to == change.AssuranceNone:
		return TransitionDowngrade
	}
	return TransitionLateral
}

// anchorSteps returns the steps of the anchor's axis.
func anchorSteps(from, to string) []Explained {
	if from == to {
		return []Explained{step("anchor_assurance.no_change")}
	}
	var all []Explained
	switch {
	case to == change.AssuranceNone:
		return append(all, step("anchor_assurance.deactivate_anchor"))
	case from != change.AssuranceNone:
		all = append(all, step("anchor_assurance.deactivate_current_anchor"))
	}
	if to == change.AssuranceSoftware {
		return append(all, step("anchor_assurance.provision_software_witness_anchor"))
	}
	return append(all, step("anchor_assurance.provision_hardware_witness_anchor"), step("anchor_assurance.deploy_witness_daemon"))
}

// capabilitySteps returns the steps of the capability's axis.
func capabilitySteps(from, to string) []Explained {
	var all []Explained
	switch {
	case from == to:
		all = append(all, step("capability_posture.no_change"))
	case to == change.PostureReadOnly:
		return append(all, step("capability_posture.deactivate_write_protection"))
	default:
		all = append(all, step("capability_posture.populate_write_endpoints"), step("capability_posture.set_profile_engineer"))
	}
	if to == change.PostureWriteProtected {
		all = append(all, step(change.StepID))
	}
	return all
}

// step returns a step of the catalogue. The catalogue is closed: a name that is not in
// it gives a step that no plan's digest takes.
func step(id string) Explained {
	axis, name, _ := strings.Cut(id, ".")
	class, level, text := "", "", ""
	switch name {
	case "no_change":
		class, level, text = "none", change.LevelNone, "This axis stays as it is."
	case "provision_hardware_witness_anchor":
		class, level, text = "anchor_provisioning", change.LevelInteractive, "Define the TPM's counter and found the store on it, at a terminal: mcpctl anchor plan, provision, seed."
	case "deploy_witness_daemon":
		class, level, text = "service_deployment", change.LevelInteractive, "Let executord reach the counter: this host's own TPM, or the witness on another host."
	case "deactivate_anchor":
		class, level, text = "deactivation", change.LevelConfigure, "Take the anchor out of executord's settings; counter and store are kept, nothing deletes them."
	case "deactivate_current_anchor":
		class, level, text = "deactivation", change.LevelConfigure, "Take the present anchor out of executord's settings first; counter and store are kept."
	case "provision_software_witness_anchor":
		class, level, text = "anchor_provisioning", change.LevelUndetermined, "A counter in software can be turned back with its disk: this way does not exist."
	case "populate_write_endpoints":
		class, level, text = "configuration", change.LevelConfigure, "Name the store, the authorities, the appliance and its write account in executord.toml."
	case "set_profile_engineer":
		class, level, text = "configuration", change.LevelConfigure, "Give mcpd the profile write_protected; the step's name is a historical one."
	case "deactivate_write_protection":
		class, level, text = "deactivation", change.LevelConfigure, "Set write.enabled to false in executord.toml; the anchor is not touched."
	case "milestone_9_activation":
		class, level, text = "activation", change.LevelActivation, "Every single change is decided by two owners; no plan can do that for them."
	}
	return Explained{Step: change.Step{ID: id, Axis: axis, MutationClass: class, Level: level}, Text: text}
}
