package rule

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// World is where facts come from. The caller holds the writer's turn, so that what one
// row saw is still so at the next. No method is called twice within one decision, View
// apart, which each row of the store calls for itself.
type World interface {
	// View reads one state of the store.
	View(func(*store.View) error) error
	// Quarantine returns the closed word for why nothing is written, "" for none.
	Quarantine() string
	// Authorities returns the pinned keys.
	Authorities() *authority.Set
	// Plan makes the plan of a change anew from store and TPM, without the appliance.
	Plan(context.Context) (*change.Plan, error)
	// Counter reads the TPM's counter.
	Counter(context.Context) (int64, error)
	// Survey and List read the appliance.
	Survey(context.Context) (*alias.Survey, error)
	// InterfaceNames returns how the appliance named interfaces when a request's
	// preview was made, "" when that is not known.
	InterfaceNames(requestID string) string
	Policy() Policy
}

// Policy is what the settings allow.
type Policy struct {
	Enabled          bool           // the one tuple is in force
	AuthorizationMax time.Duration  // the longest life of an authorization; 0 is the format's own bound
	Charset          change.Charset // of new descriptions
	Settle           time.Duration  // between two reads that settle something; 0 is 6 s, and only a test build may say less
}

// Denied is the one error of this package. Nothing of it but the audit's row number is
// for the submitter.
type Denied struct {
	Reason                record.Reason // a word of the closed list
	RequestID, ContractID string        // as the file says them, "" before it could be read
	Err                   error         // coded; nil when the file alone was the cause
}

// Error returns the reason.
func (d *Denied) Error() string { return "denied: " + string(d.Reason) }

// Unwrap returns the failure behind a fact that could not be had.
func (d *Denied) Unwrap() error { return d.Err }

// Drift says that the target, or the appliance, is proven not to be what was approved:
// the contract can only fail. Everything else may pass when it is tried again.
func (d *Denied) Drift() bool {
	switch d.Reason {
	case "c7_identity", "c7_target", "c7_no_op", "c7_intent", "c7_locator":
		return true
	}
	return false
}

// Reasoned returns the reason that an error of the store, the alias reader or the
// counter carries as its class, and otherwise when it carries none of the closed list.
func Reasoned(err error, otherwise record.Reason) record.Reason {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		if r := record.Reason(e.Class); r.Known() {
			return r
		}
	}
	return otherwise
}

// Looks says what a row may look at beside the file and what rows before it found.
type Looks uint8

// The places. A row that looks at none of them judges the file alone.
const (
	Process   Looks = 1 << iota // keys, settings and memory of this process
	Records                     // the store
	Counter                     // the TPM
	Appliance                   // the appliance
)

// Miss is why a row fails; nil is why it does not.
type Miss struct {
	Reason record.Reason
	Err    error
}

// No is the miss of a stage and one of its words.
func No(stage, what string) *Miss { return &Miss{Reason: Word(stage, what)} }

// Unless is No for a condition that must hold.
func Unless(ok bool, stage, what string) *Miss {
	if ok {
		return nil
	}
	return No(stage, what)
}

// Failed is No for a fact that could not be had, or that said so itself.
func Failed(stage, what string, err error) *Miss { return &Miss{Word(stage, what), err} }

// Unread is the miss of a store that cannot be read.
func Unread(err error) *Miss { return &Miss{Reasoned(err, "store_read"), err} }

// Word returns a reason of a stage.
func Word(stage, what string) record.Reason { return record.Reason(stage + "_" + what) }

// Row is one gate, or one check of it.
type Row[C any] struct {
	Name  string
	Looks Looks
	Check func(C) *Miss
}

// At makes a row.
func At[C any](name string, l Looks, check func(C) *Miss) Row[C] { return Row[C]{name, l, check} }

// Run goes through a table. The first miss ends it.
func Run[C any](f *Facts, c C, table []Row[C]) *Miss {
	defer func() { f.may = 0 }()
	for _, r := range table {
		f.may = r.Looks
		if m := r.Check(c); m != nil {
			return m
		}
	}
	return nil
}

// Deny makes the error of a miss; nil stays nil.
func Deny(m *Miss, requestID, contractID string) *Denied {
	if m == nil {
		return nil
	}
	d := &Denied{Reason: m.Reason, RequestID: requestID, ContractID: contractID, Err: coded(m.Err)}
	if !d.Reason.Known() {
		// A word that the audit does not have would lose the row of the denial.
		d.Reason = "internal"
	}
	return d
}

// coded makes an error fit to leave: it has a code, and no rule of a file in its chain,
// which could name a member that an outsider chose.
func coded(err error) error {
	if err == nil {
		return nil
	}
	_, fault := errors.AsType[*artifact.Fault](err)
	_, rule := errors.AsType[*canon.Error](err)
	own, ok := errors.AsType[*errs.Error](err)
	switch {
	case !fault && !rule && ok:
		return err
	case !fault && !rule:
		return errs.Wrap(err, errs.Unavailable, unknown)
	case !ok:
		return errs.New(errs.Unavailable, unknown)
	}
	bare := *own
	bare.Err = nil
	return &bare
}

const unknown = "a fact that the decision needs could not be had"

// Same compares two digests or ids in a time that does not depend on them.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Ahead is how far in the future the signer's clock may be, and how far before the
// thing it signs.
const Ahead = 30 * time.Second
