// Package moment owns what the store knows of time: the wall clock, which people
// and networks set, beside CLOCK_BOOTTIME, which nobody can, and what the two say
// about one another.
//
// Only the packages of the store import it. It must never decide: it says what the
// clocks show, gates say what follows.
//
// The attacks it stops: a clock set back, which revives what has expired, and a
// clock set forward, which lets a window of fifteen minutes pass in a second or
// leaves a time in the store that every later reading is behind of.
package moment

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Reading is one look at both clocks.
type Reading struct {
	Wall   time.Time // whole seconds, UTC
	BootID string    // 32 hex digits; another one means that the machine was restarted
	BootMS int64     // CLOCK_BOOTTIME, milliseconds
}

// Clock is where the store reads the time. Implementations are safe for concurrent
// use.
type Clock interface{ Read() Reading }

// System is the clock of the machine.
type System struct{ bootID string }

// NewSystem reads the boot id, which the sandbox may hide later.
func NewSystem() (*System, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.ReplaceAll(strings.TrimSpace(string(b)), "-", "")
	if err != nil || len(id) != 32 {
		return nil, errs.Wrap(err, errs.Unavailable, "the machine's boot id cannot be read").WithClass("clock").
			WithNext("mount /proc for executord: time limits across restarts depend on it")
	}
	return &System{id}, nil
}

// Read reads both clocks.
func (s *System) Read() Reading {
	var ts unix.Timespec
	// The clock exists since Linux 2.6.39 and the call cannot fail with it.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return Reading{time.Now().UTC().Truncate(time.Second), s.bootID, ts.Nano() / int64(time.Millisecond)}
}

// The bounds between what is tolerated, what is refused and what stops everything.
const (
	MaxBehind     = 5 * time.Second // a wall clock further behind the stored time denies
	MaxRegression = 5 * time.Minute // and further than that quarantines
	MaxJump       = time.Minute     // of the wall clock against CLOCK_BOOTTIME
	MaxSkew       = 5 * time.Second // between both clocks over an interval
)

// Finding says what the clocks show.
type Finding string

// The findings.
const (
	Sound     Finding = ""                // go on
	Behind    Finding = "clock_behind"    // deny what depends on time
	Regressed Finding = "clock_regressed" // quarantine until it is gone
	Jumped    Finding = "clock_jump"      // quarantine until it is gone
)

// expected is what the wall clock would show if nobody had set it since.
func expected(now Reading, c record.Clock) time.Time {
	return c.Wall.Add(time.Duration(now.BootMS-c.BootMS) * time.Millisecond)
}

// Judge compares a reading with what the store remembers.
func Judge(now Reading, c record.Clock) Finding {
	if now.BootID == c.BootID && now.Wall.Sub(expected(now, c)).Abs() > MaxJump {
		return Jumped
	}
	switch behind := c.HighTime.Sub(now.Wall); {
	case behind > MaxRegression:
		return Regressed
	case behind > MaxBehind:
		return Behind
	}
	return Sound
}

// Steady returns a reading as rows may have it. A jump is not stored: while it lasts the
// wall clock is counted on by the one that nobody can set.
func Steady(now Reading, c record.Clock) Reading {
	if Judge(now, c) == Jumped {
		now.Wall = expected(now, c).Truncate(time.Second)
	}
	return now
}

// Advance returns what the store remembers after a reading: a jump is not stored,
// and the highest time never falls.
func Advance(now Reading, c record.Clock) record.Clock {
	switch Judge(now, c) {
	case Jumped, Regressed:
		return c
	}
	c.Wall, c.BootID, c.BootMS = now.Wall, now.BootID, now.BootMS
	if now.Wall.After(c.HighTime) {
		c.HighTime = now.Wall
	}
	return c
}

// Since returns how long ago, by a clock that cannot be set, something happened
// that is known by a wall time and a boot time. After a restart of the machine, or
// when the two clocks disagree about it, all that is certain is that it was before
// this process started.
func Since(now, start Reading, wall time.Time, bootID string, bootMS int64) time.Duration {
	boot := time.Duration(now.BootMS-bootMS) * time.Millisecond
	if bootID != now.BootID || boot < 0 || (now.Wall.Sub(wall)-boot).Abs() > MaxSkew {
		return time.Duration(now.BootMS-start.BootMS) * time.Millisecond
	}
	return boot
}
