package host

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	adminpb "pfsensemcp/proto/admin/v1"
)

type grpcConn = grpc.ClientConn

// How long a daemon may take to come back after a restart, and how often it is looked
// for.
const (
	backWithin = 30 * time.Second
	backEvery  = 500 * time.Millisecond
)

// probePrivilege is the cheapest that every READ user has: one small object.
const probePrivilege = "api-v2-system-version-get"

// rotateKey is `mcpctl rotate-key`.
func rotateKey(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	file := fs.String("key-file", "", "`FILE` with the new key; yours, mode 600")
	write := fs.Bool("write", false, "replace executord's key, not mcpd's")
	reload := fs.Bool("reload", false, "only let mcpd read its key file again, which was replaced by hand")
	yes := fs.Bool("yes", false, "do not ask")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	switch {
	case *reload && (*file != "" || *write):
		return cli.Misuse(fs, "--reload goes alone")
	case *reload:
		return reloadKey(ctx, e, *dir)
	case *file == "":
		return cli.Misuse(fs, "the new key is missing: --key-file FILE, or --reload")
	}
	if err := needRoot(); err != nil {
		return err
	}
	if _, err := os.Stat(*file); err != nil {
		return errs.Wrap(err, errs.Invalid, "the new key's file cannot be looked at").WithNext("check the path of --key-file")
	}
	daemon, question := "mcpd", "Replace the READ key and restart mcpd? MCP clients reconnect by themselves."
	if *write {
		daemon = "executord"
		question = "Replace the write key and restart executord? Previews and authorizations that are not used yet become void."
	}
	if err := e.Consent(ctx, question, *yes); err != nil {
		return err
	}
	err := machine(e).Rotate(ctx, install.Rotation{Write: *write, KeyFile: *file, Works: func(ctx context.Context) error {
		return works(ctx, *dir, daemon)
	}})
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "The new key is in use. Delete the old one on the appliance, and "+*file+" here.")
	if *write {
		fmt.Fprintln(e.Out, "Whether the appliance takes it shows: mcpctl doctor write")
	}
	return nil
}

// reloadKey lets mcpd read its key file again.
func reloadKey(ctx context.Context, e cli.Env, dir string) error {
	return suite.Mcpd(ctx, dir, suite.Quick, func(ctx context.Context, c adminpb.McpdClient) error {
		r, err := c.Reload(ctx, &adminpb.ReloadRequest{})
		switch {
		case err != nil:
			p := errs.Public(err)
			return errs.Wrap(err, p.Code, "the old key stays: "+p.Msg).WithClass(p.Class).WithNext(p.Next)
		case r.GetKeyChanged():
			fmt.Fprintln(e.Out, "The new key is in use. Delete the old one on the appliance.")
		default:
			fmt.Fprintln(e.Out, "The file holds the key that is in use already.")
		}
		return nil
	})
}

// works waits until a daemon is back, and for mcpd asks the appliance one question: a
// second failed login would bring the login protection closer.
func works(ctx context.Context, dir, daemon string) error {
	ctx, cancel := context.WithTimeout(ctx, backWithin)
	defer cancel()
	tick := time.NewTicker(backEvery)
	defer tick.Stop()
	for {
		err := comesBack(ctx, dir, daemon)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
	if daemon != "mcpd" {
		return nil
	}
	return suite.Mcpd(context.WithoutCancel(ctx), dir, backWithin, func(ctx context.Context, c adminpb.McpdClient) error {
		r, err := c.Probe(ctx, &adminpb.ProbeRequest{Privilege: probePrivilege})
		if err != nil {
			return err
		}
		if r.GetProblem() == "authentication" {
			return errs.Wrap(errKeyRefused, errs.Denied, "the appliance refuses the new key").WithClass("authentication").
				WithNext("is it whole, of the right user, and is that user enabled? Try again in some minutes: the appliance counts failed logins")
		}
		return nil
	})
}
