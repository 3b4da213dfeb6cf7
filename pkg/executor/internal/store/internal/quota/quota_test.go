package quota

import (
	"testing"
	"time"
)

func TestLimitsMayBeTightenedAndNotWidenedBeyondWhatIsCompiledIn(t *testing.T) {
	for what, row := range map[string]struct {
		short  bool
		change func(*Limits)
		ok     bool
	}{
		"as designed":                    {false, func(*Limits) {}, true},
		"tighter":                        {false, func(l *Limits) { l.SendsPerDay, l.Lockout, l.Open = 1, 1, 1 }, true},
		"twice":                          {false, func(l *Limits) { l.SendsPerDay *= 2; l.Open *= 2 }, true},
		"more than twice":                {false, func(l *Limits) { l.SendsPerDay = l.SendsPerDay*2 + 1 }, false},
		"none at all":                    {false, func(l *Limits) { l.Open = 0 }, false},
		"a later lockout":                {false, func(l *Limits) { l.Lockout++ }, false},
		"a shorter landing window":       {false, func(l *Limits) { l.LandingWindow -= time.Second }, false},
		"the same in a laboratory":       {true, func(l *Limits) { l.LandingWindow = time.Second }, true},
		"a longer landing window":        {false, func(l *Limits) { l.LandingWindow *= 2 }, true},
		"a shorter cooldown":             {false, func(l *Limits) { l.Cooldown = 0 }, false},
		"a longer rollback":              {false, func(l *Limits) { l.RollbackWithin += time.Second }, false},
		"a lockout that is later in lab": {true, func(l *Limits) { l.Lockout++ }, false},
	} {
		l := Default()
		row.change(&l)
		if err := l.Check(row.short); (err == nil) != row.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
