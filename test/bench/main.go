// Bench measures what the suite costs, with the built programs as processes.
//
//	go run ./test/bench -bin bin               every figure
//	go run ./test/bench -bin bin -only read    those with read in their names
//	go run ./test/bench -bin bin -plot DIR     the curves as well, drawn into DIR
//
// It prints one line a figure and then a table, and exits 0 whatever the
// figures are, 1 when one could not be taken, 2 for usage. docs/figures.md says
// what each figure is. The ratios are taken pair by pair: what is compared runs
// in turns, so that a busy machine slows both.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// bench is one run.
type bench struct {
	bin    string
	rounds int // of each pair, at least 5
	only   *regexp.Regexp
	plots  string   // directory; "" for no curves
	mcpd   []string // command that runs mcpd, in place of the program
	out    io.Writer
	errs   io.Writer
	kept   string         // directory of stores that were played before; "" for none
	stores map[int]opened // by contracts; filled when asked for
	seen   []result
	failed bool
}

// result is one figure that was taken.
type result struct {
	limit
	value  float64
	absent bool
	note   string
}

func (r result) ok() bool {
	return !r.absent && (r.atLeast && r.value >= r.bound || !r.atLeast && r.value <= r.bound)
}

func run(args []string, in io.Reader, out, problems io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(problems)
	bin := fs.String("bin", "bin", "`directory` of the built programs")
	rounds := fs.Int("rounds", 7, "rounds of each pair, at least 5")
	only := fs.String("only", "", "take only figures and curves that match this `pattern`")
	plots := fs.String("plot", "", "measure the curves too and draw them into this `directory`")
	stores := fs.String("stores", "", "keep the stores that were played in this `directory`, and use those that are there")
	mcpd := fs.String("mcpd", "", "`command` that runs mcpd in place of the program, such as a test binary under a profile")
	helper := fs.String("helper", "", "for the program itself: be one of its helpers")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *helper != "" {
		if err := help(*helper, fs.Args(), in, out); err != nil {
			fmt.Fprintln(problems, "bench:", err)
			return 1
		}
		return 0
	}
	pattern, err := regexp.Compile(*only)
	if err != nil || fs.NArg() > 0 || *rounds < 5 {
		fmt.Fprintln(problems, "bench: see -help; -rounds is at least 5, -only a regular expression")
		return 2
	}
	dir, err := filepath.Abs(*bin)
	if err == nil && *stores != "" {
		*stores, err = filepath.Abs(*stores)
	}
	if err != nil {
		fmt.Fprintln(problems, "bench:", err)
		return 1
	}
	b := &bench{bin: dir, rounds: *rounds, only: pattern, plots: *plots, mcpd: strings.Fields(*mcpd), kept: *stores, stores: map[int]opened{}, out: out, errs: problems}
	b.machine()
	for _, g := range groups {
		if !b.wants(g.names...) {
			continue
		}
		if err := g.take(b); err != nil {
			b.failed = true
			fmt.Fprintf(problems, "bench: %s: %v\n", strings.Join(g.names, ", "), err)
		}
	}
	if b.plots != "" {
		b.curves()
	}
	b.table()
	if b.failed {
		return 1
	}
	return 0
}

// wants says whether one of the names was asked for.
func (b *bench) wants(names ...string) bool {
	for _, n := range names {
		if b.only.MatchString(n) {
			return true
		}
	}
	return false
}

// machine says what the figures were taken on: without it an absolute one means
// little.
func (b *bench) machine() {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	fmt.Fprintf(b.out, "# cores=%d load=%q root=%v go=%s rounds=%d\n", runtime.NumCPU(), strings.TrimSpace(string(load)), os.Geteuid() == 0, runtime.Version(), b.rounds)
}

// take records a figure and prints its line.
func (b *bench) take(name string, value float64, note string) {
	b.record(result{limit: limits[name], value: value, note: note}, name)
}

// absent records a figure whose part does not exist yet.
func (b *bench) absent(name, why string) {
	b.record(result{limit: limits[name], absent: true, note: why}, name)
}

func (b *bench) record(r result, name string) {
	r.name = name
	if !b.wants(name) {
		return
	}
	b.seen = append(b.seen, r)
	fmt.Fprintf(b.out, "figure=%s value=%s unit=%s limit=%s ok=%s\n", r.name, r.text(), r.unit, number(r.bound), yes(r.ok()))
}

func (r result) text() string {
	if r.absent {
		return "absent"
	}
	return number(r.value)
}

// number prints three digits that matter, and whole numbers whole.
func number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

func (b *bench) table() {
	w := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nfigure\tvalue\tlimit\tunit\tok\thow")
	for _, r := range b.seen {
		sign := "<="
		if r.atLeast {
			sign = ">="
		}
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\t%s\t%s\n", r.name, r.text(), sign, number(r.bound), r.unit, yes(r.ok()), r.note)
	}
	if err := w.Flush(); err != nil {
		b.failed = true
	}
}
