package write

import (
	"context"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
)

// Command returns the group.
func Command() cli.Command {
	return command(pace{every: time.Second, beat: 15 * time.Second, grace: time.Minute, lost: time.Minute})
}

func command(p pace) cli.Command {
	row := func(name, args, help, example, notes string, run func(context.Context, *call, []string) error) cli.Command {
		return suite.Row("write", name, args, help, example, notes, func(ctx context.Context, c *suite.Call, args []string) error {
			return run(ctx, &call{c, p}, args)
		})
	}
	const (
		aRequest  = "req-3f6c1d0e9a7b4c528e1f60718293a4b5"
		aContract = "wc-5b0e7c7ad1f94b8f9f2d3c4b5a697887"
		waits     = "exit: 0 done as asked, 1 denied or ended otherwise, 2 command line or file"
	)
	return cli.Command{
		Name: "write", Args: "COMMAND", Help: "look after requested changes", Example: "mcpctl write list",
		Sub: []cli.Command{
			row("list", "[--uid N] [--all]", "show requests and contracts that are not settled", "", "", list),
			row("show", "CONTRACT", "show one contract, its digests and what to do", aContract, "", show),
			row("preview", "REQUEST -o FILE", "read the appliance, write what the authorization owner signs", aRequest+" -o preview.json",
				"A preview replaces the request's former one. The file holds the alias's members: treat it as confidential.", preview),
			row("authorize", "FILE", "hand in a signed authorization", "authorization.json", "", authorize),
			row("pending", "CONTRACT -o FILE", "write what the confirmation owner signs", aContract+" -o pending.json", "", pending),
			row("confirm", "FILE", "hand in a signed confirmation; the change is sent", "confirmation.json", waits, confirm),
			row("resume", "CONTRACT", "start a confirmed contract that could not start", aContract, waits, resume),
			row("cancel", "REQUEST|CONTRACT", "end what has not begun to execute", aRequest,
				"or: mcpctl write cancel --uid 1001 --all-unpreviewed", cancel),
			row("observe", "CONTRACT -o FILE", "read the target, write what the reconciliation owner signs", aContract+" -o observation.json", "", observe),
			row("reconcile", "FILE", "hand in signed evidence of what became of a change", "evidence.json", "", reconcile),
			row("rollback-request", "CONTRACT -o FILE", "write what both owners sign for an undo", aContract+" -o rollback.json", "", rollbackRequest),
			row("rollback", "--confirmation FILE --authorization FILE", "hand in both signatures; the old text is sent",
				"--confirmation c.json --authorization a.json", waits, rollback),
			row("release", "FILE", "free the target of a failed rollback, by signature", "evidence.json", "", release),
		},
	}
}

// call is one run of a command.
type call struct {
	*suite.Call
	pace pace
}

// id parses a command line with exactly one id of a kind.
func (c *call) id(args []string, prefix string) (string, error) {
	s, err := c.One(args)
	if err == nil && !isID(s, prefix) {
		err = c.Misuse("an id of this kind is " + prefix + " and 32 small hex digits: mcpctl write list shows them")
	}
	return s, err
}

// isID says whether s is the prefix and 32 small hex digits.
func isID(s, prefix string) bool {
	hex, ok := strings.CutPrefix(s, prefix)
	return ok && len(hex) == 32 && strings.Trim(hex, "0123456789abcdef") == ""
}

// isContract says whether s is the id of a contract.
func isContract(s string) bool { return isID(s, change.PrefixContract) }
