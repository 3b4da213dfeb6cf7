package serve

import (
	"regexp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// denial is the one sentence that a refused file is answered with.
var denial = regexp.MustCompile(`^write request denied( \(audit seq [1-9][0-9]{0,18}\))?$`)

// classDenied is its class.
const classDenied = "write_denied"

// refusal returns what the sender of a signed file learns of its failure. Whatever
// the cause, a refusal is the same bytes but for the number of its audit row: who
// can submit files could otherwise learn, one try after the other, which member a
// gate disliked. What is no judgement of the file (the service is not able to work,
// the outcome is not known) stays itself, unless its class is a gate's word.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	e := errs.Public(err)
	switch {
	case e.Class == classDenied && denial.MatchString(e.Msg):
		return denied(err, e.Msg)
	case e.Code == errs.Internal, e.Code == errs.UnknownOutcome:
		return err
	case plain[e.Class] && (e.Code == errs.Conflict || e.Code == errs.Exhausted):
		return err
	case e.Code != errs.Unavailable && e.Code != errs.Expired: // a judgement
	case !record.Reason(e.Class).Known() || standing[e.Class]:
		return err
	}
	return denied(err, "write request denied")
}

// plain are the classes of what looks like a judgement and is none: the file was
// accepted and its attempt has not begun, no file of this peer is looked at, or there is
// no room to keep what it starts.
var plain = map[string]bool{"not_begun": true, "denials": true, "disk_full": true}

// standing are the reasons of the audit that speak of executord itself, whatever the
// file: an operator must see them.
var standing = map[string]bool{
	"store_integrity": true, "disk_full": true, "clock_regressed": true, "clock_jump": true,
	"anchor_mismatch": true, "anchor_unreachable": true, "anchor_name": true, "store_restored_from_backup": true,
}

func denied(cause error, msg string) error {
	return errs.Wrap(cause, errs.Conflict, msg).WithClass(classDenied).
		WithNext("the audit row of that number has the reason: mcpctl audit show")
}
