package suite

import (
	"context"
	"flag"
	"strings"
	"time"

	"pfsensemcp/pkg/opctl/internal/cli"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Call is one run of a command that asks executord: the flags which all of them have.
type Call struct {
	cli.Env
	FS   *flag.FlagSet
	JSON *bool
	dir  *string
}

// NewCall adds the flags --dir and --json.
func NewCall(e cli.Env, fs *flag.FlagSet) *Call {
	return &Call{Env: e, FS: fs, dir: DirFlag(e, fs), JSON: fs.Bool("json", false, "print JSON, in ASCII")}
}

// YesFlag adds the flag that answers the question of an act.
func (c *Call) YesFlag() *bool { return c.FS.Bool("yes", false, "do not ask") }

// OutFlag adds the flag that names a new file.
func (c *Call) OutFlag() *string { return c.FS.String("o", "", "write the new `FILE`, mode 600") }

// Ask calls executord's operators' service within a time.
func (c *Call) Ask(ctx context.Context, within time.Duration, f func(context.Context, executorpb.AdminClient) error) error {
	return Executord(ctx, *c.dir, within, f)
}

// None parses a command line without arguments.
func (c *Call) None(args []string) error {
	_, err := cli.Parse(c.FS, args, 0, 0)
	return err
}

// One parses a command line with exactly one argument.
func (c *Call) One(args []string) (string, error) {
	rest, err := cli.Parse(c.FS, args, 1, 1)
	if err != nil {
		return "", err
	}
	return rest[0], nil
}

// Misuse says what is wrong with the command line and returns the error for it.
func (c *Call) Misuse(msg string) error { return cli.Misuse(c.FS, msg) }

// Row makes a row of a group's table from a command that asks executord.
func Row(group, name, args, help, example, notes string, run func(context.Context, *Call, []string) error) cli.Command {
	return cli.Command{
		Name: name, Args: args, Help: help, Example: strings.Join(strings.Fields("mcpctl "+group+" "+name+" "+example), " "), Notes: notes, Code: cli.StrictCode,
		Run: func(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
			return run(ctx, NewCall(e, fs), args)
		},
	}
}
