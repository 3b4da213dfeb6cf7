package daemon

import (
	"context"
	"log/slog"
	"time"

	"pfsensemcp/pkg/logging"
)

// stepTime is how long systemd waits for the next word of progress once the unit's
// TimeoutStartSec is over: as long as the units give a whole start. What is silent for
// so long hangs and is ended.
const stepTime = 30 * time.Second

// How often progress is passed on: to systemd, which shows the last word, and to the log,
// where a start of a few seconds leaves no line.
const (
	tellEvery = time.Second
	logEvery  = 10 * time.Second
)

// progress returns Process.Progress.
func (r *runner) progress(ctx context.Context, now func() time.Time) func(text string) error {
	told, logged := time.Time{}, now()
	return func(text string) error {
		if ctx.Err() != nil {
			return errStop
		}
		t := now()
		if t.Sub(told) >= tellEvery {
			told = t
			r.tell("progress", r.notify.Extend(stepTime, text))
		}
		if t.Sub(logged) >= logEvery {
			logged = t
			r.log.Logger.LogAttrs(ctx, slog.LevelInfo, "starting", slog.String(logging.KeyDetail, text))
		}
		return nil
	}
}
