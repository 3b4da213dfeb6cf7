package posture

import (
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
)

// Anchor returns the group anchor.
func Anchor() cli.Command {
	return cli.Command{
		Name: "anchor", Args: "COMMAND", Help: "tie the store to the TPM's counter", Example: "mcpctl anchor status",
		Sub: []cli.Command{
			suite.Row("anchor", "plan", "", "show handles of the TPM and the next step", "", "", anchorPlan),
			suite.Row("anchor", "provision", "--handle H", "take one step of provisioning, at a terminal", "--handle 0x01500000",
				"Run it again for the next step; each is asked for by itself.", provision),
			suite.Row("anchor", "seed", "--value V --handle H", "seed the store with the counter's value, at a terminal", "--value 41 --handle 0x01500000",
				"Value and handle as mcpctl anchor status shows them. Run it again when it was interrupted.", seed),
			suite.Row("anchor", "status", "[-o FILE]", "show store and counter; -o: write what a rebaseline is signed over", "-o anchor.json",
				"exit: 0 they agree, or there is none; 1 not reachable, or write is off; 2 they differ", status),
			suite.Row("anchor", "rebaseline", "FILE", "hand in a signed rebaseline, at a terminal", "rebaseline.json",
				"Every approval signed before becomes void; contracts on their way need reconciliation.", rebaseline),
		},
	}
}

// Discover returns the command discover.
func Discover() cli.Command {
	return suite.Row("", "discover", "[--json]", "show the posture of the write path and its counter", "",
		"exit: 0 also when nothing is configured or reachable, 2 when store and counter differ", discover)
}

// Plan returns the command plan.
func Plan() cli.Command {
	return suite.Row("", "plan", "--capability-posture P --anchor-assurance A", "analyse the way to a posture; it permits nothing",
		"--capability-posture write_protected --anchor-assurance hardware_witness", "exit: 0 there is a way, 1 not implemented, 2 invalid or not clear", plan)
}
