package opctl

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"pfsensemcp/pkg/apidocs"
	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	"pfsensemcp/pkg/textsafe"
)

// Exit codes of privilege-crosscheck beside 0.
const (
	exitDrift      = 1
	exitUncompared = 2
)

// checked is `mcpctl privilege-crosscheck --json`.
type checked struct {
	Upstream  *loaded  `json:"upstream_side"`  // null when it could not be had
	Appliance *loaded  `json:"appliance_side"` // null when it could not be had, or was not asked for
	Problems  []string `json:"problems"`
	*apidocs.CrossChecked
}

// privilegeCrosscheck is `mcpctl privilege-crosscheck`: whether the two documents
// name the same privileges for what the READ tools ask. It changes nothing. It
// ends with 0 when nothing drifted, 1 on a drift, 2 when it could not compare.
func privilegeCrosscheck(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	up := fs.String("upstream", sideUpstream, "the published document `S`: upstream, or file:PATH")
	app := fs.String("appliance", sideAppliance, "the appliance's document `S`: appliance, file:PATH, or none")
	asJSON := fs.Bool("json", false, "print JSON")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	if !isSide(*up) || !isSide(*app) && *app != sideNone {
		return cli.Misuse(fs, "a side is upstream, appliance, or file:PATH; --appliance may be none")
	}
	tools, err := catalog.Select(catalog.ProfileAuditor, nil, nil)
	if err != nil {
		return err
	}
	out := checked{Problems: []string{}}
	get := func(side string) *loaded {
		if side == sideNone {
			return nil
		}
		l, err := load(ctx, *dir, side)
		if err != nil {
			p := errs.Public(err)
			problem := textsafe.Clean(side+": "+p.Msg, 2*cli.MaxText)
			out.Problems = append(out.Problems, problem)
			fmt.Fprintln(e.Err, "mcpctl: "+problem)
			if p.Next != "" {
				fmt.Fprintln(e.Err, "next: "+textsafe.Clean(p.Next, 2*cli.MaxText))
			}
			return nil
		}
		return l
	}
	out.Upstream, out.Appliance = get(*up), get(*app)
	out.CrossChecked = apidocs.CrossCheck(tools, out.Upstream.the(), out.Appliance.the())
	if *asJSON {
		err = cli.WriteJSON(e.Out, out)
	} else {
		printChecked(e.Out, out, *app != sideNone)
	}
	switch {
	case err != nil:
		return err
	case len(out.Problems) > 0:
		return cli.Exit(exitUncompared)
	case !out.Clean():
		return cli.Exit(exitDrift)
	}
	return nil
}

// printChecked prints the rows that somebody should look at, and the counts. Without the
// published document there is nothing to compare, and to print.
func printChecked(w io.Writer, c checked, withAppliance bool) {
	for _, side := range []struct {
		name  string
		l     *loaded
		asked bool
	}{{"published", c.Upstream, true}, {"appliance", c.Appliance, withAppliance}} {
		switch {
		case side.l != nil:
			fmt.Fprintf(w, "%s: %s\n", side.name, side.l)
		case side.asked:
			fmt.Fprintf(w, "%s: could not be read\n", side.name)
		}
	}
	if c.Upstream == nil {
		fmt.Fprintln(w, "nothing was compared")
		return
	}
	for _, r := range c.Rows {
		if r.Verdict == apidocs.Match || r.Verdict == apidocs.SingleSource {
			continue
		}
		fmt.Fprintf(w, "%s  %s\n  GET %s: %s\n", r.Verdict, r.Tool, r.Path, r.Note)
		if r.Verdict == apidocs.Drift || r.Verdict == apidocs.PinnedDisagreement {
			fmt.Fprintf(w, "  published: %s\n  appliance: %s\n  derived:   %s\n", names(r.Upstream), names(r.Appliance), r.Pinned)
		}
	}
	fmt.Fprintf(w, "%d tools: %d match, %d drift, %d pinned_disagreement, %d explained_difference, %d single_source; page-all alone in both: %d\n",
		len(c.Rows), c.Counts[apidocs.Match], c.Counts[apidocs.Drift], c.Counts[apidocs.PinnedDisagreement], c.Counts[apidocs.Explained], c.Counts[apidocs.SingleSource], c.PageAll)
}

func names(list []string) string {
	switch {
	case list == nil:
		return "not stated"
	case len(list) == 0:
		return "none"
	}
	return strings.Join(list, ", ")
}
