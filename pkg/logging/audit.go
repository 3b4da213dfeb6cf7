package logging

import (
	"context"
	"log/slog"
	"time"
)

// levelAudit is above every level that a setting can choose: no audit line is
// lost to a quiet log. It is printed as INFO.
const levelAudit = slog.LevelError + 4

// Record is one audit line: who asked what, and what became of it. It has no room
// for arguments, results or texts, on purpose.
type Record struct {
	Tool      string        // compiled name
	CallerUID uint32        // uid of the peer
	Identity  string        // the upstream identity, shared by all callers
	Duration  time.Duration // 0 when the call has only begun
	Outcome   string        // invoked, succeeded, failed, refused
	Class     string        // class of the error, "" without one
	Code      string        // code of the error, "" without one
	Rows      int           // rows in the answer
	Drift     int           // fields that did not fit their model
	RequestID string        // shared with the lines of every hop
	Seq       uint64        // number of the audit line in this process
	Truncated bool          // the answer was cut to its budget
}

// Audit writes r with all its keys, in their order, at any level of the log.
func Audit(ctx context.Context, l *slog.Logger, r Record) {
	l.LogAttrs(ctx, levelAudit, "tool call",
		slog.Bool(KeyAudit, true),
		slog.String(KeyTool, r.Tool),
		slog.Uint64(KeyCallerUID, uint64(r.CallerUID)),
		slog.String(KeyIdentity, r.Identity),
		slog.Int64(KeyDurationMS, r.Duration.Milliseconds()),
		slog.String(KeyOutcome, r.Outcome),
		slog.String(KeyClass, r.Class),
		slog.String(KeyCode, r.Code),
		slog.Int(KeyRows, r.Rows),
		slog.Int(KeyDrift, r.Drift),
		slog.String(KeyRequestID, r.RequestID),
		slog.Uint64(KeySeq, r.Seq),
		slog.Bool(KeyTruncated, r.Truncated),
	)
}
