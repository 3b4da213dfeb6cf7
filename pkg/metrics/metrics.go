// Package metrics owns a daemon's counters, gauges and latency histograms and
// their OpenMetrics text.
//
// Every package may import it; it imports none of ours, starts nothing and
// opens nothing: the text leaves the process through node.v1 alone. Labels are
// for names from our own tables. Text of an outsider must never become a label:
// the bound on the number of series would then let one caller blind all others,
// and the text would show what was asked for.
//
// The attack it stops: memory that grows with what outsiders send. A metric has at
// most MaxSeries series; what comes later is counted under "other".
package metrics

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MaxSeries bounds the series of one metric: four labels' worth of codes for
// the hundred-odd tools and methods that our tables hold.
const MaxSeries = 512

// maxValue bounds a label's value, in bytes.
const maxValue = 64

// other is the value of every label of the series that takes what is too much.
const other = "other"

// Registry holds the metrics of one process. A nil Registry hands out nil
// metrics, and a nil metric ignores what it is told, so that nobody needs to
// ask whether metrics are kept.
type Registry struct {
	mu   sync.Mutex
	kept map[string]*family
}

// New returns an empty registry.
func New() *Registry { return &Registry{kept: make(map[string]*family)} }

type family struct {
	name, kind, help string
	labels           []string
	buckets          []float64 // upper bounds, ascending, without +Inf
	read             func() float64

	mu     sync.Mutex
	series map[string]*series
}

type series struct {
	labels string // rendered, without braces
	value  float64
	counts []uint64 // of each bucket, not cumulative; the last is +Inf
	sum    float64
}

// Counter counts what happened.
type Counter struct{ f *family }

// Gauge says how much there is now.
type Gauge struct{ f *family }

// Histogram counts durations, in seconds, by size.
type Histogram struct{ f *family }

// Counter returns the counter of that name, without "_total". It panics on a
// name or label that is none, and when the name is taken by another kind.
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	if r == nil {
		return nil
	}
	return &Counter{r.family(&family{name: name, kind: "counter", help: help, labels: labels})}
}

// Gauge returns the gauge of that name; see Counter.
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	if r == nil {
		return nil
	}
	return &Gauge{r.family(&family{name: name, kind: "gauge", help: help, labels: labels})}
}

// GaugeFunc adds a gauge that is read when the text is made; see Counter. read
// must be quick and safe to call from any goroutine.
func (r *Registry) GaugeFunc(name, help string, read func() float64) {
	if r != nil {
		r.family(&family{name: name, kind: "gauge", help: help, read: read})
	}
}

// CounterFunc adds a counter that is read when the text is made, for what somebody else
// counts already; see GaugeFunc.
func (r *Registry) CounterFunc(name, help string, read func() float64) {
	if r != nil {
		r.family(&family{name: name, kind: "counter", help: help, read: read})
	}
}

// Histogram returns the histogram of that name; see Counter. The name ends in
// "_seconds"; buckets are upper bounds in seconds, ascending.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...string) *Histogram {
	if r == nil {
		return nil
	}
	if !slices.IsSorted(buckets) || len(buckets) == 0 || !strings.HasSuffix(name, "_seconds") {
		panic("metrics: " + name + ": buckets are not ascending or the unit is missing")
	}
	return &Histogram{r.family(&family{name: name, kind: "histogram", help: help, labels: labels, buckets: buckets})}
}

