// Package host owns mcpctl's commands that look after a host and its daemons: setup,
// uninstall, doctor, logs, metrics, rotate-key.
//
// Only opctl imports it. What is done to the host is decided in pkg/install; here a
// person is asked and told. It must never show what a daemon or a program said but
// through textsafe, nor take an answer that no person gave.
//
// The attack it stops: an act on the host that a program under an operator's uid pipes
// through, such as a purge of the store.
package host

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/program"
)

// Commands are the rows of mcpctl's table.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "setup", Args: "[--write] [--dry-run]", Help: "set this host up for an appliance; root", Example: "mcpctl setup --dry-run --url https://fw.example", Run: setup},
		{Name: "uninstall", Args: "[--dry-run]", Help: "undo setup; the contract store stays", Example: "mcpctl uninstall --dry-run", Run: uninstall},
		{
			Name: "doctor", Args: "[suite|write] [--json]", Help: "check everything, say what to do next", Example: "mcpctl doctor suite",
			Notes: "exit: 0 no fault, 1 a fault, or write was asked for and is not ready, 2 store and counter differ", Words: []string{"suite", "write"}, Run: doctorCommand,
		},
		{Name: "logs", Args: "[-f] [--request ID]", Help: "show the four logs as one, by request", Example: "mcpctl logs -f", Run: logs},
		{Name: "metrics", Args: "[--daemon NAME]", Help: "print the metrics of all four as OpenMetrics text", Example: "mcpctl metrics", Run: metricsCommand},
		{Name: "rotate-key", Args: "--key-file FILE | --reload", Help: "replace an API key; a bad one changes nothing", Example: "mcpctl rotate-key --key-file ./new.key", Run: rotateKey},
	}
}

// machine is this host.
func machine(e cli.Env) *install.Host {
	return &install.Host{
		Root: "/",
		Dial: new(net.Dialer).DialContext,
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		Run: program.Run,
		Now: e.Time,
	}
}

// needRoot refuses an act on the host by anybody else.
func needRoot() error {
	if os.Geteuid() != 0 {
		return errs.New(errs.Denied, "this changes the host and is root's").WithNext("run it with sudo; --dry-run shows what it would do")
	}
	return nil
}

// built is when this program was made, zero when it does not say.
func built() time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return time.Time{}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return t
			}
		}
	}
	return time.Time{}
}

// synced says whether the clock follows a time server, as the kernel keeps it.
func synced(ctx context.Context) (bool, error) {
	out, err := program.Run(ctx, nil, "timedatectl", "show", "--property=NTPSynchronized", "--value")
	switch s := strings.TrimSpace(string(out)); {
	case err != nil:
		return false, err
	case s == "yes":
		return true, nil
	case s == "no":
		return false, nil
	}
	return false, errors.New("timedatectl says neither yes nor no")
}

// names are the values of a flag that may be given several times.
type names struct{ to *[]string }

func (n names) String() string { return "" }

func (n names) Set(s string) error {
	*n.to = append(*n.to, s)
	return nil
}
