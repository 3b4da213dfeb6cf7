package signer

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/signer/internal/vault"
)

// Env is what a run gets from its process.
type Env struct {
	In, Out *os.File  // the terminal
	Err     io.Writer // problems
	Dir     string    // the signer's directory, absolute
	Version string
	Now     func() time.Time
	cost    vault.Cost // of a new key; the zero value is the default one
}

// The exit codes.
const (
	done    = 0
	refused = 1
	misused = 2
)

const usage = `mcpsign signs, off the host, what the executor prepared.

  mcpsign keygen --owner OWNER --id NAME [--no-passphrase]
  mcpsign sign-authorization  -i preview.json -o authorization.json
  mcpsign sign-confirmation   -i pending.json -o confirmation.json
  mcpsign sign-rollback       -i rollback-request.json -o rollback.json
  mcpsign sign-reconciliation -i observation.json [--pending pending.json]
                              --outcome OUTCOME -o evidence.json
  mcpsign sign-rebaseline     -i anchor.json --reason REASON -o rebaseline.json
  mcpsign pins                shows what this signer trusts
  mcpsign version

OWNER is authorization, confirmation or reconciliation; a machine holds the key
of one of them. The key, the pins file (pins.json) and the log of signatures lie
in the directory mcpsign below the user's configuration directory (~/.config).
OUTCOME is confirmed_applied or confirmed_not_applied, of an undo
confirmed_rollback_applied or confirmed_rollback_not_applied. REASON is
store_restored_from_backup, counter_advanced_elsewhere,
interrupted_attempt_lost or clock_poisoned.
Example: mcpsign sign-authorization -i preview.json -o authorization.json
`

// command is one verb.
type command struct {
	name string
	run  func(*Env, []string) error
}

// commands are all verbs.
func commands() []command {
	return []command{
		{"keygen", keygen},
		{"sign-authorization", authorization().run},
		{"sign-confirmation", confirmation().run},
		{"sign-rollback", rollback().run},
		{"sign-reconciliation", reconciliation().run},
		{"sign-rebaseline", rebaseline().run},
		{"pins", showPins},
		{"version", func(e *Env, _ []string) error { return e.say("mcpsign " + e.Version + "\n") }},
		{"help", func(e *Env, _ []string) error { return e.say(usage) }},
	}
}

// Run runs one command and returns the exit code: 0 signed or shown, 1 refused, 2
// not understood.
func Run(e Env, args []string) int {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		return e.report(e.say(usage))
	}
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return e.report(c.run(&e, args[1:]))
			}
		}
		return e.report(&misuse{"there is no such command"})
	}
	return e.report(&misuse{"say what to do"})
}

// misuse is a command line that was not understood.
type misuse struct{ msg string }

func (m *misuse) Error() string { return m.msg }

// report tells the person what was wrong. Nothing of a file or a key is in it.
func (e *Env) report(err error) int {
	if err == nil {
		return done
	}
	if m, ok := errors.AsType[*misuse](err); ok {
		// What was wrong stands last: the help above it fills a screen.
		_, _ = fmt.Fprintf(e.Err, "%s\nmcpsign: %s\n", usage, m.msg)
		return misused
	}
	msg, next := "it could not be done", "check the terminal and the signer's directory"
	if r, ok := errors.AsType[*vault.Error](err); ok {
		msg, next = r.Msg, r.Next
	} else if f, ok := errors.AsType[*artifact.Fault](err); ok {
		msg, next = "the file is refused: "+f.Error(), advice(f.Class)
	}
	// A stream that fails leaves only the exit code.
	_, _ = fmt.Fprintf(e.Err, "mcpsign: %s\nnext: %s\n", msg, next)
	return refused
}

// advice is the next step for a fault of a class.
func advice(c artifact.Class) string {
	switch c {
	case artifact.Signature:
		return "it was not made by the executor, or the owner, that this signer pins: find out where it comes from"
	case artifact.Binding:
		return "it contradicts itself or the pins: do not sign it in any other way, and find out who changed it or what changed on the host"
	case artifact.Keys:
		return "have the list of keys corrected"
	}
	return "carry it again; if it stays like this it was made by another version or changed on the way"
}

// say writes to the terminal.
func (e *Env) say(s string) error {
	_, err := io.WriteString(e.Out, s)
	return err
}

// no makes a refusal.
func no(msg, next string) error { return vault.Refuse(msg, next) }

// now returns the time in whole seconds, as files hold it.
func (e *Env) now() time.Time { return e.Now().UTC().Truncate(time.Second) }

// parseFlags parses a verb's flags; nothing else may stand on the line.
func parseFlags(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	if err := f.Parse(args); err != nil {
		return &misuse{f.Name() + " does not know one of these flags"}
	}
	if f.NArg() > 0 {
		return &misuse{f.Name() + " takes flags alone"}
	}
	return nil
}