var shape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func (r *Registry) family(f *family) *family {
	for _, s := range append([]string{f.name}, f.labels...) {
		if !shape.MatchString(s) || s == "le" || strings.HasSuffix(s, "_total") {
			panic("metrics: " + s + " is no name")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.kept[f.name]; ok {
		if old.kind != f.kind || !slices.Equal(old.labels, f.labels) || f.read != nil {
			panic("metrics: " + f.name + " is taken")
		}
		return old
	}
	f.series = make(map[string]*series)
	r.kept[f.name] = f
	return f
}

// Add adds n, which is not negative, to the series of the label values.
func (c *Counter) Add(n float64, values ...string) {
	if c == nil || !(n >= 0) { // NaN is not counted either
		return
	}
	c.f.with(values, func(s *series) { s.value += n })
}

// Inc adds one.
func (c *Counter) Inc(values ...string) { c.Add(1, values...) }

// Set sets the series of the label values.
func (g *Gauge) Set(v float64, values ...string) {
	if g == nil {
		return
	}
	g.f.with(values, func(s *series) { s.value = v })
}

// Add adds n, which may be negative.
func (g *Gauge) Add(n float64, values ...string) {
	if g == nil {
		return
	}
	g.f.with(values, func(s *series) { s.value += n })
}

// Observe counts one duration, in seconds.
func (h *Histogram) Observe(seconds float64, values ...string) {
	if h == nil || math.IsNaN(seconds) {
		return
	}
	h.f.with(values, func(s *series) {
		i, _ := slices.BinarySearch(h.f.buckets, seconds)
		s.counts[i]++
		s.sum += seconds
	})
}

// with runs do on the series of the values, making it when there is room.
func (f *family) with(values []string, do func(*series)) {
	if len(values) != len(f.labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels and got %d values", f.name, len(f.labels), len(values)))
	}
	key := strings.Join(values, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.series[key]
	if !ok && len(f.series) >= MaxSeries-1 {
		values = slices.Repeat([]string{other}, len(f.labels))
		key = strings.Join(values, "\x00")
		s, ok = f.series[key]
	}
	if !ok {
		s = &series{labels: render(f.labels, values)}
		if f.buckets != nil {
			s.counts = make([]uint64, len(f.buckets)+1)
		}
		f.series[key] = s
	}
	do(s)
}

func render(labels, values []string) string {
	var b strings.Builder
	for i, l := range labels {
		if i > 0 {
			b.WriteByte(',')
		}
		v := values[i]
		v = strings.ToValidUTF8(v[:min(len(v), maxValue)], "?")
		v = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(v)
		fmt.Fprintf(&b, `%s="%s"`, l, v)
	}
	return b.String()
}

// Text returns all metrics as OpenMetrics 1.0 text, sorted by name.
func (r *Registry) Text() string {
	var b strings.Builder
	if r != nil {
		r.mu.Lock()
		families := make([]*family, 0, len(r.kept))
		for _, f := range r.kept {
			families = append(families, f)
		}
		r.mu.Unlock()
		slices.SortFunc(families, func(x, y *family) int { return strings.Compare(x.name, y.name) })
		for _, f := range families {
			f.write(&b)
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

func (f *family) write(b *strings.Builder) {
	help := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(f.help)
	fmt.Fprintf(b, "# TYPE %s %s\n", f.name, f.kind)
	if f.kind == "histogram" {
		fmt.Fprintf(b, "# UNIT %s seconds\n", f.name)
	}
	fmt.Fprintf(b, "# HELP %s %s\n", f.name, help)
	if f.read != nil {
		name := f.name
		if f.kind == "counter" {
			name += "_total"
		}
		line(b, name, "", f.read())
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := make([]string, 0, len(f.series))
	for k := range f.series {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		s := f.series[k]
		switch f.kind {
		case "counter":
			line(b, f.name+"_total", s.labels, s.value)
		case "gauge":
			line(b, f.name, s.labels, s.value)
		default:
			f.writeBuckets(b, s)
		}
	}
}

func (f *family) writeBuckets(b *strings.Builder, s *series) {
	comma := ""
	if s.labels != "" {
		comma = ","
	}
	var n uint64
	for i, c := range s.counts {
		n += c
		le := "+Inf"
		if i < len(f.buckets) {
			le = number(f.buckets[i])
		}
		line(b, f.name+"_bucket", s.labels+comma+`le="`+le+`"`, float64(n))
	}
	line(b, f.name+"_count", s.labels, float64(n))
	line(b, f.name+"_sum", s.labels, s.sum)
}

func line(b *strings.Builder, name, labels string, v float64) {
	b.WriteString(name)
	if labels != "" {
		b.WriteString("{" + labels + "}")
	}
	b.WriteString(" " + number(v) + "\n")
}

// number writes a value as OpenMetrics wants it.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
