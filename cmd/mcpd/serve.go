package main

import (
	"context"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
	"pfsensemcp/pkg/secretfile"
)

// server is `mcpd serve` while it starts: its settings, and what the hooks pass
// on to each other.
type server struct {
	settings settings
	key      *mcpserver.Key
	client   *pfrest.Client
}

// serve is the recipe of the daemon.
func serve(args []string) daemon.Spec {
	s := &server{}
	return daemon.Spec{
		Name: "mcpd", Command: "mcpd serve", Args: args,
		About:    "Answers MCP clients on mcp.sock; reads one pfSense appliance by its REST API.",
		Settings: &s.settings,
		Sockets: []daemon.Socket{
			{Name: "mcp", Group: daemon.GroupClients, For: "MCP clients (by mcpd stdio)", Raw: true},
			{Name: "mcpd-admin", Group: daemon.GroupAdmin, For: "operators (by mcpctl)"},
		},
		// The SDK allocates some 100 KB a call that live for microseconds: collecting
		// at the usual rate would be most of what a small call costs.
		Memory:  daemon.Memory{GCPercent: 300, LimitBytes: 128 << 20},
		Secrets: s.secrets,
		Profile: s.profile,
		Build:   s.build,

		TestBuild: mcpserver.TestBuild,
	}
}

// secrets reads the key and makes the client of the appliance, which reads the
// CA file: the sandbox lets neither be opened later. Nothing is sent.
func (s *server) secrets(p *daemon.Process) (err error) {
	s.key, err = mcpserver.NewKey(func() (secretfile.Secret, error) {
		return secretfile.Read(s.settings.APIKeyFile, secretfile.Options{Setting: "api_key_file", CredentialsDir: p.CredentialsDir})
	}, p.Redact)
	if err != nil {
		return err
	}
	c := s.settings.tls()
	c.BaseURL, c.Key, c.Log, c.RequestID = s.settings.APIURL, s.key.Secret(), p.Log, rpc.RequestID
	for _, path := range catalog.Endpoints() {
		c.Endpoints = append(c.Endpoints, pfrest.Endpoint(path))
	}
	if s.client, err = pfrest.New(c); err != nil {
		return err
	}
	s.key.OnChange(s.client.Rekey)
	return nil
}

// profile fills in where this site's appliance and sockets are.
func (s *server) profile(p *daemon.Process) (sandbox.Profile, error) {
	out := sandbox.Mcpd()
	u, err := url.Parse(s.settings.APIURL)
	if err != nil {
		return out, errs.Wrap(err, errs.Internal, "the appliance's URL cannot be read")
	}
	port := uint64(443)
	if u.Port() != "" {
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return out, errs.Wrap(err, errs.Internal, "the appliance's port cannot be read")
		}
	}
	out.TCP = []uint16{uint16(port)}
	_, err = netip.ParseAddr(u.Hostname())
	out.DNS = err != nil
	out.SystemRoots = s.settings.TLSMode == "strict"
	out.Read = []string{filepath.Dir(s.settings.APIKeyFile)} // for a reload of the key
	if s.settings.RelayInbox != "" {
		out.Read = append(out.Read, s.settings.RelayInbox)
	}
	out.UnixConnect = peers(p.SocketDir)
	return out, nil
}

// peers returns the directories of the sockets that mcpd calls. Where a daemon
// that starts later will make its own, only the directory above is there yet.
func peers(dir string) []string {
	var out []string
	for _, name := range []string{"guidance", "docs", "exec"} {
		d := filepath.Join(dir, name)
		if _, err := os.Stat(d); err != nil {
			return []string{dir}
		}
		out = append(out, d)
	}
	return out
}

// build makes the services.
func (s *server) build(p *daemon.Process) (daemon.Running, error) {
	suite, err := mcpserver.NewSuite(p.SocketDir, p.Node)
	if err != nil {
		return daemon.Running{}, err
	}
	reader, err := readtool.New(readtool.Config{
		Client: s.client, ResultBytes: s.settings.ResultBytes, ScanRows: s.settings.ScanRows,
		InterfaceNames: mcpserver.NewInterfaceNames(s.client).Get,
	})
	if err != nil {
		return daemon.Running{}, err
	}
	doc := mcpserver.NewSchema(s.client)
	mcpserver.WatchAppliance(p.Metrics, s.client)
	front, err := mcpserver.New(mcpserver.Config{
		Version: daemon.Version(), Profile: s.settings.Profile, Allow: s.settings.allow,
		Toolsets: s.settings.Toolsets, Identity: s.settings.Identity,
		Reader: reader, OutputSchemas: s.settings.OutputSchemas == "on",
		Extras: mcpserver.GuidanceTools(suite, doc, mcpserver.NewApplianceIdentity(s.client).Get), Suite: suite,
		Operators: p.Callers[rpc.Operators], OperatorsMayUseMCP: s.settings.OperatorsMayUseMCP,
		Log: p.Log, Metrics: p.Metrics,
	})
	if err != nil {
		return daemon.Running{}, err
	}
	if s.settings.OperatorsMayUseMCP {
		p.Node.SetNotices("operators_may_use_mcp is on: a model acts with an account that may approve")
	}
	offered, err := catalog.Select(s.settings.Profile, s.settings.allow, s.settings.Toolsets)
	if err != nil {
		return daemon.Running{}, err
	}
	admin := mcpserver.NewAdmin(suite, s.client, s.key, doc, mcpserver.About{
		TLSMode: s.settings.TLSMode, Pinned: s.settings.TLSPin != "", Identity: s.settings.Identity, Tools: offered,
	})
	tasks := []daemon.Task{{Name: "mcp", Run: func(ctx context.Context) error {
		return front.Serve(ctx, p.Listeners["mcp"])
	}}}
	if s.settings.RelayInbox != "" {
		relay, err := mcpserver.NewRelay(s.settings.RelayInbox, suite, p.Log)
		if err != nil {
			return daemon.Running{}, err
		}
		tasks = append(tasks, daemon.Task{Name: "relay", Run: relay.Run})
	}
	return daemon.Running{
		GRPC:   map[string]daemon.Service{"mcpd-admin": {Methods: mcpserver.AdminMethods(), Register: admin.Register}},
		Tasks:  tasks,
		Reload: func(context.Context) error { _, err := s.key.Reload(); return err },
	}, nil
}
