package show

import (
	"fmt"

	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/proto/executor/v1"
)

// Step returns the number of a state of provisioning.
func Step(s anchor.State) executorpb.AnchorStep {
	if s < anchor.Nothing || s > anchor.Operational {
		return executorpb.AnchorStep_ANCHOR_STEP_UNSPECIFIED
	}
	return executorpb.AnchorStep(s + 1)
}

// Expected reads the step that a person saw.
func Expected(n executorpb.AnchorStep) (anchor.State, bool) {
	s := anchor.State(n) - 1
	return s, s >= anchor.Nothing && s <= anchor.Operational
}

// AfterStep says what an operator does at a state of provisioning. Handle and value
// are those of the counter, 0 and nil when there are none.
func AfterStep(s anchor.State, handle uint32, value *int64) string {
	seed := "mcpctl anchor seed with the value and the handle shown here"
	if value != nil {
		seed = fmt.Sprintf("mcpctl anchor seed --value %d --handle %s", *value, anchor.Hex(handle))
	}
	switch s {
	case anchor.Nothing:
		return "choose a free handle: mcpctl anchor plan; then name it as anchor.nv_index in executord.toml"
	case anchor.Selected:
		return "seal the counter's secret for executord: mcpctl setup --write; then start executord again"
	case anchor.Sealed:
		return "define the counter: mcpctl anchor provision --handle " + anchor.Hex(handle)
	case anchor.Defined, anchor.Issued:
		return "make the first increment: mcpctl anchor provision --handle " + anchor.Hex(handle)
	case anchor.Read, anchor.Reserved:
		return "found the store on this value: " + seed
	case anchor.Seeded, anchor.Agreed:
		return "the store is founded and its record is not written: " + seed + " again"
	case anchor.Recorded:
		return "the counter cannot be read now: check the TPM or the witness, then mcpctl anchor status"
	case anchor.Operational:
		return ""
	}
	return "this step is not known here: compare the versions with mcpctl status"
}
