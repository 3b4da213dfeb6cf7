package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/supervise/internal/process"
)

// readyWithin bounds how long the suite may take to come up. It is normally up
// in under a second; the bound is for a busy machine.
const readyWithin = 30 * time.Second

// Options says what to run.
type Options struct {
	Dir        string    // absolute; "" for the user's runtime directory, or a fresh private one
	RuntimeDir string    // $XDG_RUNTIME_DIR, or ""
	Fresh      bool      // always a new private directory, removed at the end
	BinDir     string    // where the programs are
	Demo       bool      // the pretend appliance, and the conversation
	Once       bool      // end after the conversation
	Write      bool      // with Demo: a laboratory's write path, and its rehearsal
	Env        []string  // the caller's PFSENSE_* settings, for mcpd alone
	Out        io.Writer // the ready line and the conversation
	Err        io.Writer // progress
}

// Run starts the suite, waits until every daemon is healthy, prints
// `ready socket=PATH` on Out, and ends everything when ctx is done or, with
// Once, when the conversation is over. An error of a step of the conversation
// is returned.
func Run(ctx context.Context, o Options) (err error) {
	begun := time.Now()
	if err := process.KeepDescriptors(); err != nil {
		return err
	}
	l, err := prepare(o.Dir, o.RuntimeDir, o.Fresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.remove()) }()
	lock, err := l.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()

	s := &suite{Options: o, layout: l}
	defer s.stop()
	s.say("running in " + l.root)
	if o.Demo {
		if err := s.startPretend(ctx); err != nil {
			return err
		}
		if o.Write {
			if err := s.startLab(ctx); err != nil {
				return err
			}
		}
	}
	if err := s.startDaemons(ctx); err != nil {
		return err
	}
	s.say("the suite is up after " + since(begun))
	fmt.Fprintf(o.Out, "ready socket=%s\n", l.socket("mcp"))
	if o.Demo && o.Write {
		if err := s.stage().Run(ctx); err != nil {
			return err
		}
	}
	if o.Demo {
		if err := s.converse(ctx); err != nil {
			return err
		}
	}
	if !o.Once {
		s.printClientSettings()
		<-ctx.Done()
	}
	s.say("stopping")
	return nil
}

// suite is one running suite.
type suite struct {
	Options
	layout layout

	sayMu   sync.Mutex
	pretend pretend
	lab     lab
	running []*process.Process
	keeping sync.WaitGroup
	cancel  context.CancelFunc
}

// say prints one line of progress.
func (s *suite) say(line string) {
	s.sayMu.Lock()
	defer s.sayMu.Unlock()
	fmt.Fprintln(s.Err, "mcpctl run: "+line)
}

// startDaemons starts the four daemons side by side and waits until all are
// healthy. From then on each is started again when it ends.
func (s *suite) startDaemons(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(ctx)
	begun := time.Now()
	type started struct {
		p      *process.Process
		stderr *process.Tail
	}
	var all []started
	for _, d := range daemons {
		p, err := s.daemon(d)
		if err != nil {
			return err
		}
		stderr := &process.Tail{}
		if err := p.Start(nil, stderr); err != nil {
			return err
		}
		s.running = append(s.running, p)
		all = append(all, started{p, stderr})
	}
	wctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for i, d := range daemons {
		if err := s.waitHealthy(wctx, d, all[i].p, all[i].stderr); err != nil {
			return err
		}
		s.say(d.name + " is healthy after " + since(begun))
	}
	for _, a := range all {
		s.keeping.Go(func() { a.p.Keep(ctx, s.say, a.stderr) })
	}
	return nil
}

// stop ends everything that was started, the front first.
func (s *suite) stop() {
	if s.cancel != nil {
		s.cancel()
	}
	s.keeping.Wait()
	var wg sync.WaitGroup
	for _, p := range s.running {
		wg.Go(p.Stop)
	}
	wg.Wait()
}

// daemonRow is one daemon: its program, and the sockets that must answer.
type daemonRow struct {
	name    string
	demo    string // the program's place below BinDir in the demonstration, "" for the usual one
	args    []string
	sockets []string // gRPC sockets that must answer SERVING
}

// daemons lists the suite, in the order in which health is waited for.
var daemons = []daemonRow{
	{name: "guidanced", sockets: []string{"guidance"}},
	{name: "docfetchd", demo: "demo/docfetchd", sockets: []string{"docs", "docs-admin"}},
	{name: "executord", demo: "demo/executord", sockets: []string{"exec", "exec-admin"}},
	{name: "mcpd", args: []string{"serve"}, sockets: []string{"mcpd-admin"}},
}

// daemon writes a daemon's settings file and returns its process.
func (s *suite) daemon(d daemonRow) (*process.Process, error) {
	program := d.name
	if s.Demo && d.demo != "" {
		program = d.demo
	}
	path, err := process.Find(s.BinDir, program)
	if err != nil {
		return nil, err
	}
	file, err := s.layout.write(filepath.Join("etc", d.name+".toml"), []byte(s.settings(d)))
	if err != nil {
		return nil, err
	}
	log := filepath.Join(s.layout.root, "log", d.name+".log")
	env := []string{}
	if d.name == "mcpd" && !s.Demo {
		env = s.Env
	}
	return &process.Process{
		Name: d.name, Path: path, Env: env,
		Args: append(append([]string{}, d.args...), "--config", file, "--log-file", log),
	}, nil
}

// settings returns a daemon's settings file. The caller is both mcpd's user and
// the operator: under one uid there is nobody else.
func (s *suite) settings(d daemonRow) string {
	me := strconv.Itoa(os.Geteuid()) // the number: in a container it may have no name
	var b strings.Builder
	set := func(key, value string) { b.WriteString(key + " = " + strconv.Quote(value) + "\n") }
	set("sandbox", "available")
	set("socket_dir", s.layout.root)
	b.WriteString("operators = [" + strconv.Quote(me) + "]\n")
	if d.name == "mcpd" {
		b.WriteString("operators_may_use_mcp = true\n")
	} else {
		set("mcpd_user", me)
	}
	if s.Demo {
		s.pretend.settings(d.name, set)
	}
	switch {
	case !s.Write:
	case d.name == "mcpd":
		set("profile", "write_protected")
	case d.name == "executord":
		s.lab.settings(&b, s.pretend, s.storeDir())
	}
	return b.String()
}

// Programs returns the directory of this program's own file, where the others
// stand too.
func Programs() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", errs.Wrap(err, errs.Unavailable, "the directory of the programs cannot be found")
	}
	return filepath.Dir(exe), nil
}

// since formats how long something took, for progress lines.
func since(t time.Time) string {
	return strconv.FormatFloat(time.Since(t).Seconds(), 'f', 2, 64) + " s"
}
