package metrics

import (
	"strings"
	"testing"
)

// registry has one metric of each kind.
func registry() *Registry {
	r := New()
	r.Counter("calls", `calls, "all" of them`, "method", "outcome").Inc("Get", `a "quoted\" {value},x="y`)
	r.Gauge("open", "open now").Set(3)
	r.GaugeFunc("ready", "ready", func() float64 { return 1 })
	r.CounterFunc("requests", "requests", func() float64 { return 7 })
	r.Histogram("took_seconds", "took", []float64{0.1, 1}, "kind").Observe(0.5, "x")
	return r
}

func TestTextsOfDaemonsBecomeOneWithEachMetricInOnePlace(t *testing.T) {
	got, problems := Merge([]Part{{"mcpd", registry().Text()}, {"guidanced", registry().Text()}, {"idle", New().Text()}})
	if len(problems) != 0 {
		t.Fatalf("%v", problems)
	}
	const want = `# TYPE calls counter
# HELP calls calls, \"all\" of them
calls_total{daemon="mcpd",method="Get",outcome="a \"quoted\\\" {value},x=\"y"} 1
calls_total{daemon="guidanced",method="Get",outcome="a \"quoted\\\" {value},x=\"y"} 1
# TYPE open gauge
# HELP open open now
open{daemon="mcpd"} 3
open{daemon="guidanced"} 3
# TYPE ready gauge
# HELP ready ready
ready{daemon="mcpd"} 1
ready{daemon="guidanced"} 1
# TYPE requests counter
# HELP requests requests
requests_total{daemon="mcpd"} 7
requests_total{daemon="guidanced"} 7
# TYPE took_seconds histogram
# UNIT took_seconds seconds
# HELP took_seconds took
took_seconds_bucket{daemon="mcpd",kind="x",le="0.1"} 0
took_seconds_bucket{daemon="mcpd",kind="x",le="1"} 1
took_seconds_bucket{daemon="mcpd",kind="x",le="+Inf"} 1
took_seconds_count{daemon="mcpd",kind="x"} 1
took_seconds_sum{daemon="mcpd",kind="x"} 0.5
`
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "# EOF\n") || strings.Count(got, "# EOF") != 1 {
		t.Errorf("\n%s", got)
	}
}

func TestATextThatIsNoneIsLeftOutWhole(t *testing.T) {
	const head = "# TYPE a gauge\n# HELP a x\n"
	for name, text := range map[string]string{
		"nothing": "", "no end": head + "a 1\n", "an end in the middle": head + "# EOF\na 1\n# EOF\n", "a sample before its type": "a 1\n# EOF\n",
		"an escape sequence": head + "a 1\x1b[2J\n# EOF\n", "a sample of another metric": head + "b 1\n# EOF\n", "a value that is none": head + "a one\n# EOF\n",
		"a value of another form": head + "a 1.0\n# EOF\n", "a label that is ours": head + "a{daemon=\"x\"} 1\n# EOF\n", "a label without an end": head + "a{b=\"x} 1\n# EOF\n",
		"a label without quotes": head + "a{b=x} 1\n# EOF\n", "labels without an end": head + "a{b=\"x\" 1\n# EOF\n", "a kind that is none": "# TYPE a summary\n# EOF\n",
		"a type twice": head + head + "# EOF\n", "a comment that is none": head + "# x\n# EOF\n", "a comment after a sample": head + "a 1\n# HELP a x\n# EOF\n",
		"a suffix that is none": "# TYPE a counter\n# HELP a x\na 1\n# EOF\n", "a line that is too long": head + "a{b=\"" + strings.Repeat("x", maxLine) + "\"} 1\n# EOF\n",
		"too much": head + strings.Repeat("a 1\n", maxText/4) + "# EOF\n",
	} {
		got, problems := Merge([]Part{{"mcpd", registry().Text()}, {"evil", text}})
		if problems["evil"] == "" || strings.Contains(got, "evil") || !strings.Contains(got, "calls_total{daemon=\"mcpd\"") {
			t.Errorf("%s: %v\n%s", name, problems, got)
		}
	}
	if _, problems := Merge([]Part{{"mcpd", "# TYPE a gauge\n# HELP a x\na 1\n# EOF\n"}, {"evil", "# TYPE a counter\n# HELP a x\na_total 1\n# EOF\n"}}); problems["evil"] == "" {
		t.Error("two kinds of one metric")
	}
	got, problems := Merge([]Part{{"mcpd", "# TYPE a gauge\n# HELP a x\na 1\n# EOF\n"}, {"older", "# TYPE a gauge\n# HELP a y\na 2\n# EOF\n"}})
	if len(problems) > 0 || strings.Count(got, "HELP") != 1 || !strings.Contains(got, `a{daemon="older"} 2`) {
		t.Errorf("another help text: %v\n%s", problems, got)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(registry().Text())
	f.Add("# TYPE a gauge\n# HELP a x\na{b=\"\\\"\"} 1\n# EOF\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, problems := Merge([]Part{{"mcpd", text}})
		if problems["mcpd"] != "" {
			if got != "# EOF\n" {
				t.Errorf("%q", got)
			}
			return
		}
		for line := range strings.Lines(got) {
			if strings.ContainsFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q", line)
			}
			if line[0] != '#' && !strings.Contains(line, `{daemon="mcpd"`) {
				t.Errorf("%q", line)
			}
		}
	})
}
