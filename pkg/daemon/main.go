package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
	"pfsensemcp/pkg/sd"
)

// Main runs the daemon and returns the exit code. It is all that a main function
// calls.
func Main(s Spec) int {
	// First, before a file is opened or an argument looked at.
	early := sandbox.Early()
	if s.Command == "" {
		s.Command = s.Name
	}
	if s.Args == nil {
		s.Args = os.Args[1:]
	}
	if s.StopIn == 0 {
		s.StopIn = 4 * time.Second
	}
	if s.Grace == 0 {
		s.Grace = 2 * time.Second
	}
	o, err := s.parse()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Command, err)
		fmt.Fprintf(os.Stderr, "try %s --help\n", s.Command)
		return ExitUsage
	case o.help:
		s.usage(os.Stdout)
		return ExitOK
	case o.version:
		fmt.Printf("%s %s, %s\n", s.Name, s.version(), toolchain())
		return ExitOK
	case o.helpConfig:
		text, err := conf.Describe(s.Settings)
		if err != nil {
			return s.refuse(os.Stderr, err)
		}
		fmt.Print(text)
		return ExitOK
	case o.checkConfig:
		return s.check(o, os.Environ(), os.Stdout, os.Stderr)
	case early != nil:
		return s.refuse(os.Stderr, early)
	}
	return s.serve(o)
}

func (s Spec) version() string {
	if s.TestBuild {
		return Version() + " TEST BUILD"
	}
	return Version()
}

// refuse tells on w why the daemon does not start.
func (s Spec) refuse(w io.Writer, err error) int {
	var faults conf.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			fmt.Fprintf(w, "%s: %s\n", s.Name, f)
		}
		return ExitStart
	}
	e := errs.Public(err)
	line := e.Msg
	// The kernel's own words for a number: they quote nobody.
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		line += ": " + no.Error()
	}
	fmt.Fprintf(w, "%s: %s\n", s.Name, line)
	if e.Next != "" {
		fmt.Fprintf(w, "%s: %s\n", s.Name, e.Next)
	}
	return ExitStart
}

// serve starts, runs and ends the daemon.
func (s Spec) serve(o options) int {
	// Caught from here on, so that a signal during the start is not lost and
	// ends the daemon in the same way.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // a journal that restarts must not kill us

	if err := s.load(o, os.Environ()); err != nil {
		return s.refuse(os.Stderr, err)
	}
	base := s.Settings.Base()
	log, err := logging.New(logging.Options{
		Daemon: s.Name, Level: base.LogLevel, File: o.logFile,
		MaxBytes: base.LogMaxBytes, Backups: base.LogBackups, Stderr: os.Stderr,
	})
	if err != nil {
		return s.refuse(os.Stderr, err)
	}
	defer func() { _ = log.Close() }() // the process ends; every line was written at once

	r := &runner{Spec: s, base: base, log: log, started: time.Now()}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err = r.start(ctx, o)
	stop()
	if errors.Is(err, errStop) {
		log.Logger.LogAttrs(context.Background(), slog.LevelInfo, "ended before it served")
		return ExitOK
	}
	if err != nil {
		log.Logger.LogAttrs(context.Background(), slog.LevelError, "not started", logging.Err(err))
		if o.logFile != "" {
			// Whoever started it by hand, or the supervisor, reads this.
			_ = s.refuse(os.Stderr, err)
		}
		return ExitStart
	}
	return r.run(signals)
}

// runner is a daemon on its way.
type runner struct {
	Spec
	base    Base
	log     *logging.Log
	started time.Time

	notify  *sd.Notifier
	sockets sockets
	report  sandbox.Report
	proc    *Process
	running Running
	servers map[string]*rpc.Server
}

// start does everything up to the point where nothing is missing but to serve. The end
// of ctx ends what reports progress.
func (r *runner) start(ctx context.Context, o options) (err error) {
	r.limitMemory()
	if r.notify, err = sd.Open(); err != nil {
		return err
	}
	callers, err := r.base.callers()
	if err != nil {
		return err
	}
	build, err := rpc.BuildID() // while the file can still be read
	if err != nil {
		return err
	}
	if r.sockets, err = r.open(r.base.SocketDir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.sockets.close()
		}
	}()
	reg := metrics.New()
	reg.GaugeFunc("goroutines", "Goroutines now: more from day to day is a leak.", func() float64 { return float64(runtime.NumGoroutine()) })
	r.proc = &Process{
		Log: r.log.Logger, Redact: r.log.Redact, Metrics: reg, Callers: callers,
		CredentialsDir: sd.CredentialsDirectory(), SocketDir: r.base.SocketDir, Config: o.config,
		Progress: r.progress(ctx, time.Now),
		Node: rpc.NewNode(rpc.NodeConfig{
			Name: r.Name, Version: Version(), BuildID: build, StartedAt: r.started,
			Lab: r.Lab != nil && r.Lab(), TestBuild: r.TestBuild, Metrics: reg,
		}),
	}
	if r.Secrets != nil {
		if err := r.Secrets(r.proc); err != nil {
			return err
		}
	}
	if err := r.confine(o); err != nil {
		return err
	}
	return r.build()
}

// confine applies the sandbox.
func (r *runner) confine(o options) error {
	p, err := r.Profile(r.proc)
	if err != nil {
		return err
	}
	if o.logFile != "" {
		p.Logs = append(p.Logs, filepath.Dir(o.logFile))
	}
	p.Unlink = append(p.Unlink, r.sockets.dirs...)
	if r.report, err = sandbox.Apply(p, r.base.Sandbox); err != nil {
		return err
	}
	r.proc.Node.SetSandbox(string(r.base.Sandbox), r.report.Enforced, r.report.Missing)
	return nil
}

