package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"pfsensemcp/test/bench/rig"
)

// scanAll lets one filtered call read every row that a figure has.
const scanAll = "scan_rows = 200000\n"

// begin starts an appliance with so many rows and mcpd beside it.
func (b *bench) begin(rows int, settings string) (*rig.Rig, *rig.Proc, error) {
	r, err := rig.New(b.bin, rows)
	if err != nil {
		return nil, nil, err
	}
	if len(b.mcpd) > 0 {
		r.Wrap = map[string][]string{"mcpd": b.mcpd}
	}
	p, _, err := r.Start("mcpd", settings)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r, p, nil
}

// asked calls a tool twice, so that what is cached is, and returns the GETs that
// the second call made and the bytes of its answer.
func asked(r *rig.Rig, c *lines, tool, args string) (gets []string, size int, err error) {
	if _, err := c.call(tool, args); err != nil {
		return nil, 0, err
	}
	if err := r.Appliance.Forget(); err != nil {
		return nil, 0, err
	}
	answer, err := c.call(tool, args)
	if err != nil {
		return nil, 0, err
	}
	size = len(answer)
	gets, err = r.Appliance.Asked()
	if err == nil && len(gets) == 0 {
		err = fmt.Errorf("%s asked the appliance nothing", tool)
	}
	return gets, size, err
}

// smallTool answers with about a kilobyte of one GET.
const smallTool = "pfsense_get_users"

// small is what a tool call by the shim takes beyond the GET it is made of.
func (b *bench) small() error {
	r, _, err := b.begin(0, "")
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := spawn(b.bin, r.Socket("mcp"))
	if err != nil {
		return err
	}
	defer c.close()
	gets, size, err := asked(r, c, smallTool, "{}")
	if err != nil {
		return err
	}
	if len(gets) != 1 {
		return fmt.Errorf("%s made %d GETs, one was expected", smallTool, len(gets))
	}
	g := newRaw(r.Appliance)
	defer g.close()
	var buf bytes.Buffer
	call := func() error { _, err := c.call(smallTool, "{}"); return err }
	get := func() error { return g.get(gets[0], &buf) }
	const n = 500
	if _, err := times(n, call); err != nil { // until the heap has its size
		return err
	}
	mid, tail, at, err := b.added(n, call, get)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%d rounds of %d; GET of %d bytes %.3f ms, call of %d bytes %.3f ms", b.rounds, n, buf.Len(), at[1], size, at[0])
	b.take("read_small_added_ms", mid, note)
	b.take("read_small_p99_added_ms", tail, note)
	return nil
}

// added runs two things in turns, n times each a round, and returns how much
// longer the first takes at the median and at p99, in milliseconds: of each
// round the difference, of the rounds the median. at are the two medians.
func (b *bench) added(n int, first, second func() error) (mid, tail float64, at [2]float64, err error) {
	var mids, tails, firsts, seconds []float64
	for range b.rounds {
		x, err := times(n, first)
		if err != nil {
			return 0, 0, at, err
		}
		y, err := times(n, second)
		if err != nil {
			return 0, 0, at, err
		}
		mids = append(mids, ms(median(x))-ms(median(y)))
		tails = append(tails, ms(quantile(x, 0.99))-ms(quantile(y, 0.99)))
		firsts, seconds = append(firsts, ms(median(x))), append(seconds, ms(median(y)))
	}
	return median(mids), median(tails), [2]float64{median(firsts), median(seconds)}, nil
}

// The call of the long list: a filter that every row is decoded for and a few
// in a hundred match.
const (
	longTool = "pfsense_get_firewall_states"
	longArgs = `{"where":["protocol = udp","bytes_total > 9000000"],"limit":100}`
)

// walk is one reading of a long list against its parts: the GETs of the same
// pages and a scan of their tokens.
type walk struct {
	gets  []string
	bytes int // of all pages
	call  time.Duration
	parts time.Duration
	cpu   time.Duration // of mcpd, per call
	ratio float64
}

