package host

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/logview"
	"pfsensemcp/pkg/opctl/internal/suite"
	adminpb "pfsensemcp/proto/admin/v1"
)

// metricsCommand is `mcpctl metrics`. A daemon that does not answer is a line on
// standard error and exit code 1; the text of the others is whole all the same.
func metricsCommand(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	only := fs.String("daemon", "", "of this `NAME` alone: "+strings.Join(logview.Daemons(), ", "))
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	if *only != "" && !slices.Contains(logview.Daemons(), *only) {
		return cli.Misuse(fs, "the daemons are "+strings.Join(logview.Daemons(), ", "))
	}
	var members []*adminpb.MemberMetrics
	err := suite.Mcpd(ctx, *dir, suite.Quick, func(ctx context.Context, c adminpb.McpdClient) error {
		r, err := c.Metrics(ctx, &adminpb.MetricsRequest{})
		members = r.GetMembers()
		return err
	})
	if err != nil {
		return err
	}
	var parts []metrics.Part
	silent := map[string]string{}
	for _, m := range members {
		switch {
		case *only != "" && m.GetName() != *only:
		case m.GetProblem() != "":
			silent[m.GetName()] = m.GetProblem()
		default:
			parts = append(parts, metrics.Part{Name: m.GetName(), Text: m.GetText()})
		}
	}
	text, problems := metrics.Merge(parts)
	for name, why := range problems {
		silent[name] = why
	}
	if _, err := fmt.Fprint(e.Out, text); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the text cannot be written")
	}
	for _, name := range logview.Daemons() {
		if why, ok := silent[name]; ok {
			fmt.Fprintf(e.Err, "mcpctl: %s: %s\n", name, cli.Clean(why))
		}
	}
	if len(silent) > 0 {
		return cli.Exit(cli.ExitFail)
	}
	return nil
}
