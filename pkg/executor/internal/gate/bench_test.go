package gate

import (
	"testing"
	"time"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// BenchmarkAuthorization is the decision over a valid first approval: signature, stored
// preview, plan made anew, and the survey of an appliance that answers at once.
func BenchmarkAuthorization(b *testing.B) {
	w := newWorld(b)
	r := must[record.Request](b)(w.Request(name, text))
	w.Clock.Pass(10 * time.Second)
	file := of(b, w.Authorization(r, name, text).Artifact, artifacttest.KeyA()).sign(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, d := Authorization(b.Context(), w, file); d != nil {
			b.Fatal(d)
		}
	}
}

// BenchmarkConfirmation is the same for a valid second approval.
func BenchmarkConfirmation(b *testing.B) {
	w := newWorld(b)
	c := must[record.Contract](b)(w.Authorize(name, text))
	w.Clock.Pass(10 * time.Second)
	a, _ := w.Confirmation(c)
	file := of(b, a, artifacttest.KeyC()).sign(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, d := Confirmation(b.Context(), w, file); d != nil {
			b.Fatal(d)
		}
	}
}
