package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/textsafe"
)

// Exit codes of mcpctl.
const (
	ExitOK    = 0
	ExitFail  = 1 // the command failed, was denied, or a check failed
	ExitUsage = 2 // the command line is wrong, or what must agree does not
)

// MaxText bounds one text of a daemon on the terminal, MaxError one message or next
// step of an error, in bytes.
const (
	MaxText  = 200
	MaxError = 800
)

// Env is what a command may use of the process.
type Env struct {
	In         *os.File // the terminal; nil for none
	Out, Err   io.Writer
	Environ    []string // os.Environ form
	RuntimeDir string   // $XDG_RUNTIME_DIR, or ""
	Version    string
	Now        func() time.Time // nil: time.Now
}

// Time returns the time in whole seconds, UTC.
func (e Env) Time() time.Time {
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	return now().UTC().Truncate(time.Second)
}

// Command is one row of a table: a command, or a group of them.
type Command struct {
	Name    string
	Args    string   // shown after the name in usage
	Help    string   // one line
	Example string   // the whole line
	Notes   string   // shown beneath the flags; may be ""
	Words   []string // arguments that a shell offers to complete; may be nil
	Run     func(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error
	Sub     []Command // of a group, which has no Run
	// Code returns the exit code of an error; nil means ExitFail for all but usage.
	Code func(error) int
}

// ErrUsage marks an error of the command line that was shown already, for exit code 2.
var ErrUsage = errors.New("usage")

// Exit ends a command with a code, after it has said everything itself.
type Exit int

// Error names the code.
func (c Exit) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// Run runs one command line of a table and returns the exit code. prefix is what
// stands before the command: "mcpctl".
func Run(ctx context.Context, e Env, prefix string, table []Command, args []string) int {
	c := find(table, args[0])
	if c == nil {
		fmt.Fprintf(e.Err, "mcpctl: there is no command %s\n%s --help lists them\n", shown(args[0]), prefix)
		return ExitUsage
	}
	name := prefix + " " + c.Name
	if c.Sub == nil {
		return c.run(ctx, e, name, args[1:])
	}
	if len(args) < 2 {
		c.group(e.Err, name)
		return ExitUsage
	}
	if isHelp(args[1]) {
		c.group(e.Out, name)
		return ExitOK
	}
	return Run(ctx, e, name, c.Sub, args[1:])
}

func find(table []Command, name string) *Command {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

func isHelp(s string) bool { return s == "--help" || s == "-help" || s == "-h" || s == "help" }

// run runs one command and renders its error for a person.
func (c *Command) run(ctx context.Context, e Env, name string, args []string) int {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	var wrong strings.Builder // what package flag and Misuse say of the command line
	fs.SetOutput(&wrong)
	fs.Usage = func() { c.brief(&wrong, name) }
	err := c.Run(ctx, e, fs, args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(e.Out, name, fs)
		return ExitOK
	}
	if wrong.Len() > 0 {
		fmt.Fprintf(e.Err, "mcpctl: %s%s --help shows the flags\n", wrong.String(), name)
	}
	if code, ok := errors.AsType[Exit](err); ok {
		return int(code)
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled) && !coded(err):
		return ExitOK // who interrupts a command that has no more to say knows it
	case errors.Is(err, ErrUsage):
		return ExitUsage
	}
	Render(e.Err, err)
	if c.Code != nil {
		return c.Code(err)
	}
	return ExitFail
}

// coded says whether an error says something to a person.
func coded(err error) bool {
	_, ok := errors.AsType[*errs.Error](err)
	return ok
}

// Render prints what failed and the next step. An error nobody coded says no more
// than that it is internal. An error may be a daemon's: nothing in it reaches the
// terminal as it is.
func Render(w io.Writer, err error) {
	p := errs.Public(err)
	fmt.Fprintln(w, "mcpctl: "+textsafe.Clean(p.Msg, MaxError))
	if p.Next == "" {
		p.Next = "mcpctl doctor names what is wrong; mcpctl logs has the lines of it"
		if p.Class == "store_integrity" {
			p.Next = "repair nothing: mcpctl audit verify, and a copy of the store's file"
		}
	}
	fmt.Fprintln(w, "next: "+textsafe.Clean(p.Next, MaxError))
}

// Clean returns a daemon's text as the terminal may see it.
func Clean(s string) string { return textsafe.Clean(s, MaxText) }

// shown is a word of the command line as a message may hold it.
func shown(s string) string { return `"` + strings.ReplaceAll(Clean(s), `"`, `\"`) + `"` }

// Parse parses a command's flags, which may stand before, between and behind its
// arguments, and returns the arguments: at least least, at most most.
func Parse(fs *flag.FlagSet, args []string, least, most int) ([]string, error) {
	var rest []string
	for plain := false; len(args) > 0; {
		if !plain {
			if err := fs.Parse(args); err != nil {
				if errors.Is(err, flag.ErrHelp) {
					return nil, err
				}
				return nil, ErrUsage
			}
			taken := len(args) - fs.NArg()
			plain = taken > 0 && args[taken-1] == "--" // the rest are arguments
			args = fs.Args()
			if len(args) == 0 {
				break
			}
		}
		if len(rest) == most {
			return nil, Misuse(fs, shown(args[0])+" is not an argument of this command")
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if len(rest) < least {
		return nil, Misuse(fs, "an argument is missing")
	}
	return rest, nil
}

// Misuse says what is wrong with the command line, shows the usage and returns
// ErrUsage.
func Misuse(fs *flag.FlagSet, msg string) error {
	fmt.Fprintln(fs.Output(), msg)
	fs.Usage()
	return ErrUsage
}
