package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAChartIsXMLWithEveryPointInsideThePicture(t *testing.T) {
	out := string(Chart{
		Title: "a < b", X: "rows", Y: "ms",
		Series: []Series{{"one & only", []float64{1, 10, 256}, []float64{0.02, 3, 900}}, {"flat", []float64{1, 256}, []float64{5, 5}}},
	}.SVG())
	d := xml.NewDecoder(strings.NewReader(out))
	circles := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 5 || strings.Contains(out, "NaN") || strings.Contains(out, "Inf") || strings.Contains(out, `"-`) {
		t.Errorf("%d points in\n%s", circles, out)
	}
}

func TestOneValueAloneStillHasAnAxis(t *testing.T) {
	out := string(Chart{Series: []Series{{"", []float64{10}, []float64{100}}}}.SVG())
	if strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
		t.Error(out)
	}
}

func TestLabelsArePowersOfTen(t *testing.T) {
	for e, want := range map[int]string{-2: "0.01", 0: "1", 2: "100", 3: "1k", 5: "100k", 6: "1e6"} {
		if got := label(e); got != want {
			t.Errorf("10^%d is %s, want %s", e, got, want)
		}
	}
}
