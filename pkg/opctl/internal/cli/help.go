package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// A help text is read on a terminal of 24 lines and 80 columns, the least that a
// console has; a line stays below the last column so that none of them wraps it.
const (
	columns = 79
	hanging = 26 // where the text of a flag begins
)

// help prints all that there is to know of a command.
func (c *Command) help(w io.Writer, name string, fs *flag.FlagSet) {
	c.brief(w, name)
	fs.VisitAll(func(f *flag.Flag) {
		arg, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		left := strings.TrimSpace("--" + f.Name + " " + arg)
		if len(f.Name) == 1 {
			left = left[1:]
		}
		for i, line := range Wrap(text, columns-hanging) {
			if i > 0 {
				left = ""
			}
			fmt.Fprintf(w, "  %-*s %s\n", hanging-3, left, line)
		}
	})
	paragraphs(w, c.Notes)
}

// brief prints how a command is called, for a person who called it wrongly: what was
// wrong stays on the screen.
func (c *Command) brief(w io.Writer, name string) {
	fmt.Fprintf(w, "usage: %s\n", strings.TrimSpace(name+" "+c.Args))
	paragraphs(w, c.Help)
	// A long one is continued as a shell wants it, with each flag beside its value.
	parts := strings.Split("example: "+c.Example, " -")
	for i := range parts[1:] {
		parts[i+1] = "-" + parts[i+1]
	}
	fmt.Fprintln(w, strings.Join(fill(parts, columns-2), " \\\n    "))
}

// group prints the commands of a group.
func (c *Command) group(w io.Writer, name string) {
	fmt.Fprintf(w, "usage: %s COMMAND [flags]\n", name)
	paragraphs(w, c.Help)
	fmt.Fprintln(w)
	const text = 20 // where the help of a command begins
	for _, s := range c.Sub {
		left := s.Name
		for i, line := range Wrap(s.Help, columns-text) {
			if i > 0 {
				left = ""
			}
			fmt.Fprintf(w, "  %-*s %s\n", text-3, left, line)
		}
	}
	fmt.Fprintf(w, "\nexample: %s\n%s COMMAND --help shows flags and an example\n", c.Example, name)
}

// paragraphs prints a text of ours, in which a line end ends a paragraph.
func paragraphs(w io.Writer, text string) {
	if text == "" {
		return
	}
	for p := range strings.SplitSeq(text, "\n") {
		for _, line := range Wrap(p, columns) {
			fmt.Fprintln(w, line)
		}
	}
}

// Wrap breaks an ASCII text of ours between words into lines of at most width bytes;
// a longer word has a line of its own.
func Wrap(text string, width int) []string { return fill(strings.Fields(text), width) }

func fill(words []string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
