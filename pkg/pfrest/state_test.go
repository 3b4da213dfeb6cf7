package pfrest

import (
	"net/http"
	"testing"
	"time"

	"pfsensemcp/pkg/pfrest/internal/tlsdial"
)

func TestTheStateHasTheCertificateAndTheClockOfTheAppliance(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	date := now.Add(-3 * time.Hour).Format(http.TimeFormat)
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", date)
		reply(w, 200, success(`{}`))
	})
	c := a.client(t, func(c *Config) { c.Now = func() time.Time { return now } })
	if s := c.State(); s.Pin != "" || !s.NotAfter.IsZero() || !s.ClockAt.IsZero() {
		t.Errorf("before the first request: %+v", s)
	}
	get := func() State {
		t.Helper()
		if _, err := c.Get(within(t), Caller{}, version, Page{}); err != nil {
			t.Fatal(err)
		}
		return c.State()
	}
	s := get()
	leaf := a.Certificate()
	if s.Pin != tlsdial.PinOf(leaf) || !s.NotAfter.Equal(leaf.NotAfter) {
		t.Errorf("certificate %q until %v", s.Pin, s.NotAfter)
	}
	if s.Clock != -3*time.Hour || !s.ClockAt.Equal(now) {
		t.Errorf("at %v the clock is seen as %v ahead", s.ClockAt, s.Clock)
	}
	now = now.Add(time.Minute)
	for _, date = range []string{"tomorrow", ""} {
		before := s
		if s = get(); s.Clock != before.Clock || !s.ClockAt.Equal(before.ClockAt) {
			t.Errorf("a Date of %q changes the clock to %v", date, s.Clock)
		}
	}
}
