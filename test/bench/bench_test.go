package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryFigureHasOneLimitAndIsTakenOnce(t *testing.T) {
	var taken []string
	for _, g := range groups {
		for _, n := range g.names {
			if l, ok := limits[n]; !ok || l.unit == "" || l.bound <= 0 {
				t.Errorf("%s has no limit", n)
			}
			taken = append(taken, n)
		}
	}
	slices.Sort(taken)
	if len(taken) != len(limits) || len(slices.Compact(taken)) != len(limits) {
		t.Errorf("%d figures are taken, %d have a limit", len(taken), len(limits))
	}
}

func TestSixteenSessionsCallSixteenTools(t *testing.T) {
	if n := len(slices.Compact(slices.Sorted(slices.Values(smallTools)))); n != 16 {
		t.Errorf("%d different tools", n)
	}
}

func TestAFigureIsOneLineThatAProgramCanRead(t *testing.T) {
	var out bytes.Buffer
	b := &bench{only: regexp.MustCompile(""), out: &out}
	b.take("read_small_added_ms", 0.4, "note")
	b.take("calls_per_s_ratio", 0.199, "note")
	b.take("list_bytes", 165_001, "")
	b.absent("store_10k_mib", "why")
	want := "figure=read_small_added_ms value=0.400 unit=ms limit=0.400 ok=yes\n" +
		"figure=calls_per_s_ratio value=0.199 unit=ratio limit=0.200 ok=no\n" +
		"figure=list_bytes value=165001 unit=bytes limit=165000 ok=no\n" +
		"figure=store_10k_mib value=absent unit=MiB limit=320 ok=no\n"
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	b.table()
	if got := out.String(); strings.Count(got, "\n") != 6 || !strings.Contains(got, ">= 0.200") || b.failed {
		t.Error(got)
	}
}

func TestFiguresThatNobodyAskedForAreNotPrinted(t *testing.T) {
	var out, problems bytes.Buffer
	dir := t.TempDir()
	for _, name := range shipped {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if code := run([]string{"-only", "binary", "-bin", dir}, nil, &out, &problems); code != 0 {
		t.Fatal(code, problems.String())
	}
	if n := strings.Count(out.String(), "figure="); n != 1 {
		t.Errorf("%d figures:\n%s", n, &out)
	}
}

func TestAFigureThatCannotBeTakenIsAFault(t *testing.T) {
	var out, problems bytes.Buffer
	if code := run([]string{"-only", "binary_mib", "-bin", t.TempDir()}, nil, &out, &problems); code != 1 || problems.Len() == 0 {
		t.Errorf("%d %q", code, problems.String())
	}
}

func TestWrongUseIsRefused(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "4"}, {"more"}, {"-only", "("}, {"-nope"}} {
		var out, problems bytes.Buffer
		if code := run(args, nil, &out, &problems); code != 2 || problems.Len() == 0 {
			t.Errorf("%q: %d", args, code)
		}
	}
	if err := help("nothing", nil, nil, nil); err == nil {
		t.Error("a helper that there is none of")
	}
}

func TestQuantilesAreValuesThatWereThere(t *testing.T) {
	v := []int{5, 1, 4, 2, 3}
	for q, want := range map[float64]int{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := quantile(v, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if v[0] != 5 {
		t.Error("the values were sorted in place")
	}
}

func TestTheSteepestStepOfALineIsFound(t *testing.T) {
	x := []float64{1, 10, 100}
	for _, tt := range []struct {
		y        []float64
		from, to float64
	}{
		{[]float64{2, 20, 200}, 0.999, 1.001},   // linear
		{[]float64{7, 7, 7}, -0.001, 0.001},     // flat
		{[]float64{1, 1, 100}, 1.999, 2.001},    // square at the end
		{[]float64{10, 19, 109}, 0.7, 0.8},      // a fixed part
		{[]float64{100, 10, 1}, -1.001, -0.999}, // less for more
	} {
		if got := steepest(x, tt.y); got < tt.from || got > tt.to {
			t.Errorf("%v: %v", tt.y, got)
		}
	}
}

func TestEveryFaultOfManyWorkersComesBack(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	_, _, err := each(3, 5, func(i int) error { return []error{nil, one, two}[i] })
	if !errors.Is(err, one) || !errors.Is(err, two) {
		t.Error(err)
	}
	calls := make([]int, 4)
	if _, n, err := each(4, 5, func(i int) error { calls[i]++; return nil }); err != nil || n != 20 || calls[3] != 5 {
		t.Error(n, err, calls)
	}
}

func TestTheStoresBenchmarkIsUnderstood(t *testing.T) {
	out := "goos: linux\nBenchmarkOpen/contracts=10-2  \t       5\t  14004732 ns/op\t        10.68 open-ms\t         0.5000 file-MiB\t         9.500 peak-MiB\nPASS\n"
	s, err := parseOpened([]byte(out))
	if err != nil || s.ms != 10.68 || s.mib != 0.5 || s.peak != 9.5 {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []string{"", "PASS\n", strings.Replace(out, "open-ms", "ms", 1), strings.Replace(out, "file-MiB", "MiB", 1), strings.Replace(out, "peak-MiB", "MiB", 1)} {
		if _, err := parseOpened([]byte(bad)); err == nil {
			t.Errorf("taken: %q", bad)
		}
	}
}

func TestWithoutATestBuildThereIsNoCeremony(t *testing.T) {
	var out, problems bytes.Buffer
	if code := run([]string{"-only", "ceremony", "-bin", t.TempDir()}, nil, &out, &problems); code != 1 || !strings.Contains(problems.String(), "test build") {
		t.Errorf("%d %q", code, problems.String())
	}
}
