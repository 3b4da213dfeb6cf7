package opctl

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	adminpb "pfsensemcp/proto/admin/v1"
)

// status is `mcpctl status`.
func status(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	asJSON := fs.Bool("json", false, "print JSON")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	var r *adminpb.SuiteResponse
	err := suite.Mcpd(ctx, *dir, suite.Quick, func(ctx context.Context, c adminpb.McpdClient) (err error) {
		r, err = c.Suite(ctx, &adminpb.SuiteRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if *asJSON {
		return cli.WriteJSON(e.Out, members(r))
	}
	printMembers(e.Out, members(r), e.Time())
	return nil
}

// member is one daemon as `status --json` prints it.
type member struct {
	Name      string   `json:"name"`
	Reachable bool     `json:"reachable"`
	Version   string   `json:"version,omitempty"`
	BuildID   string   `json:"build_id,omitempty"`
	StartedAt int64    `json:"started_at,omitempty"` // Unix time, seconds
	Sandbox   string   `json:"sandbox,omitempty"`    // require or available
	Enforced  []string `json:"enforced,omitempty"`
	Missing   []string `json:"missing,omitempty"`
	Lab       bool     `json:"lab,omitempty"`
	TestBuild bool     `json:"test_build,omitempty"`
	Notices   []string `json:"notices,omitempty"`
	Problem   string   `json:"problem,omitempty"`
	Next      string   `json:"next,omitempty"`
}

// members turns mcpd's answer into rows. A daemon's texts are its own words,
// but it may be subverted, and this is an operator's terminal.
func members(r *adminpb.SuiteResponse) []member {
	cleanAll := func(list []string) []string {
		var out []string
		for _, s := range list {
			out = append(out, cli.Clean(s))
		}
		return out
	}
	var rows []member
	for _, m := range r.GetMembers() {
		st := m.GetStatus()
		rows = append(rows, member{
			Name: cli.Clean(m.GetName()), Reachable: m.GetReachable(),
			Version: cli.Clean(st.GetVersion()), BuildID: cli.Clean(st.GetBuildId()), StartedAt: st.GetStartedAt(),
			Sandbox:  cli.Clean(st.GetSandbox().GetMode()),
			Enforced: cleanAll(st.GetSandbox().GetEnforced()), Missing: cleanAll(st.GetSandbox().GetMissing()),
			Lab: st.GetLab(), TestBuild: st.GetTestBuild(), Notices: cleanAll(st.GetNotices()),
			Problem: cli.Clean(m.GetProblem()), Next: cli.Clean(m.GetNext()),
		})
	}
	return rows
}

// printMembers prints the one-screen view.
func printMembers(w io.Writer, rows []member, now time.Time) {
	for _, m := range rows {
		if !m.Reachable {
			fmt.Fprintf(w, "%-10s  down     %s\n", m.Name, m.Problem)
			if m.Next != "" {
				fmt.Fprintf(w, "%-10s  next     %s\n", "", m.Next)
			}
			continue
		}
		up := now.Sub(time.Unix(m.StartedAt, 0)).Round(time.Second)
		fmt.Fprintf(w, "%-10s  up       %s, version %s, for %s\n", m.Name, strings.Join(labels(m), ", "), m.Version, up)
		if len(m.Missing) > 0 {
			fmt.Fprintf(w, "%-10s  missing  %s\n", "", strings.Join(m.Missing, ", "))
		}
		for _, n := range m.Notices {
			fmt.Fprintf(w, "%-10s  notice   %s\n", "", n)
		}
	}
}

// labels are what must never be overlooked about a daemon, then its sandbox.
func labels(m member) []string {
	var l []string
	if m.TestBuild {
		l = append(l, "TEST BUILD")
	}
	if m.Lab {
		l = append(l, "LAB")
	}
	return append(l, "sandbox "+m.Sandbox+" ("+strings.Join(m.Enforced, " ")+")")
}

// reset is `mcpctl reset`.
func reset(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	var r *adminpb.ResetBreakersResponse
	err := suite.Mcpd(ctx, *dir, suite.Quick, func(ctx context.Context, c adminpb.McpdClient) (err error) {
		r, err = c.ResetBreakers(ctx, &adminpb.ResetBreakersRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if len(r.GetClosed()) == 0 {
		fmt.Fprintln(e.Out, "no breaker was open")
	}
	for _, c := range r.GetClosed() {
		fmt.Fprintln(e.Out, "closed: "+cli.Clean(c))
	}
	return nil
}
