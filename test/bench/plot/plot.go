// Package plot draws a small line chart with two logarithmic axes as SVG: how a
// cost grows. A dashed line of slope one shows what linear growth would be.
//
// Only test/bench imports it.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Series is one line of a chart.
type Series struct {
	Name string
	X, Y []float64 // all above 0
}

// Chart is one picture.
type Chart struct {
	Title, X, Y string // what the axes count, with units
	Series      []Series
}

// The picture's size and the margins around the plane, in pixels.
const (
	width, height           = 520, 320
	left, right, top, below = 64, 16, 34, 46
)

// colours are told apart by most eyes, and by their brightness in print.
var colours = []string{"#1b6ca8", "#d1603d", "#3f8f5b"}

// SVG returns the picture.
func (c Chart) SVG() []byte {
	x, y := c.range10(func(s Series) []float64 { return s.X }), c.range10(func(s Series) []float64 { return s.Y })
	px := func(v float64) float64 { return left + (width-left-right)*x.place(v) }
	py := func(v float64) float64 { return height - below - (height-top-below)*y.place(v) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#222">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/><text x="%d" y="18" font-size="13">%s</text>`+"\n", width, height, left, html.EscapeString(c.Title))
	for e := x.low; e <= x.high; e++ {
		at := px(math.Pow(10, float64(e)))
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, top, height-below, at, height-below+15, label(e))
	}
	for e := y.low; e <= y.high; e++ {
		at := py(math.Pow(10, float64(e)))
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, at, width-right, left-6, at+4, label(e))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-12, html.EscapeString(c.X))
	fmt.Fprintf(&b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-below)/2, html.EscapeString(c.Y))
	if len(c.Series) > 0 && len(c.Series[0].X) > 0 {
		// Linear growth from the first point on, as far as the plane reaches.
		x0, y0 := c.Series[0].X[0], c.Series[0].Y[0]
		far := math.Min(math.Pow(10, float64(x.high))/x0, math.Pow(10, float64(y.high))/y0)
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#999" stroke-dasharray="4 3"/>`+"\n", px(x0), py(y0), px(x0*far), py(y0*far))
	}
	for i, s := range c.Series {
		colour := colours[i%len(colours)]
		var points strings.Builder
		for j := range s.X {
			fmt.Fprintf(&points, "%.1f,%.1f ", px(s.X[j]), py(s.Y[j]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(s.X[j]), py(s.Y[j]), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.TrimSpace(points.String()), colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+8, top+14+14*i, colour, html.EscapeString(s.Name))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// decades is an axis from 10^low to 10^high.
type decades struct{ low, high int }

func (d decades) place(v float64) float64 {
	return (math.Log10(v) - float64(d.low)) / float64(d.high-d.low)
}

// range10 finds the whole decades around all values.
func (c Chart) range10(of func(Series) []float64) decades {
	d := decades{math.MaxInt, math.MinInt}
	for _, s := range c.Series {
		for _, v := range of(s) {
			l := math.Log10(v)
			d.low, d.high = min(d.low, int(math.Floor(l))), max(d.high, int(math.Ceil(l)))
		}
	}
	if d.high <= d.low {
		d.high = d.low + 1
	}
	return d
}

// label names a power of ten.
func label(e int) string {
	switch {
	case e < 0:
		return fmt.Sprintf("%.*f", -e, math.Pow(10, float64(e)))
	case e < 3:
		return fmt.Sprintf("%.0f", math.Pow(10, float64(e)))
	case e < 6:
		return fmt.Sprintf("%.0fk", math.Pow(10, float64(e-3)))
	}
	return fmt.Sprintf("1e%d", e)
}
