// Package opctl owns mcpctl, the operator's command line: one table of commands,
// one file a command group; the larger groups are its inner packages.
//
// Only cmd/mcpctl may import it. It must never hold a key longer than it takes to
// put it into its place, connect to anything but the suite's own sockets (setup
// alone makes one handshake with the appliance), or print outside text but through
// textsafe. What an operator may do is decided by the daemons, by uid.
//
// The attack it stops: a description or host name that an outsider chose
// driving the operator's terminal.
package opctl

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/complete"
	"pfsensemcp/pkg/opctl/internal/custody"
	"pfsensemcp/pkg/opctl/internal/host"
	"pfsensemcp/pkg/opctl/internal/posture"
	"pfsensemcp/pkg/opctl/internal/write"
)

// Exit codes of mcpctl.
const (
	ExitOK    = cli.ExitOK
	ExitFail  = cli.ExitFail  // the command failed, was denied, or a check failed
	ExitUsage = cli.ExitUsage // the command line is wrong, or what must agree does not
)

// Env is what a command may use of the process.
type Env = cli.Env

// commands is the table, in the order in which help shows it.
func commands() []cli.Command {
	row := func(name, args, help, example string, run func(context.Context, Env, *flag.FlagSet, []string) error) cli.Command {
		return cli.Command{Name: name, Args: args, Help: help, Example: example, Run: run}
	}
	return slices.Concat(host.Commands(), []cli.Command{
		row("run", "[--demo] [--dir DIR]", "start the four daemons here, without systemd", "mcpctl run --demo", runSuite),
		row("status", "[--json] [--dir DIR]", "show each daemon: reachable, version, sandbox", "mcpctl status", status),
		row("privileges", "--profile P", "print the appliance privileges to grant, one a line", "mcpctl privileges --profile auditor", privileges),
		{
			Name: "privilege-crosscheck", Args: "[--json]", Help: "compare both documents' privileges", Example: "mcpctl privilege-crosscheck --appliance none",
			Notes: "exit: 0 nothing is wrong, 1 drift, 2 not done", Run: privilegeCrosscheck,
		},
		row("schema-diff", "[--a S] [--b S] [--json]", "compare two API documents: published, appliance, file", "mcpctl schema-diff --a upstream --b file:saved.json --dump a upstream.json", schemaDiff),
		row("client-config", "CLIENT [--ssh HOST]", "print an MCP client's settings", "mcpctl client-config cursor --ssh fw-host", clientConfig),
		row("reset", "[--dir DIR]", "close the breakers after the cause is mended", "mcpctl reset", reset),
		write.Command(), custody.Audit(), posture.Anchor(), posture.Discover(), posture.Plan(), custody.Keys(), custody.Store(),
		complete.Command(commands),
		row("version", "", "print the version", "mcpctl version", version),
	})
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, e Env, args []string) int {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		usage(e.Out)
		if len(args) == 0 {
			return ExitUsage
		}
		return ExitOK
	}
	if args[0] == "--version" {
		args = []string{"version"}
	}
	return cli.Run(ctx, e, "mcpctl", commands(), args)
}

// usage prints the commands; it fits a screen.
func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: mcpctl COMMAND [flags]; mcpctl COMMAND --help shows flags and an example")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-20s %s\n", c.Name, c.Help)
	}
	fmt.Fprintln(w, "exit: 0 done, 1 failed or denied, 2 wrong command line, or a disagreement")
}

// version prints the version.
func version(_ context.Context, e Env, fs *flag.FlagSet, args []string) error {
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "mcpctl "+e.Version)
	return nil
}
