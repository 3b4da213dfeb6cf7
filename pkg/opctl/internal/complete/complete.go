// Package complete owns the completion scripts of mcpctl for three shells, made from
// its table of commands.
//
// Only opctl imports it. A script holds names and help of the table and nothing else;
// it must never start mcpctl while somebody types.
//
// The attack it stops: a completion that runs a program, or reads a socket, each time
// a key is pressed in root's shell.
package complete

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"pfsensemcp/pkg/opctl/internal/cli"
)

// shells are those that a script can be made for.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// Command is the row of mcpctl's table; table returns all of it.
func Command(table func() []cli.Command) cli.Command {
	return cli.Command{
		Name: "completion", Args: "bash|zsh|fish", Help: "print a shell's completion script", Words: shells(),
		Example: "mcpctl completion bash >/usr/share/bash-completion/completions/mcpctl",
		Run: func(_ context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
			rest, err := cli.Parse(fs, args, 1, 1)
			if err != nil {
				return err
			}
			makers := map[string]func(io.Writer, []spot){"bash": bash, "zsh": zsh, "fish": fish}
			m := makers[rest[0]]
			if m == nil {
				return cli.Misuse(fs, "the shells are "+strings.Join(shells(), ", "))
			}
			m(e.Out, spots(table()))
			return nil
		},
	}
}

// spot is a place on the command line, and what may stand there.
type spot struct {
	at    []string // the commands before
	words []word   // commands, arguments
	flags []word
	whole bool // no further command follows: arguments and flags alone
}

// word is one word with its help.
type word struct{ name, help string }

// spots lists every place of a table.
func spots(table []cli.Command) []spot {
	top := spot{}
	var rest []spot
	for _, c := range table {
		top.words = append(top.words, word{c.Name, c.Help})
		if c.Sub == nil {
			rest = append(rest, ofCommand([]string{c.Name}, c))
			continue
		}
		group := spot{at: []string{c.Name}}
		for _, s := range c.Sub {
			group.words = append(group.words, word{s.Name, s.Help})
			rest = append(rest, ofCommand([]string{c.Name, s.Name}, s))
		}
		rest = append(rest, group)
	}
	return append([]spot{top}, rest...)
}

// ofCommand asks a command for its flags: it defines them and then finds that help is
// wanted, before it does anything.
func ofCommand(at []string, c cli.Command) spot {
	s := spot{at: at, whole: true}
	for _, w := range c.Words {
		s.words = append(s.words, word{name: w})
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := c.Run(context.Background(), cli.Env{Out: io.Discard, Err: io.Discard}, fs, []string{"--help"})
	if !errors.Is(err, flag.ErrHelp) {
		return s
	}
	fs.VisitAll(func(f *flag.Flag) {
		_, help := flag.UnquoteUsage(f)
		dash := "--"
		if len(f.Name) == 1 {
			dash = "-"
		}
		s.flags = append(s.flags, word{dash + f.Name, help})
	})
	return s
}

// names are the words of a spot, in their order.
func (s spot) names() string {
	var out []string
	for _, w := range slices.Concat(s.words, s.flags) {
		out = append(out, w.name)
	}
	return strings.Join(out, " ")
}

// cases renders the places as the branches of a case on the commands before.
func cases(w io.Writer, all []spot, line string) {
	for _, s := range all {
		at := strings.Join(s.at, " ")
		pattern := "'" + at + "'"
		if len(s.at) == 1 && s.whole {
			pattern += "|'" + at + " '*" // an argument before changes nothing
		}
		fmt.Fprintf(w, "\t%s) "+line+" ;;\n", pattern, s.names())
	}
}

func bash(w io.Writer, all []spot) {
	fmt.Fprint(w, `# Completion of mcpctl for bash; made by: mcpctl completion bash
_mcpctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} at= words=
	[ "$COMP_CWORD" -gt 1 ] && at=${COMP_WORDS[1]}
	[ "$COMP_CWORD" -gt 2 ] && at="$at ${COMP_WORDS[2]}"
	case $at in
`)
	cases(w, all, "words='%s'")
	fmt.Fprint(w, `	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _mcpctl mcpctl
`)
}

func zsh(w io.Writer, all []spot) {
	fmt.Fprint(w, `#compdef mcpctl
# Completion of mcpctl for zsh; made by: mcpctl completion zsh
_mcpctl() {
	local at= list=
	(( CURRENT > 2 )) && at=$words[2]
	(( CURRENT > 3 )) && at="$at $words[3]"
	case $at in
`)
	cases(w, all, "list='%s'")
	fmt.Fprint(w, `	esac
	compadd -- ${=list}
	(( CURRENT > 2 )) && _files
}
compdef _mcpctl mcpctl
`)
}

func fish(w io.Writer, all []spot) {
	fmt.Fprint(w, `# Completion of mcpctl for fish; made by: mcpctl completion fish
function __mcpctl_at
	set -l t (commandline -opc)
	set -e t[1]
	test (count $t) -ge (count $argv); or return 1
	for i in (seq (count $argv))
		test "$t[$i]" = "$argv[$i]"; or return 1
	end
end
function __mcpctl_none
	test (count (commandline -opc)) -eq 1
end
`)
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace
	for _, s := range all {
		when := "__mcpctl_none"
		if len(s.at) > 0 {
			when = "__mcpctl_at " + strings.Join(s.at, " ")
		}
		for _, x := range s.words {
			fmt.Fprintf(w, "complete -c mcpctl -n '%s' -a %s -d '%s'\n", when, x.name, quote(x.help))
		}
		for _, x := range s.flags {
			kind, name := "-l", strings.TrimPrefix(x.name, "--")
			if !strings.HasPrefix(x.name, "--") {
				kind, name = "-s", strings.TrimPrefix(x.name, "-")
			}
			fmt.Fprintf(w, "complete -c mcpctl -n '%s' %s %s -d '%s'\n", when, kind, name, quote(x.help))
		}
	}
}
