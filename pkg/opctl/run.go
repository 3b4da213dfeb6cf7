package opctl

import (
	"context"
	"flag"
	"strings"

	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/supervise"
)

// runSuite is `mcpctl run`.
func runSuite(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	demo := fs.Bool("demo", false, "run the pretend appliance too, and a scripted conversation")
	write := fs.Bool("write", false, "with --demo: a laboratory's write path too (needs swtpm), and a rehearsal of the ceremony")
	once := fs.Bool("once", false, "with --demo: end after the conversation")
	dir := fs.String("dir", "", "run in `DIR` (absolute, yours, mode 700) instead of the runtime directory")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	if *write && !*demo {
		return cli.Misuse(fs, "--write goes with --demo only: a write path for a real appliance is set up by mcpctl setup --write")
	}
	if *once && !*demo {
		return cli.Misuse(fs, "--once goes with --demo only: without it there is no conversation to end after")
	}
	bin, err := supervise.Programs()
	if err != nil {
		return err
	}
	return supervise.Run(ctx, supervise.Options{
		Dir:        *dir,
		RuntimeDir: e.RuntimeDir,
		Fresh:      *demo && *dir == "",
		BinDir:     bin,
		Demo:       *demo,
		Once:       *once,
		Write:      *write,
		Env:        pfsenseSettings(e.Environ),
		Out:        e.Out,
		Err:        e.Err,
	})
}

// pfsenseSettings keeps the caller's PFSENSE_* settings: nothing else of the
// environment reaches a daemon.
func pfsenseSettings(environ []string) []string {
	var kept []string
	for _, kv := range environ {
		if strings.HasPrefix(kv, "PFSENSE_") && !strings.HasPrefix(kv, "PFSENSE_SOCKET_DIR=") {
			kept = append(kept, kv)
		}
	}
	return kept
}
