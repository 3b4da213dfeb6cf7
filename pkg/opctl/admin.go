package opctl

import (
	"context"
	"encoding/json/v2"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/textsafe"
	adminpb "pfsensemcp/proto/admin/v1"
)

// adminWithin bounds one call to a daemon's operators' socket.
const adminWithin = 10 * time.Second

// hostDir is where systemd's sockets stand.
const hostDir = "/run/pfsense-mcp"

// maxOutside bounds one text of a daemon on the terminal, in bytes.
const maxOutside = 200

// adminSocket is mcpd's operators' socket below a suite's directory.
const adminSocket = "mcpd-admin/mcpd-admin.sock"

// dirFlag adds the flag that names a suite's directory. Without it, a suite that
// the user runs in the usual place of mcpctl run is meant, else the host's: the
// order in which mcpd stdio looks, so that both speak to the same mcpd.
func dirFlag(e Env, fs *flag.FlagSet) *string {
	dir := hostDir
	if e.RuntimeDir != "" {
		own := filepath.Join(e.RuntimeDir, "pfsense-mcp")
		if _, err := os.Lstat(filepath.Join(own, adminSocket)); err == nil {
			dir = own
		}
	}
	return fs.String("dir", dir, "the suite's `DIR`, as mcpctl run printed it")
}

// dialAdmin connects to mcpd's operators' socket below dir.
func dialAdmin(dir string) (*grpc.ClientConn, error) {
	return rpc.Dial(filepath.Join(dir, adminSocket), "mcpd",
		rpc.Next("check that the suite runs, and that you are one of its operators; a suite in another directory than "+dir+" needs --dir"))
}

// status is `mcpctl status`.
func status(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	dir := dirFlag(e, fs)
	asJSON := fs.Bool("json", false, "print JSON")
	if err := parse(fs, args); err != nil {
		return err
	}
	conn, err := dialAdmin(*dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, adminWithin)
	defer cancel()
	r, err := adminpb.NewMcpdClient(conn).Suite(ctx, &adminpb.SuiteRequest{})
	if err != nil {
		return err
	}
	if *asJSON {
		text, err := json.Marshal(members(r), json.Deterministic(true))
		if err != nil {
			return errs.Wrap(err, errs.Internal, "the status cannot be printed as JSON")
		}
		_, err = fmt.Fprintf(e.Out, "%s\n", text)
		return err
	}
	printMembers(e.Out, members(r), time.Now())
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
	clean := func(s string) string { return textsafe.Clean(s, maxOutside) }
	cleanAll := func(list []string) []string {
		var out []string
		for _, s := range list {
			out = append(out, clean(s))
		}
		return out
	}
	var rows []member
	for _, m := range r.GetMembers() {
		st := m.GetStatus()
		rows = append(rows, member{
			Name: clean(m.GetName()), Reachable: m.GetReachable(),
			Version: clean(st.GetVersion()), BuildID: clean(st.GetBuildId()), StartedAt: st.GetStartedAt(),
			Sandbox:  clean(st.GetSandbox().GetMode()),
			Enforced: cleanAll(st.GetSandbox().GetEnforced()), Missing: cleanAll(st.GetSandbox().GetMissing()),
			Lab: st.GetLab(), TestBuild: st.GetTestBuild(), Notices: cleanAll(st.GetNotices()),
			Problem: clean(m.GetProblem()), Next: clean(m.GetNext()),
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
	dir := dirFlag(e, fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	conn, err := dialAdmin(*dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, adminWithin)
	defer cancel()
	r, err := adminpb.NewMcpdClient(conn).ResetBreakers(ctx, &adminpb.ResetBreakersRequest{})
	if err != nil {
		return err
	}
	if len(r.GetClosed()) == 0 {
		fmt.Fprintln(e.Out, "no breaker was open")
	}
	for _, c := range r.GetClosed() {
		fmt.Fprintln(e.Out, "closed: "+textsafe.Clean(c, maxOutside))
	}
	return nil
}
