package opctl

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
)

// privileges is `mcpctl privileges`: what to grant the READ user, from the
// same table that registers the tools, or the user of the write identity.
func privileges(_ context.Context, e Env, fs *flag.FlagSet, args []string) error {
	known := append(catalog.Profiles(), catalog.ProfileExecutor)
	profile := fs.String("profile", catalog.ProfileAuditor, "the profile `P`: "+strings.Join(known, ", "))
	sets := fs.String("toolsets", "", "comma `LIST` of toolsets, as PFSENSE_TOOLSETS; left out: all")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	if !slices.Contains(known, *profile) {
		return errs.Newf(errs.Invalid, "there is no profile %q", *profile).
			WithNext("use one of " + strings.Join(known, ", "))
	}
	if *profile == catalog.ProfileExecutor {
		for _, p := range catalog.ExecutorPrivileges() {
			fmt.Fprintln(e.Out, p)
		}
		return nil
	}
	tools, err := catalog.Select(*profile, nil, catalog.SplitList(*sets))
	if err != nil {
		return err
	}
	for _, p := range catalog.NeededBy(tools) {
		fmt.Fprintln(e.Out, p)
	}
	return nil
}