func (b *bench) walk(rows, rounds int) (w walk, err error) {
	r, p, err := b.begin(rows, scanAll)
	if err != nil {
		return w, err
	}
	defer r.Close()
	c, err := spawn(b.bin, r.Socket("mcp"))
	if err != nil {
		return w, err
	}
	defer c.close()
	if w.gets, _, err = asked(r, c, longTool, longArgs); err != nil {
		return w, err
	}
	g := newRaw(r.Appliance)
	defer g.close()
	if w.bytes, err = g.getAndScan(w.gets); err != nil {
		return w, err
	}
	var ratios []float64
	var calls, parts []time.Duration
	var cpu time.Duration
	for range rounds {
		before, err := rig.CPU(p.PID())
		if err != nil {
			return w, err
		}
		x, err := times(1, func() error { _, err := c.call(longTool, longArgs); return err })
		if err != nil {
			return w, err
		}
		after, err := rig.CPU(p.PID())
		if err != nil {
			return w, err
		}
		y, err := times(1, func() error { _, err := g.getAndScan(w.gets); return err })
		if err != nil {
			return w, err
		}
		cpu += after - before
		calls, parts = append(calls, x[0]), append(parts, y[0])
		ratios = append(ratios, float64(x[0])/float64(y[0]))
	}
	w.call, w.parts, w.cpu, w.ratio = median(calls), median(parts), cpu/time.Duration(rounds), median(ratios)
	return w, nil
}

func (b *bench) walk10k() error {
	w, err := b.walk(10_000, 2*b.rounds)
	if err != nil {
		return err
	}
	b.take("read_10k_ratio", w.ratio, fmt.Sprintf("%d rounds; %.1f MB in %d GETs; call %.0f ms, GETs and scan %.0f ms", 2*b.rounds, float64(w.bytes)/1e6, len(w.gets), ms(w.call), ms(w.parts)))
	return nil
}

// peak is mcpd's memory while it walks 100,000 rows.
func (b *bench) peak() error {
	r, p, err := b.begin(100_000, scanAll)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := dial(r.Socket("mcp"))
	if err != nil {
		return err
	}
	defer c.close()
	// The first page of anything brings code into memory that later ones share.
	if _, err := c.call(longTool, `{"limit":10}`); err != nil {
		return err
	}
	var peaks []float64
	var size int
	most := int64(0)
	for range 3 {
		idle, err := rig.RSS(p.PID())
		if err != nil {
			return err
		}
		if err := r.Appliance.Forget(); err != nil {
			return err
		}
		top, err := rig.PeakOf(p.PID(), func() error { _, err := c.call(longTool, longArgs); return err })
		if err != nil {
			return err
		}
		n, err := r.Appliance.Count()
		if err != nil {
			return err
		}
		size, most = n, max(most, top)
		peaks = append(peaks, mib(top-idle))
	}
	b.take("read_peak_mib", peaks[0], fmt.Sprintf("%d GETs; the second and third walk of the same process add %.1f and %.1f; mcpd had at most %.1f", size, peaks[1], peaks[2], mib(most)))
	return nil
}

// smallTools are READ calls of one small GET each, every one of another
// endpoint: callers who ask for the same at the same moment share one GET, and
// sixteen sessions that did would not cost sixteen.
var smallTools = []string{
	"pfsense_get_system_status", "pfsense_get_system_version", "pfsense_get_carp_status", "pfsense_get_system_hasync",
	"pfsense_get_system_hostname", "pfsense_get_system_dns", "pfsense_get_system_timezone", "pfsense_get_ntp_settings",
	"pfsense_get_users", "pfsense_get_routing_static_routes", "pfsense_get_dns_resolver_settings", "pfsense_get_gateway_status",
	"pfsense_get_firewall_states_size", "pfsense_get_firewall_schedules", "pfsense_get_email_notification_settings", "pfsense_get_user_groups",
}

