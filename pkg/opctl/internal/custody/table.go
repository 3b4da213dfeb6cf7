package custody

import (
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
)

// Audit returns the group audit.
func Audit() cli.Command {
	return cli.Command{
		Name: "audit", Args: "COMMAND", Help: "show, verify and export the record of everything", Example: "mcpctl audit show 12",
		Sub: []cli.Command{
			suite.Row("audit", "show", "SEQ", "show one row and what its reason means", "12", "", show),
			suite.Row("audit", "verify", "[--pinned-head HEX]", "have executord verify its store and audit", "",
				"exit: 0 sound, 1 not reachable, 2 not sound. A head kept elsewhere shows whether rows were cut off since.\nWith executord down: executord verify", verify),
			suite.Row("audit", "export", "[--since SEQ] -o FILE", "write rows and the attested head to a new file", "--since 1 -o audit.jsonl", "", export),
		},
	}
}

// Keys returns the group keys.
func Keys() cli.Command {
	return cli.Command{
		Name: "keys", Args: "COMMAND", Help: "make and rotate executord's keys, write what signers pin", Example: "mcpctl keys pins -o pins.json",
		Sub: []cli.Command{
			{
				Name: "new", Args: "--kind KIND [--id ID] [--epoch N] -o FILE", Help: "make a new key for executord, at a terminal",
				Example: "mcpctl keys new --kind root --id k2 --epoch 2 -o next-root-key", Code: cli.StrictCode, Run: newKey,
				Notes: "The key stands in that file and nowhere else; nothing is asked of a daemon and nothing replaced.\nmcpctl setup --write makes the first ones.",
			},
			suite.Row("keys", "rotate", "", "replace the store's root key, at a terminal", "",
				"The new key is the credential credentials.next_root_key of executord.toml. mcpctl keys new makes one. Refused while anything executes.", rotate),
			suite.Row("keys", "pins", "-o FILE", "write this executor's entry for the signers' pins file", "-o pins.json",
				"Two people compare it with the host before a signer takes it: whoever holds this socket could lie.", pins),
		},
	}
}

// Store returns the group store.
func Store() cli.Command {
	return cli.Command{
		Name: "store", Args: "COMMAND", Help: "back up the contract store", Example: "mcpctl store backup -o store.backup",
		Sub: []cli.Command{
			suite.Row("store", "backup", "-o FILE", "write a consistent copy of the store, at a terminal", "-o store.backup",
				"A restored copy is refused until a signed rebaseline: it has forgotten what came after it.", backup),
		},
	}
}

// output parses a command line without arguments and makes the file that -o named.
func output(c *suite.Call, args []string, path *string) (*carry.Output, error) {
	if err := c.None(args); err != nil {
		return nil, err
	}
	if *path == "" {
		return nil, c.Misuse("-o FILE is missing")
	}
	return carry.New(*path)
}
