package opctl

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"pfsensemcp/pkg/apidocs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
)

// compared is `mcpctl schema-diff --json`.
type compared struct {
	A *loaded `json:"a"`
	B *loaded `json:"b"`
	*apidocs.Diff
}

// schemaDiff is `mcpctl schema-diff`: what differs between two documents, by
// meaning. It ends with 0 when the comparison ran, whatever it found, and with 1
// when a side could not be had.
func schemaDiff(ctx context.Context, e Env, fs *flag.FlagSet, args []string) error {
	dir := suite.DirFlag(e, fs)
	a := fs.String("a", sideUpstream, "one side `S`: upstream, appliance, or file:PATH (a saved document, or what --dump wrote)")
	b := fs.String("b", sideAppliance, "the other side `S`")
	asJSON := fs.Bool("json", false, "print JSON")
	// A flag of two words, which the flag package does not know: it is taken out
	// before, and stands here for --help.
	fs.String("dump", "", "`SIDE PATH`: write the contract of side a or b to a new file, mode 600; may stand twice")
	dumps, rest, err := takeDumps(args)
	if err != nil {
		return cli.Misuse(fs, err.Error())
	}
	if _, err := cli.Parse(fs, rest, 0, 0); err != nil {
		return err
	}
	for _, s := range []string{*a, *b} {
		if !isSide(s) {
			return cli.Misuse(fs, fmt.Sprintf("%q is no side: upstream, appliance, or file:PATH", s))
		}
	}
	x, errA := load(ctx, *dir, *a)
	y, errB := load(ctx, *dir, *b)
	for _, d := range dumps {
		from := map[string]*loaded{"a": x, "b": y}[d.side]
		if from == nil {
			continue // the side is missing, which is said below
		}
		if err := dump(from, d.path); err != nil {
			return err
		}
		fmt.Fprintf(e.Err, "mcpctl: the contract of side %s is in %s\n", d.side, d.path)
	}
	for _, err := range []error{errA, errB} {
		if err != nil {
			return err
		}
	}
	out := compared{A: x, B: y, Diff: apidocs.Compare(x.contract, y.contract)}
	if *asJSON {
		return cli.WriteJSON(e.Out, out)
	}
	printDiff(e.Out, out)
	return nil
}

// dumped is one --dump.
type dumped struct{ side, path string }

// takeDumps takes the flags --dump SIDE PATH out of the arguments.
func takeDumps(args []string) (dumps []dumped, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		if args[i] != "--dump" && args[i] != "-dump" {
			rest = append(rest, args[i])
			continue
		}
		if len(args)-i < 3 {
			return nil, nil, errors.New("--dump needs a side and a path")
		}
		d := dumped{args[i+1], args[i+2]}
		if d.side != "a" && d.side != "b" || strings.HasPrefix(d.path, "-") || d.path == "" {
			return nil, nil, errors.New("--dump needs a side, a or b, and a path")
		}
		dumps = append(dumps, d)
		i += 2
	}
	return dumps, rest, nil
}

func (l *loaded) String() string {
	s := fmt.Sprintf("%s, version %s, %s", l.Side, l.Version, l.Freshness)
	if l.FetchedAt != "" {
		s += ", fetched " + l.FetchedAt
	}
	return s + ", document " + l.DocumentHash[:min(12, len(l.DocumentHash))]
}

// printDiff prints a comparison for a person. Every text in it went through the
// bounds of apidocs.
func printDiff(w io.Writer, c compared) {
	fmt.Fprintf(w, "a: %s\nb: %s\n\n", c.A, c.B)
	for _, d := range append(c.Dimensions, c.Defaults) {
		if d.Total == 0 {
			fmt.Fprintf(w, "%-20s identical\n", d.Name)
			continue
		}
		fmt.Fprintf(w, "%-20s %d differences: %d added in b, %d removed in b, %d changed\n", d.Name, d.Total, d.Added, d.Removed, d.Changed)
		for _, x := range d.Shown {
			switch {
			case x.Class == apidocs.Changed:
				fmt.Fprintf(w, "  ~ %s: %s -> %s\n", x.Subject, x.A, x.B)
			case x.Class == apidocs.AddedInB:
				fmt.Fprintf(w, "  + %s%s\n", x.Subject, ofValue(x.B))
			default:
				fmt.Fprintf(w, "  - %s%s\n", x.Subject, ofValue(x.A))
			}
		}
		if n := d.Total - len(d.Shown); n > 0 {
			fmt.Fprintf(w, "  and %d more\n", n)
		}
	}
	fmt.Fprintf(w, "\n%d differences of the contract, %d of default values\n%s\n", c.ContractTotal(), c.Defaults.Total, c.Disclaimer)
}

func ofValue(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}
