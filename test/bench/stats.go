package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// quantile returns the value below which a share q of the values lies.
func quantile[T cmp.Ordered](v []T, q float64) T {
	s := slices.Sorted(slices.Values(v))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func median[T cmp.Ordered](v []T) T { return quantile(v, 0.5) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// times runs f n times and returns how long each took.
func times(n int, f func() error) ([]time.Duration, error) {
	out := make([]time.Duration, n)
	for i := range out {
		begun := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		out[i] = time.Since(begun)
	}
	return out, nil
}

// steepest returns the largest exponent b of y ~ x^b between neighbouring
// points: 1 is linear, and a fixed part makes it less.
func steepest(x, y []float64) float64 {
	worst := math.Inf(-1)
	for i := 1; i < len(x); i++ {
		worst = max(worst, math.Log(y[i]/y[i-1])/math.Log(x[i]/x[i-1]))
	}
	return worst
}
