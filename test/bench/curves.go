package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pfsensemcp/test/bench/plot"
	"pfsensemcp/test/bench/rig"
)

// tolerance is how far above 1 the exponent of a straight line may seem to be on
// a machine that does other things too.
const tolerance = 0.15

// curves measures how cost grows and draws it.
func (b *bench) curves() {
	for _, c := range []struct {
		name string
		take func(*bench) error
	}{{"curve_rows", (*bench).rowsCurve}, {"curve_sessions", (*bench).sessionsCurve}, {"curve_contracts", (*bench).contractsCurve}} {
		if !b.wants(c.name) {
			continue
		}
		if err := c.take(b); err != nil {
			b.failed = true
			fmt.Fprintf(b.errs, "bench: %s: %v\n", c.name, err)
		}
	}
}

// grown prints the points of a series and whether it grows faster than linear.
func (b *bench) grown(s plot.Series, curve string) {
	fmt.Fprintf(b.out, "curve=%s series=%q", curve, s.Name)
	for i := range s.X {
		fmt.Fprintf(b.out, " %.0f:%s", s.X[i], number(s.Y[i]))
	}
	worst := steepest(s.X, s.Y)
	fmt.Fprintf(b.out, " exponent=%.2f linear=%s\n", worst, yes(worst <= 1+tolerance))
}

// draw writes a chart and prints what it shows.
func (b *bench) draw(name string, c plot.Chart) error {
	for _, s := range c.Series {
		b.grown(s, name)
	}
	if err := os.MkdirAll(b.plots, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.plots, name+".svg"), c.SVG(), 0o644)
}

// rowsCurve is a filtered reading of ever longer lists.
func (b *bench) rowsCurve() error {
	call := plot.Series{Name: "filtered call"}
	parts := plot.Series{Name: "GETs of the same pages and a token scan"}
	cpu := plot.Series{Name: "CPU time of mcpd"}
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		// Short lists are read often enough for the kernel's clock of CPU time.
		w, err := b.walk(n, max(5, 20_000/n))
		if err != nil {
			return err
		}
		call.X, call.Y = append(call.X, float64(n)), append(call.Y, ms(w.call))
		parts.X, parts.Y = append(parts.X, float64(n)), append(parts.Y, ms(w.parts))
		cpu.X, cpu.Y = append(cpu.X, float64(n)), append(cpu.Y, ms(max(w.cpu, time.Microsecond)))
	}
	return b.draw("rows", plot.Chart{Title: "Reading a list of so many rows, filtered", X: "rows", Y: "ms", Series: []plot.Series{call, parts, cpu}})
}

// sessionsCurve is mcpd's memory for ever more sessions, and what a call costs
// when all of them call.
func (b *bench) sessionsCurve() error {
	r, p, err := b.begin(0, "")
	if err != nil {
		return err
	}
	defer r.Close()
	w := &crowd{socket: r.Socket("mcp")}
	defer w.close()
	memory := plot.Series{Name: "memory of mcpd, MiB"}
	total := plot.Series{Name: "CPU time of mcpd for ten calls of every session, ms"}
	for n := 1; n <= most(); n *= 4 {
		if err := w.grow(n); err != nil {
			return err
		}
		time.Sleep(settle)
		rss, err := rig.RSS(p.PID())
		if err != nil {
			return err
		}
		cpu, err := callingCPU(w, p.PID(), max(4, 512/n))
		if err != nil {
			return err
		}
		memory.X, memory.Y = append(memory.X, float64(n)), append(memory.Y, mib(rss))
		total.X, total.Y = append(total.X, float64(n)), append(total.Y, ms(cpu))
	}
	return b.draw("sessions", plot.Chart{Title: "So many sessions", X: "sessions", Y: "MiB, ms", Series: []plot.Series{memory, total}})
}

// callingCPU returns the CPU time of a process for ten calls of every session: of
// three tries the least, because a busy machine only ever adds. Each try makes k
// times ten, so that the kernel's clock of CPU time has enough to count.
func callingCPU(w *crowd, pid, k int) (time.Duration, error) {
	least := time.Hour
	for range 3 {
		before, err := rig.CPU(pid)
		if err != nil {
			return 0, err
		}
		if err := w.call(infoTool, 10*k); err != nil {
			return 0, err
		}
		after, err := rig.CPU(pid)
		if err != nil {
			return 0, err
		}
		least = min(least, (after-before)/time.Duration(k))
	}
	return least, nil
}

// contractsCurve is opening stores of ever more contracts.
func (b *bench) contractsCurve() error {
	open, size, peak := plot.Series{Name: "verification at the start, ms"}, plot.Series{Name: "file, MiB"}, plot.Series{Name: "memory of the verification, MiB"}
	for _, n := range []int{10, 100, 1000, storeContracts, 100_000} {
		s, err := b.opened(n)
		if err != nil {
			return err
		}
		open.X, open.Y = append(open.X, float64(n)), append(open.Y, s.ms)
		size.X, size.Y = append(size.X, float64(n)), append(size.Y, s.mib)
		peak.X, peak.Y = append(peak.X, float64(n)), append(peak.Y, s.peak)
	}
	return b.draw("contracts", plot.Chart{Title: "A store of so many settled contracts", X: "contracts", Y: "ms, MiB", Series: []plot.Series{open, size, peak}})
}