// throughput is calls a second by sixteen sessions against GETs a second by
// sixteen connections.
func (b *bench) throughput() error {
	r, p, err := b.begin(0, "")
	if err != nil {
		return err
	}
	defer r.Close()
	g := newRaw(r.Appliance)
	defer g.close()
	pids := []int{p.PID(), r.Appliance.Proc.PID(), os.Getpid()}
	sessions := make([]*lines, len(smallTools))
	gets := make([]string, len(smallTools))
	for i, tool := range smallTools {
		c, err := dial(r.Socket("mcp"))
		if err != nil {
			return err
		}
		defer c.close()
		sessions[i] = c
		made, _, err := asked(r, c, tool, "{}")
		if err != nil {
			return err
		}
		if len(made) != 1 {
			return fmt.Errorf("%s made %d GETs, one was expected: %q", tool, len(made), made)
		}
		gets[i] = made[0]
	}
	bufs := make([]bytes.Buffer, len(gets))
	call := func(i int) error { _, err := sessions[i].call(smallTools[i], "{}"); return err }
	get := func(i int) error { return g.get(gets[i], &bufs[i]) }
	const window = time.Second
	if _, _, err := rate(len(sessions), window, call); err != nil {
		return err
	}
	if _, _, err := rate(len(sessions), window, get); err != nil {
		return err
	}
	var ratios, calls, raws []float64
	var forCalls, forGets usage
	for range b.rounds {
		if err := r.Appliance.Forget(); err != nil {
			return err
		}
		var perS, rawPerS float64
		var n int
		err := forCalls.of(pids, func() (k int, err error) {
			perS, n, err = rate(len(sessions), window, call)
			return n, err
		})
		if err != nil {
			return err
		}
		cost, err := r.Appliance.Count()
		if err != nil {
			return err
		}
		if cost < n {
			return fmt.Errorf("%d calls cost %d GETs: some were shared", n, cost)
		}
		err = forGets.of(pids, func() (k int, err error) {
			rawPerS, k, err = rate(len(sessions), window, get)
			return k, err
		})
		if err != nil {
			return err
		}
		ratios, calls, raws = append(ratios, perS/rawPerS), append(calls, perS), append(raws, rawPerS)
	}
	x, y := forCalls.each(), forGets.each()
	b.take("calls_per_s_ratio", median(ratios), fmt.Sprintf(
		"%d rounds of %s; 16 endpoints, one a session; every call cost a GET; %.0f calls/s, %.0f GETs/s; CPU us a call: mcpd %.0f, appliance %.0f, clients %.0f; a GET: appliance %.0f, clients %.0f",
		b.rounds, window, median(calls), median(raws), x[0], x[1], x[2], y[1], y[2]))
	return nil
}

// usage is the CPU time of some processes over many operations.
type usage struct {
	spent []time.Duration
	n     int
}

// of adds what the processes use while f does its operations, whose number f
// returns.
func (u *usage) of(pids []int, f func() (int, error)) error {
	if u.spent == nil {
		u.spent = make([]time.Duration, len(pids))
	}
	before := make([]time.Duration, len(pids))
	for i, pid := range pids {
		var err error
		if before[i], err = rig.CPU(pid); err != nil {
			return err
		}
	}
	n, err := f()
	if err != nil {
		return err
	}
	u.n += n
	for i, pid := range pids {
		after, err := rig.CPU(pid)
		if err != nil {
			return err
		}
		u.spent[i] += after - before[i]
	}
	return nil
}

// each returns the microseconds of every process for one operation.
func (u *usage) each() []float64 {
	out := make([]float64, len(u.spent))
	for i, d := range u.spent {
		out[i] = float64(d.Microseconds()) / float64(max(u.n, 1))
	}
	return out
}

// rate runs n workers for a while and returns how often a second their function
// ended, and how often in all.
func rate(n int, window time.Duration, f func(i int) error) (perS float64, total int, err error) {
	counts, faults := make([]int, n), make([]error, n)
	begun := time.Now()
	until := begun.Add(window)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for time.Now().Before(until) {
				if faults[i] = f(i); faults[i] != nil {
					return
				}
				counts[i]++
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	for _, k := range counts {
		total += k
	}
	return float64(total) / took.Seconds(), total, errors.Join(faults...)
}
