package host

import (
	"context"
	"flag"
	"fmt"

	"pfsensemcp/pkg/opctl/internal/cli"
)

// uninstall is `mcpctl uninstall`.
func uninstall(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	dryRun := fs.Bool("dry-run", false, "show what would be removed, remove nothing")
	yes := fs.Bool("yes", false, "do not ask")
	purge := fs.Bool("purge-store", false, "remove the contract store and its keys too; asks at a terminal alone")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	if !*dryRun {
		if err := needRoot(); err != nil {
			return err
		}
	}
	h := machine(e)
	r, err := h.PlanRemoval(*purge)
	if err != nil {
		return err
	}
	for _, l := range []struct {
		word  string
		paths []string
	}{{"remove", r.Remove}, {"LEFT: a person changed it", r.Left}, {"kept: it opens the contract store", r.Kept}} {
		for _, path := range l.paths {
			fmt.Fprintf(e.Out, "  %-58s %s\n", path, l.word)
		}
	}
	switch {
	case r.Store != "" && *purge:
		fmt.Fprintf(e.Out, "  %-58s REMOVE: contracts and audit are lost; the counter in the TPM stays\n", r.Store)
	case r.Store != "":
		fmt.Fprintf(e.Out, "  %-58s kept\n", r.Store)
	}
	if *dryRun {
		if len(r.Remove)+len(r.Left)+len(r.Kept) == 0 {
			fmt.Fprintln(e.Out, "Nothing of mcpctl setup is on this host.")
		}
		fmt.Fprintln(e.Out, "Nothing was removed.")
		return nil
	}
	if *purge {
		err = e.Insist(ctx, "Stop the daemons, remove these files, and the contract store with everything that it proves?")
	} else {
		err = e.Consent(ctx, "Stop the daemons and remove these files?", *yes)
	}
	if err != nil {
		return err
	}
	if err := h.Uninstall(ctx, r, *purge); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "Done. The package stays: remove it with the system's package manager. Delete the keys on the appliance.")
	return nil
}
