package metrics

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTextIsOpenMetrics(t *testing.T) {
	r := New()
	r.Counter("calls", "what \"was\" called", "method", "outcome").Add(2, "a", "ok")
	r.Counter("calls", "what \"was\" called", "method", "outcome").Inc("a\"\\\n", "ok")
	r.Gauge("open", "connections").Set(3)
	r.Gauge("open", "connections").Add(-1)
	r.GaugeFunc("half", "a function", func() float64 { return 0.5 })
	h := r.Histogram("took_seconds", "durations", []float64{0.1, 1}, "socket")
	for _, v := range []float64{0.05, 0.1, 0.5, 7} {
		h.Observe(v, "s")
	}
	want := `# TYPE calls counter
# HELP calls what \"was\" called
calls_total{method="a",outcome="ok"} 2
calls_total{method="a\"\\\n",outcome="ok"} 1
# TYPE half gauge
# HELP half a function
half 0.5
# TYPE open gauge
# HELP open connections
open 2
# TYPE took_seconds histogram
# UNIT took_seconds seconds
# HELP took_seconds durations
took_seconds_bucket{socket="s",le="0.1"} 2
took_seconds_bucket{socket="s",le="1"} 3
took_seconds_bucket{socket="s",le="+Inf"} 4
took_seconds_count{socket="s"} 4
took_seconds_sum{socket="s"} 7.65
# EOF
`
	if d := cmp.Diff(want, r.Text()); d != "" {
		t.Error(d)
	}
}

func TestTheNumberOfSeriesIsBoundedAndTheRestIsCountedAsOther(t *testing.T) {
	r := New()
	c := r.Counter("calls", "by whom", "who")
	for i := range 3 * MaxSeries {
		c.Inc(fmt.Sprint("n", i))
	}
	if n := strings.Count(r.Text(), "calls_total{"); n != MaxSeries {
		t.Errorf("%d series", n)
	}
	if want := fmt.Sprintf("calls_total{who=\"other\"} %d\n", 2*MaxSeries+1); !strings.Contains(r.Text(), want) {
		t.Errorf("no %q", want)
	}
}

func TestALabelIsCutToItsBoundAndStaysText(t *testing.T) {
	r := New()
	r.Counter("calls", "x", "who").Inc(strings.Repeat("a", 63) + "é")
	if !strings.Contains(r.Text(), `who="`+strings.Repeat("a", 63)+`?"`) {
		t.Error(r.Text())
	}
}

func TestWhatIsNoCountIsNotCounted(t *testing.T) {
	r := New()
	c := r.Counter("calls", "x")
	c.Add(-1)
	c.Add(math.NaN())
	h := r.Histogram("took_seconds", "x", []float64{1})
	h.Observe(math.NaN())
	if strings.Contains(r.Text(), "_total") || strings.Contains(r.Text(), "_count") {
		t.Error(r.Text())
	}
}

func TestNobodyNeedsToAskWhetherMetricsAreKept(t *testing.T) {
	var r *Registry
	r.Counter("calls", "x", "who").Inc("a")
	r.Gauge("open", "x").Set(1)
	r.Gauge("open", "x").Add(1)
	r.GaugeFunc("f", "x", func() float64 { return 1 })
	r.Histogram("took_seconds", "x", []float64{1}).Observe(1)
	if r.Text() != "# EOF\n" {
		t.Error(r.Text())
	}
}

func TestABadDefinitionIsFoundAtStart(t *testing.T) {
	for name, bad := range map[string]func(*Registry){
		"upper case":       func(r *Registry) { r.Counter("Calls", "x") },
		"label le":         func(r *Registry) { r.Counter("calls", "x", "le") },
		"suffix":           func(r *Registry) { r.Counter("calls_total", "x") },
		"unit":             func(r *Registry) { r.Histogram("took", "x", []float64{1}) },
		"buckets":          func(r *Registry) { r.Histogram("took_seconds", "x", []float64{2, 1}) },
		"two kinds":        func(r *Registry) { r.Counter("a", "x"); r.Gauge("a", "x") },
		"two label sets":   func(r *Registry) { r.Counter("a", "x", "b"); r.Counter("a", "x", "c") },
		"number of values": func(r *Registry) { r.Counter("a", "x", "b").Inc() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: nothing was said", name)
				}
			}()
			bad(New())
		}()
	}
}

func TestManyMayCountAtOnce(t *testing.T) {
	r := New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				r.Counter("calls", "x", "who").Inc(fmt.Sprint(i % 3))
				r.Histogram("took_seconds", "x", []float64{1}).Observe(0.5)
				_ = r.Text()
			}
		})
	}
	wg.Wait()
	if !strings.Contains(r.Text(), "took_seconds_count 1600\n") {
		t.Error(r.Text())
	}
}
