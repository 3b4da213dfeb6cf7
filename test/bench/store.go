package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// storeContracts is how many settled contracts a store of years holds: twenty
// changes a day are the most that there may be unless an operator allows more.
const storeContracts = 10_000

// opened is what opening a store cost: time, the size of its file, and memory beyond it.
type opened struct{ ms, mib, peak float64 }

// store is the verification of a large store at executord's start. No program can
// be asked for it, so the benchmark beside the store's code is.
func (b *bench) store() error {
	s, err := b.opened(storeContracts)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("BenchmarkOpen of pkg/executor/internal/store, %d contracts, at most %.0f MiB of memory", storeContracts, s.peak)
	b.take("store_10k_open_ms", s.ms, note+", mean of five")
	b.take("store_10k_mib", s.mib, note)
	return nil
}

// opened runs the store's benchmark for so many contracts. Playing ten thousand
// of them takes minutes, so it is done once a run.
func (b *bench) opened(contracts int) (opened, error) {
	if s, ok := b.stores[contracts]; ok {
		return s, nil
	}
	fmt.Fprintf(b.errs, "bench: playing %d contracts into a store\n", contracts)
	times := 5
	if contracts > storeContracts {
		times = 2
	}
	cmd := exec.Command("go", "test", "-tags", "grpcnotrace", "-run", "^$", "-timeout", "60m", "-benchtime", fmt.Sprintf("%dx", times),
		"-bench", fmt.Sprintf("^BenchmarkOpen$/^contracts=%d$", contracts), "./pkg/executor/internal/store", fmt.Sprintf("-contracts=%d", contracts), "-stores="+b.kept)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return opened{}, fmt.Errorf("%w\n%s", err, out)
	}
	s, err := parseOpened(out)
	if err == nil {
		b.stores[contracts] = s
	}
	return s, err
}

// parseOpened finds the metrics in the output of `go test -bench`.
func parseOpened(out []byte) (s opened, err error) {
	for unit, to := range map[string]*float64{"open-ms": &s.ms, "file-MiB": &s.mib, "peak-MiB": &s.peak} {
		m := regexp.MustCompile(`(?m)^BenchmarkOpen\S*\s.*?\s([0-9.]+) ` + unit + `(?:\s|$)`).FindSubmatch(out)
		if m == nil {
			return s, errors.New("the store's benchmark does not say its " + unit)
		}
		if *to, err = strconv.ParseFloat(string(m[1]), 64); err != nil {
			return s, err
		}
	}
	return s, nil
}
