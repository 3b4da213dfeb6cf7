package executor

import (
	"pfsensemcp/pkg/errs"
	executorpb "pfsensemcp/proto/executor/v1"
)

// The words of the two axes (write-path 2.3).
const (
	readOnly       = "read_only"
	writeProtected = "write_protected"

	assuranceNone     = "none"
	assuranceSoftware = "software"
	assuranceHardware = "hardware_witness"

	axisAnchor     = "anchor_assurance"
	axisCapability = "capability_posture"
)

// planStep makes a step; order is set when the list is complete.
func planStep(axis, name, class, authorization, description string) *executorpb.PlanStep {
	return &executorpb.PlanStep{
		StepId: axis + "." + name, Axis: axis, MutationClass: class,
		AuthorizationRequired: authorization, Description: description,
	}
}

// planFromOff analyses the way from write off (read only, no anchor) to a
// posture. It is analysis: it permits nothing and changes nothing. Its digest
// stays empty, because there is no store, policy or authority that it could bind.
func planFromOff(capability, assurance string) (*executorpb.PlanResponse, error) {
	if capability != readOnly && capability != writeProtected {
		return nil, errs.New(errs.Invalid, "capability_posture must be read_only or write_protected").WithClass("request_validation")
	}
	if assurance != assuranceNone && assurance != assuranceSoftware && assurance != assuranceHardware {
		return nil, errs.New(errs.Invalid, "anchor_assurance must be none, software or hardware_witness").WithClass("request_validation")
	}
	out := &executorpb.PlanResponse{
		TargetValidity: "valid", OverallStatus: "plan_generated", SafeToProceed: true,
		CapabilityTransition: "no_change", AnchorTransition: "no_change",
	}
	switch {
	case capability == writeProtected && assurance == assuranceNone:
		// A write without a counter could be undone by restoring a file.
		out.TargetValidity, out.OverallStatus, out.SafeToProceed = "invalid_combination", "blocked_invalid_target", false
		return out, nil
	case assurance == assuranceSoftware:
		out.TargetValidity, out.OverallStatus, out.SafeToProceed = "valid_not_implemented", "blocked_not_implemented", false
		return out, nil
	case capability == readOnly && assurance == assuranceNone:
		out.OverallStatus = "already_satisfied"
	}

	if assurance == assuranceNone {
		out.Steps = append(out.Steps, planStep(axisAnchor, "no_change", "none", "none_required", "The anchor stays as it is: there is none."))
	} else {
		out.AnchorTransition = "upgrade"
		out.Steps = append(out.Steps,
			planStep(axisAnchor, "provision_hardware_witness_anchor", "anchor_provisioning", "interactive_hardware_confirmation",
				"Define the TPM's counter and seed the store with it, at a terminal: mcpctl write anchor."),
			planStep(axisAnchor, "deploy_witness_daemon", "service_deployment", "interactive_hardware_confirmation",
				"Let executord reach the counter: its own TPM, or the witness on another host."))
	}
	if capability == readOnly {
		out.Steps = append(out.Steps, planStep(axisCapability, "no_change", "none", "none_required", "The suite stays read only."))
	} else {
		out.CapabilityTransition = "upgrade"
		out.Steps = append(out.Steps,
			planStep(axisCapability, "populate_write_endpoints", "configuration", "configuration_change", "Name the store, the authorities, the appliance and its write account in executord.toml."),
			planStep(axisCapability, "set_profile_engineer", "configuration", "configuration_change", "Give mcpd the profile write_protected; the step's name is a historical one."))
		last := planStep(axisCapability, "milestone_9_activation", "activation", "milestone_9_activation_decision", "Every single change is decided by two owners; no plan can do that for them.")
		last.Blocked = true
		out.Steps = append(out.Steps, last)
	}
	for i, s := range out.Steps {
		s.Order = uint32(i) + 1
	}
	return out, nil
}
