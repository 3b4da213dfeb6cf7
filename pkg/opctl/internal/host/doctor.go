package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/doctor"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	adminpb "pfsensemcp/proto/admin/v1"
	executorpb "pfsensemcp/proto/executor/v1"
)

// hostDir is where the package's sockets stand.
const hostDir = suite.HostDir

// doctorParts are what one run looks at.
type doctorParts struct {
	suite, write bool
	named        bool // write was asked for by name
	dir          string
	probes       bool
	json         bool
}

// doctorCommand is `mcpctl doctor [suite|write]`.
func doctorCommand(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	asJSON := fs.Bool("json", false, "print JSON")
	noProbes := fs.Bool("no-probes", false, "do not ask the appliance for each privilege; that takes half a minute")
	rest, err := cli.Parse(fs, args, 0, 1)
	if err != nil {
		return err
	}
	d := doctorParts{suite: true, write: true, dir: *dir, probes: !*noProbes, json: *asJSON}
	if len(rest) == 1 {
		switch rest[0] {
		case doctor.PartSuite:
			d.write = false
		case doctor.PartWrite:
			d.suite, d.named = false, true
		default:
			return cli.Misuse(fs, "the parts are suite and write")
		}
	}
	return d.run(ctx, e)
}

// run examines and prints; the exit code is the report's.
func (d doctorParts) run(ctx context.Context, e cli.Env) error {
	c := doctor.Config{Suite: d.suite, Write: d.write, Probes: d.probes, Version: e.Version, Built: built(), Now: e.Time}
	for _, s := range []struct {
		socket, daemon string
		use            func(conn *grpcConn)
	}{
		{suite.McpdSocket, "mcpd", func(conn *grpcConn) { c.Mcpd = adminpb.NewMcpdClient(conn) }},
		{suite.ExecutordSocket, "executord", func(conn *grpcConn) { c.Executor = executorpb.NewAdminClient(conn) }},
	} {
		conn, err := suite.Dial(d.dir, s.socket, s.daemon)
		if err != nil {
			return err
		}
		defer conn.Close()
		s.use(conn)
	}
	if d.dir == hostDir {
		c.Host = &doctor.Host{Root: "/", Synced: synced}
	}
	if e.AtTerminal() && !d.json {
		c.Progress = func(done, total int) {
			fmt.Fprintf(e.Err, "\rasking for privileges: %d of %d", done, total)
			if done == total {
				fmt.Fprint(e.Err, "\r\x1b[K") // our own line, taken away again
			}
		}
	}
	r := doctor.Run(ctx, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.json {
		if err := cli.WriteJSON(e.Out, r); err != nil {
			return err
		}
	} else {
		show(e.Out, r)
	}
	if code := r.ExitCode(d.named); code != doctor.ExitOK {
		return cli.Exit(code)
	}
	return nil
}

// show prints every check with what to do, the tools that are not allowed, and a sum.
func show(w io.Writer, r *doctor.Report) {
	for _, c := range r.Checks {
		line := fmt.Sprintf("%-14s %-30s %s", c.Status, c.ID, c.Description)
		if c.Detail != "" {
			line += ": " + c.Detail
		}
		fmt.Fprintln(w, line)
		if c.Next != "" {
			fmt.Fprintf(w, "%-14s %-30s next: %s\n", "", "", c.Next)
		}
	}
	unknown := 0
	for _, t := range r.Tools {
		switch t.Verdict {
		case "missing":
			fmt.Fprintf(w, "not allowed    %s: %s\n", t.Name, strings.Join(t.Missing, ", "))
		case "unknown":
			unknown++
		}
	}
	if unknown > 0 {
		fmt.Fprintf(w, "not known      of %d tools whether they are allowed\n", unknown)
	}
	fmt.Fprintf(w, "%d pass, %d warn, %d fail, %d unknown\n", r.Count(doctor.Pass), r.Count(doctor.Warn), r.Count(doctor.Fail), r.Count(doctor.Unknown))
}

// comesBack waits until mcpd reaches a daemon again.
func comesBack(ctx context.Context, dir, daemon string) error {
	return suite.Mcpd(ctx, dir, suite.Quick, func(ctx context.Context, c adminpb.McpdClient) error {
		r, err := c.Suite(ctx, &adminpb.SuiteRequest{})
		if err != nil {
			return err
		}
		for _, m := range r.GetMembers() {
			if m.GetName() == daemon && m.GetReachable() {
				return nil
			}
		}
		return errs.New(errs.Unavailable, daemon+" does not answer").WithNext("journalctl -u pfsense-" + daemon)
	})
}

// errKeyRefused is what the appliance made of a key.
var errKeyRefused = errors.New("the appliance refused the key")
