package daemon

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/sd"
)

// options are the command line.
type options struct {
	config      string // the settings file
	typed       bool   // --config was given: the file must be there
	logFile     string
	checkConfig bool
	helpConfig  bool
	version     bool
	help        bool
}

// parse reads the command line. Its errors are for the person who typed it.
func (s Spec) parse() (options, error) {
	var o options
	fs := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the usage text below is ours
	fs.StringVar(&o.config, "config", "/etc/pfsense-mcp/"+s.Name+".toml", "")
	fs.StringVar(&o.logFile, "log-file", "", "")
	fs.BoolVar(&o.checkConfig, "check-config", false, "")
	fs.BoolVar(&o.helpConfig, "help-config", false, "")
	fs.BoolVar(&o.version, "version", false, "")
	if err := fs.Parse(s.Args); errors.Is(err, flag.ErrHelp) {
		o.help = true
		return o, nil
	} else if err != nil {
		return o, errs.New(errs.Invalid, err.Error()) // quotes the typist's own words
	}
	fs.Visit(func(f *flag.Flag) { o.typed = o.typed || f.Name == "config" })
	if fs.NArg() > 0 {
		return o, errs.Newf(errs.Invalid, "%d arguments too many: all are flags", fs.NArg())
	}
	if o.logFile != "" {
		if !filepath.IsAbs(o.logFile) {
			return o, errs.New(errs.Invalid, "--log-file must be an absolute path")
		}
		o.logFile = filepath.Clean(o.logFile)
	}
	return o, nil
}

// usage is the text of --help; with it a screen of 24 lines is not full.
func (s Spec) usage(w io.Writer) {
	fmt.Fprintf(w, `usage: %s [flags]

%s

  --config PATH    settings file, which may be missing where it is the default:
                   /etc/pfsense-mcp/%s.toml
  --check-config   check the settings, print every fault, end with 0 or 1
  --help-config    print every setting with its bounds and default
  --log-file PATH  log to PATH (yours alone, rotated) instead of standard error
  --version        print version and build
`, s.Command, strings.TrimSpace(s.About), s.Name)
	if len(s.Sockets) > 0 {
		fmt.Fprint(w, "\nSockets, from systemd by name or made below the setting socket_dir:\n")
	}
	for _, k := range s.Sockets {
		fmt.Fprintf(w, "  %-15s  for %s\n", k.Name, k.For)
	}
	fmt.Fprintf(w, `
Exit: 0 ended as asked, 1 could not start, 2 usage, 3 failed while it served.
Example: %s --check-config
`, s.Command)
}

// load fills the settings. Faults come back all at once.
func (s Spec) load(o options, env []string) error {
	if !o.typed {
		if err := installed(o.config, 0); err != nil {
			return err
		}
	}
	return conf.Load(s.Settings, conf.Options{
		Path: o.config, Optional: !o.typed, Env: env,
		Ignore: []string{"PFSENSE_MCP_SOCKET"}, // the shim's alone
	})
}

// check is --check-config.
func (s Spec) check(o options, env []string, stdout, stderr io.Writer) int {
	if err := s.load(o, env); err != nil {
		for l := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "%s: %s\n", s.Name, strings.TrimRight(l, "\n"))
		}
		return ExitStart
	}
	// Users are facts of this host, not of the file, which may be checked
	// elsewhere: said, and no fault. So are keys, and whether this user, who need
	// not be the daemon's, may read them.
	base := s.Settings.Base()
	if _, err := base.callers(); err != nil {
		s.warn(stderr, "on this host ", err)
	}
	if s.Secrets != nil {
		err := s.Secrets(&Process{
			Log: slog.New(slog.DiscardHandler), Redact: func([]byte) {},
			CredentialsDir: sd.CredentialsDirectory(), SocketDir: base.SocketDir, Config: o.config,
		})
		if err != nil {
			s.warn(stderr, "on this host, started by this user, it would end at once: ", err)
		}
	}
	fmt.Fprintf(stdout, "%s: the settings are fine\n", s.Name)
	return ExitOK
}

// warn prints what is no fault of the settings, with the next step.
func (s Spec) warn(w io.Writer, where string, err error) {
	e := errs.Public(err)
	line := where + e.Msg
	if e.Next != "" {
		line += "; " + e.Next
	}
	fmt.Fprintf(w, "%s: warning: %s\n", s.Name, strings.ReplaceAll(line, "\n", "; "))
}
