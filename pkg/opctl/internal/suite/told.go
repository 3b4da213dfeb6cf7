package suite

import (
	"errors"
	"strconv"
	"strings"

	"pfsensemcp/pkg/errs"
)

// Told adds to an error what to do next: after a denial where its reason stands, after
// a lost answer how to see what became of it.
func Told(err error, look string) error {
	if err == nil {
		return nil
	}
	e := errs.Public(err)
	switch {
	case e.Class == "write_denied":
		if seq, ok := deniedSeq(e.Msg); ok {
			n := strconv.FormatUint(seq, 10)
			return errs.Wrap(err, errs.Conflict, "write request denied (audit seq "+n+")").WithClass(e.Class).WithNext("mcpctl audit show " + n)
		}
		return errs.Wrap(err, errs.Conflict, "write request denied").WithClass(e.Class).
			WithNext("no row of the audit holds the reason, because there were too many denials within the hour: " + look)
	case e.Class == "not_begun" && e.Next == "":
		return errs.Wrap(err, e.Code, e.Msg).WithClass(e.Class).WithNext("it was taken and has not begun: mcpctl write resume CONTRACT; " + look)
	case errors.Is(err, ErrInterrupted):
		return errs.Wrap(err, errs.UnknownOutcome, "interrupted before executord had answered: it may have taken it all the same").WithNext(look)
	case e.Code == errs.Expired, e.Code == errs.Unavailable && e.Class == "service":
		return errs.Wrap(err, e.Code, e.Msg).WithClass(e.Class).WithNext(e.Next + "; whether it was taken shows: " + look)
	}
	return err
}

// deniedSeq returns the number of the audit row that a denial names.
func deniedSeq(msg string) (uint64, bool) {
	s, ok := strings.CutPrefix(msg, "write request denied (audit seq ")
	s, closed := strings.CutSuffix(s, ")")
	n, err := strconv.ParseUint(s, 10, 63)
	return n, ok && closed && err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}