// build makes the services and their servers.
func (r *runner) build() (err error) {
	r.proc.Listeners = map[string]net.Listener{}
	for _, k := range r.Sockets {
		if k.Raw {
			r.proc.Listeners[k.Name] = r.sockets.by[k.Name]
		}
	}
	if r.running, err = r.Build(r.proc); err != nil {
		return err
	}
	r.servers = map[string]*rpc.Server{}
	for _, k := range r.Sockets {
		svc, ok := r.running.GRPC[k.Name]
		if ok == k.Raw {
			return errs.New(errs.Internal, "socket "+k.Name+" has no service, or one too many")
		}
		if k.Raw {
			continue
		}
		server, err := rpc.NewServer(rpc.Config{
			Name: k.Name, Node: r.proc.Node, Methods: svc.Methods, Callers: r.proc.Callers,
			Log: r.log.Logger, Metrics: r.proc.Metrics, Strict: svc.Strict, Grace: r.Grace,
		})
		if err != nil {
			return err
		}
		svc.Register(grpc.ServiceRegistrar(server))
		r.servers[k.Name] = server
	}
	return nil
}

// run serves until a signal or a failure, and ends everything.
func (r *runner) run(signals <-chan os.Signal) int {
	g := newGroup(r.log.Logger)
	for _, k := range r.Sockets {
		if server := r.servers[k.Name]; server != nil {
			l := r.sockets.by[k.Name]
			g.start(Task{Name: k.Name, Run: func(ctx context.Context) error { return server.Serve(ctx, l) }})
		}
	}
	for _, t := range r.running.Tasks {
		g.start(t)
	}
	if every := r.notify.WatchdogEvery(); every > 0 {
		g.start(Task{Name: "watchdog", Run: func(ctx context.Context) error { return r.feed(ctx, every) }})
	}
	r.proc.Node.SetServing(true)
	r.announce()

	r.attend(g, signals)

	r.proc.Node.SetServing(false)
	r.tell("stopping", r.notify.Stopping())
	g.cancel(errStop)
	left := g.wait(r.StopIn)
	for _, l := range r.sockets.by {
		_ = l.Close() // most are closed by their server; this removes the file of a Raw one
	}
	if len(left) > 0 {
		slices.Sort(left)
		r.log.Logger.LogAttrs(context.Background(), slog.LevelError, "tasks did not end in time",
			slog.String(logging.KeyDetail, strings.Join(left, " ")))
		return ExitFailed
	}
	if err := g.failure(); err != nil {
		r.log.Logger.LogAttrs(context.Background(), slog.LevelError, "ended by a failure", logging.Err(err))
		return ExitFailed
	}
	r.log.Logger.LogAttrs(context.Background(), slog.LevelInfo, "ended")
	return ExitOK
}

// announce says that the daemon serves, and behind which walls. The line names
// no identity and no address.
func (r *runner) announce() {
	names := make([]string, 0, len(r.Sockets))
	for _, k := range r.Sockets {
		names = append(names, k.Name)
	}
	walls := "sandbox " + string(r.base.Sandbox) + ", enforced: " + strings.Join(r.report.Enforced, " ")
	level := slog.LevelInfo
	if len(r.report.Missing) > 0 {
		walls += ", missing: " + strings.Join(r.report.Missing, " ")
		level = slog.LevelWarn
	}
	r.log.Logger.LogAttrs(context.Background(), level, "serving",
		slog.String(logging.KeyVersion, r.version()),
		slog.String(logging.KeyService, strings.Join(names, " ")),
		slog.String(logging.KeyDetail, walls))
	r.tell("ready", r.notify.Ready("serving "+strings.Join(names, ", ")))
}

// attend waits for the end, and reloads meanwhile when asked.
func (r *runner) attend(g *group, signals <-chan os.Signal) {
	for {
		select {
		case <-g.ctx.Done():
			return
		case sig := <-signals:
			if sig != syscall.SIGHUP {
				return
			}
			r.reload(g)
		}
	}
}

// reload runs the hook as a task, so that an end does not wait for it. What it
// refuses stays as it was.
func (r *runner) reload(g *group) {
	if r.running.Reload == nil {
		r.log.Logger.LogAttrs(g.ctx, slog.LevelInfo, "nothing to reload")
		return
	}
	g.start(Task{Name: "reload", Run: func(ctx context.Context) error {
		if err := r.running.Reload(ctx); err != nil {
			r.log.Logger.LogAttrs(ctx, slog.LevelError, "reload refused, the old state stays", logging.Err(err))
			return nil
		}
		r.log.Logger.LogAttrs(ctx, slog.LevelInfo, "reloaded")
		return nil
	}})
}

// feed keeps the watchdog quiet as long as the daemon says it is alive.
func (r *runner) feed(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if r.running.Alive != nil {
			if err := r.running.Alive(); err != nil {
				r.log.Logger.LogAttrs(ctx, slog.LevelError, "not alive, the watchdog is not fed", logging.Err(err))
				continue
			}
		}
		r.tell("watchdog", r.notify.Watchdog())
	}
}

// tell logs that systemd could not be told something: worth a line, not an end.
func (r *runner) tell(what string, err error) {
	if err != nil {
		r.log.Logger.LogAttrs(context.Background(), slog.LevelWarn, "systemd was not told",
			slog.String(logging.KeyDetail, what), logging.Err(err))
	}
}

// limitMemory applies Memory where the environment has not decided.
func (r *runner) limitMemory() {
	if r.Memory.GCPercent != 0 {
		if old := debug.SetGCPercent(r.Memory.GCPercent); old != 100 {
			debug.SetGCPercent(old)
		}
	}
	if r.Memory.LimitBytes != 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(r.Memory.LimitBytes)
	}
}
