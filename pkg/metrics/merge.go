package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Part is the text of one daemon.
type Part struct {
	Name string // becomes the label daemon
	Text string // as Registry.Text makes it
}

// Bounds of a text that is merged: what a Registry can make, and no more.
const (
	maxText     = 200 << 10
	maxLine     = 4 << 10
	maxFamilies = 256
)

// errText says that a text is none of a Registry's. It quotes nothing of it.
var errText = errors.New("it is no metrics text of a daemon")

// Merge makes one OpenMetrics text of several: each series gets the label daemon, and
// the series of one metric stand together, as the format demands. A text that is none
// is left out whole and named in problems; a daemon that takes a metric for one of
// another kind than the daemons before it is left out too.
func Merge(parts []Part) (text string, problems map[string]string) {
	problems = map[string]string{}
	all := map[string]*merged{}
	for _, p := range parts {
		families, err := parseText(p)
		if err == nil {
			for name, f := range families {
				if had := all[name]; had != nil && had.kind != f.kind {
					err = fmt.Errorf("it says something else than another daemon of the metric %s", name)
				}
			}
		}
		if err != nil {
			problems[p.Name] = err.Error()
			continue
		}
		for name, f := range families {
			if all[name] == nil {
				all[name] = &merged{head: f.head, kind: f.kind}
			}
			all[name].lines = append(all[name].lines, f.lines...)
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(all[name].head)
		for _, l := range all[name].lines {
			b.WriteString(l)
		}
	}
	b.WriteString("# EOF\n")
	return b.String(), problems
}

// merged is one metric: its three comments, and its samples.
type merged struct {
	head  string
	lines []string
	kind  string
}

// parseText reads a daemon's text strictly: it ends up on a terminal, or in a
// collector that believes it.
func parseText(p Part) (map[string]*merged, error) {
	if len(p.Text) > maxText || !strings.HasSuffix(p.Text, "\n# EOF\n") && p.Text != "# EOF\n" || !shape.MatchString(p.Name) {
		return nil, errText
	}
	out := map[string]*merged{}
	var now *merged
	var name string
	scan := bufio.NewScanner(strings.NewReader(strings.TrimSuffix(p.Text, "# EOF\n")))
	scan.Buffer(make([]byte, 0, maxLine), maxLine)
	for scan.Scan() {
		l := scan.Text()
		if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, errText
		}
		if comment, ok := strings.CutPrefix(l, "# "); ok {
			f := strings.SplitN(comment, " ", 3)
			if len(f) != 3 {
				return nil, errText
			}
			if f[0] == "TYPE" {
				if !shape.MatchString(f[1]) || !slices.Contains([]string{"counter", "gauge", "histogram"}, f[2]) || out[f[1]] != nil || len(out) == maxFamilies {
					return nil, errText
				}
				now, name = &merged{kind: f[2]}, f[1]
				out[name] = now
			}
			if now == nil || f[1] != name || !slices.Contains([]string{"TYPE", "UNIT", "HELP"}, f[0]) || len(now.lines) > 0 {
				return nil, errText
			}
			now.head += l + "\n"
			continue
		}
		if now == nil {
			return nil, errText
		}
		s, err := sample(l, name, now.kind, p.Name)
		if err != nil {
			return nil, err
		}
		now.lines = append(now.lines, s)
	}
	if scan.Err() != nil {
		return nil, errText
	}
	return out, nil
}

// sample reads one sample of a metric and returns it with the daemon's label.
func sample(l, family, kind, daemon string) (string, error) {
	end := strings.LastIndexByte(l, ' ')
	if end < 0 {
		return "", errText
	}
	series, value := l[:end], l[end+1:]
	if v, err := strconv.ParseFloat(value, 64); err != nil || number(v) != value {
		return "", errText
	}
	name, labels, has := strings.Cut(series, "{")
	if has {
		var ok bool
		if labels, ok = strings.CutSuffix(labels, "}"); !ok || !labelled(labels) {
			return "", errText
		}
		labels = "," + labels
	}
	suffix, ok := strings.CutPrefix(name, family)
	allowed := map[string][]string{"counter": {"_total"}, "gauge": {""}, "histogram": {"_bucket", "_count", "_sum"}}
	if !ok || !slices.Contains(allowed[kind], suffix) {
		return "", errText
	}
	return name + `{daemon="` + daemon + `"` + labels + "} " + value + "\n", nil
}

// labelled says whether a text is a list of labels with quoted values, none of them
// called daemon.
func labelled(s string) bool {
	for {
		name, rest, ok := strings.Cut(s, `="`)
		if !ok || !shape.MatchString(name) || name == "daemon" {
			return false
		}
		i := 0
		for ; i < len(rest) && rest[i] != '"'; i++ {
			if rest[i] == '\\' {
				i++ // the next one is part of the value, whatever it is
			}
		}
		if i >= len(rest) {
			return false
		}
		if rest = rest[i+1:]; rest == "" {
			return true
		}
		if s, ok = strings.CutPrefix(rest, ","); !ok {
			return false
		}
	}
}
