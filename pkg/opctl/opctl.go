// Package opctl owns mcpctl, the operator's command line: one table of
// commands, one file a command group.
//
// Only cmd/mcpctl may import it. It holds no key and opens no connection but to
// the suite's own sockets; what an operator may do there is decided by the
// daemons, by uid. It prints outside text only through textsafe.
//
// The attack it stops: a description or host name that an outsider chose
// driving the operator's terminal.
package opctl

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"pfsensemcp/pkg/errs"
)

// Exit codes of mcpctl.
const (
	ExitOK    = 0
	ExitFail  = 1 // the command failed, or a check failed
	ExitUsage = 2 // the command line is wrong
)

// Env is what a command may use of the process.
type Env struct {
	Out, Err   io.Writer
	Environ    []string // os.Environ form
	RuntimeDir string   // $XDG_RUNTIME_DIR, or ""
	Version    string
}

// command is one row of the table.
type command struct {
	name    string
	args    string // shown after the name in usage
	help    string // one line
	example string
	run     func(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error
}

// commands is the table, in the order in which help shows it.
func commands() []command {
	return []command{
		{"run", "[--demo] [--dir DIR]", "start the four daemons here, without systemd", "mcpctl run --demo", runSuite},
		{"status", "[--json] [--dir DIR]", "show each daemon: reachable, version, sandbox", "mcpctl status", status},
		{"privileges", "--profile P", "print the appliance privileges to grant, one a line", "mcpctl privileges --profile auditor", privileges},
		{"privilege-crosscheck", "[--json]", "compare both documents' privileges; exit 1: drift, 2: not done", "mcpctl privilege-crosscheck --appliance none", privilegeCrosscheck},
		{"schema-diff", "[--a S] [--b S] [--json]", "compare two API documents: upstream, appliance, file:PATH", "mcpctl schema-diff --a upstream --b file:saved.json --dump a upstream.json", schemaDiff},
		{"client-config", "CLIENT [--ssh HOST]", "print an MCP client's settings", "mcpctl client-config cursor --ssh fw-host", clientConfig},
		{"reset", "[--dir DIR]", "close the breakers after the cause is mended", "mcpctl reset", reset},
		{"version", "", "print the version", "mcpctl version", version},
	}
}

// errUsage marks an error of the command line, for exit code 2.
var errUsage = errors.New("usage")

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
	for _, c := range commands() {
		if c.name == args[0] {
			return runCommand(ctx, e, c, args[1:])
		}
	}
	fmt.Fprintf(e.Err, "mcpctl: there is no command %q\nmcpctl --help lists them\n", args[0])
	return ExitUsage
}

// runCommand runs one command and renders its error for a person.
func runCommand(ctx context.Context, e Env, c command, args []string) int {
	fs := flag.NewFlagSet("mcpctl "+c.name, flag.ContinueOnError)
	fs.SetOutput(e.Err)
	fs.Usage = func() {
		fmt.Fprintf(e.Err, "usage: mcpctl %s %s\n%s\nexample: %s\n", c.name, c.args, c.help, c.example)
		fs.PrintDefaults()
	}
	err := c.run(ctx, e, fs, args)
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, flag.ErrHelp):
		return ExitOK
	case errors.Is(err, errUsage):
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitOK
	}
	render(e.Err, err)
	return ExitFail
}

// render prints what failed and the next step. An error nobody coded says no
// more than that it is internal.
func render(w io.Writer, err error) {
	p := errs.Public(err)
	fmt.Fprintln(w, "mcpctl: "+p.Msg)
	if p.Next != "" {
		fmt.Fprintln(w, "next: "+p.Next)
	}
}

// parse parses a command's flags and refuses arguments beyond them.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(fs.Output(), "mcpctl: %q is not an argument of this command\n", fs.Arg(0))
		fs.Usage()
		return errUsage
	}
	return nil
}

// usage prints the commands; it fits a screen.
func usage(w io.Writer) {
	fmt.Fprint(w, "mcpctl runs and looks after the pfsense-mcp daemons.\n\nusage: mcpctl COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-40s %s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	fmt.Fprint(w, "\nmcpctl COMMAND --help shows a command's flags and an example.\nexit: 0 done, 1 failed, 2 wrong command line\n")
}

// version prints the version.
func version(_ context.Context, e Env, fs *flag.FlagSet, args []string) error {
	if err := parse(fs, args); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "mcpctl "+e.Version)
	return nil
}
