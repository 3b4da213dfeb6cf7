package review

import (
	"fmt"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/signer/internal/screen"
	"pfsensemcp/pkg/signer/internal/vault"
)

// Rollback reviews a rollback request. Both owners use it, each with the key of its
// own machine and so under its own role.
func Rollback(c Context, b []byte) (*Job, error) {
	r, err := artifact.ParseRollbackRequest(b)
	if err != nil {
		return nil, err
	}
	pin, err := c.trusted(r, &r.Plan, r.GeneratedAt)
	if err != nil {
		return nil, err
	}
	if c.Now.Sub(r.VerifiedAt) > staleAfter {
		return nil, vault.Refuse("the change is older than a day: it can no longer be undone", "ask for the old text as a new change")
	}
	self, err := c.self(pin)
	if err != nil {
		return nil, err
	}
	undo, err := r.Undo()
	if err != nil {
		return nil, err
	}
	role, which := canon.RoleRollback, "the confirmation owner's"
	if c.Owner == authority.Authorization {
		role, which = canon.RoleRollbackAuthorization, "the authorization owner's"
	}
	page := &screen.Page{}
	page.Line("ROLLBACK: " + which + " half of the two approvals that put the old text back. Nothing is signed yet.")
	banners(page, r.Plan.Executor.Lab(), unsaid)
	origin(page, pin, &r.Plan.Executor, &r.Plan.Evidence)
	page.Row("Request", r.RequestID, "contract "+r.ContractID+fmt.Sprintf(", version %d", r.StateVersion), "operation "+r.OperationID, "verified "+stamp(r.VerifiedAt)+", request made "+stamp(r.GeneratedAt))
	page.Row("Digests", "stands    "+undo.VerifiedFingerprint, "restores  "+undo.Snapshot)
	page.Row("Signs as", self)
	page.Row("Position", fmt.Sprint(r.Locator))
	target(page, &r.Intent, r.Intent.NewDescription, r.Intent.Target.Descr)
	notes(page)
	page.Line(fmt.Sprintf("The approval is for this version of this contract and expires %d minutes after it is signed.", int(rollbackTTL.Minutes())))
	nonce := change.NewID("")
	return &Job{
		Pin: pin, Page: page, Subject: canon.Hash(b), ID: nonce,
		Next: "carry it to the operator, who needs both owners' files: mcpctl write rollback --confirmation FILE --authorization FILE",
		Sign: func(now time.Time) (artifact.Signed, error) {
			if err := fresh(r.GeneratedAt, now); err != nil {
				return nil, err
			}
			return &artifact.Rollback{By: role, AuthorityID: self, Nonce: nonce, Undo: undo, IssuedAt: now, ExpiresAt: now.Add(rollbackTTL)}, nil
		},
	}, nil
}

// Rebaseline reviews an anchor status and the reason that the owner states.
func Rebaseline(c Context, b []byte, reason string) (*Job, error) {
	a, err := artifact.ParseAnchorStatus(b)
	if err != nil {
		return nil, err
	}
	pin, ok := c.Pins.Store(a.StoreID)
	if !ok {
		return nil, vault.Refuse("the file is of a store that this signer does not pin", "find out which executor made it")
	}
	if err := authority.VerifyAttestation(a, pin.Attestation); err != nil {
		return nil, err
	}
	// An anchor status names no appliance: the counter belongs to the store.
	x := change.Executor{StoreID: a.StoreID, NVIndexName: a.NVIndexName, AuthoritySet: a.AuthoritySet, BuildID: a.BuildID, ApplianceTarget: pin.ApplianceTarget}
	if err := pin.Holds(&x); err != nil {
		return nil, err
	}
	if err := fresh(a.GeneratedAt, c.Now); err != nil {
		return nil, err
	}
	self, err := c.self(pin)
	if err != nil {
		return nil, err
	}
	means, err := reasonFor(reason, a)
	if err != nil {
		return nil, err
	}
	page := &screen.Page{}
	page.Line("REBASELINE: the store takes the counter's value as its own. Nothing is signed yet.")
	banners(page, x.Lab(), unsaid)
	page.Row("Appliance", pin.Name, "digest "+pin.ApplianceTarget+" (as pinned)")
	page.Row("Executor", fingerprint(pin.Attestation), "build "+a.BuildID)
	page.Row("Store", a.StoreID, "counter index "+a.NVIndexName+" (as pinned)", "audit head "+a.AuditHead)
	page.Row("Counter", fmt.Sprintf("store %d, witness %d", a.StoreValue, a.WitnessValue))
	quarantine := a.Quarantine
	if quarantine == "" {
		quarantine = "none"
	}
	page.Row("Quarantine", quarantine, "status made "+stamp(a.GeneratedAt))
	page.Row("Signs as", self)
	page.Row("Reason", reason, means)
	page.Line("")
	if a.WitnessValue < a.StoreValue {
		page.Banner("WARNING: the witness is behind the store. A counter never goes back: this may be another TPM")
	}
	page.Line("Every approval signed before becomes void. Contracts that were prepared or on their way need reconciliation: the lost history may hold their execution.")
	page.Line("Compare the audit head and the last known counter value with a copy that was kept off the host before you sign.")
	page.Line(fmt.Sprintf("The signature expires %d minutes after it is made.", int(rebaselineTTL.Minutes())))
	nonce := change.NewID("")
	return &Job{
		Pin: pin, Page: page, Subject: canon.Hash(b), ID: nonce,
		Next: "carry it to the operator: mcpctl anchor rebaseline FILE",
		Sign: func(now time.Time) (artifact.Signed, error) {
			if err := fresh(a.GeneratedAt, now); err != nil {
				return nil, err
			}
			return &artifact.Rebaseline{
				AuthorityID: self, Nonce: nonce, StoreID: a.StoreID, NVIndexName: a.NVIndexName, StoreValue: a.StoreValue, WitnessValue: a.WitnessValue,
				AuditHead: a.AuditHead, Reason: reason, IssuedAt: now, ExpiresAt: now.Add(rebaselineTTL),
			}, nil
		},
	}, nil
}

// Reasons are the reasons for a rebaseline, with what each claims.
func Reasons() map[string]string {
	return map[string]string{
		artifact.ReasonRestored:       "you say: the store's file was restored from a copy, knowingly",
		artifact.ReasonCounterUsed:    "you say: the counter was advanced by something else, and you know by what",
		artifact.ReasonAttemptUnknown: "you say: an attempt was interrupted and its record is lost",
		artifact.ReasonClockPoisoned:  "you say: the store remembers a time that never was, and the clock is right now",
	}
}

// reasonFor says what a reason claims, and refuses one that the status contradicts.
// Equal values are no proof that nothing is wrong: a restored backup from after the
// latest attempt has the counter's value and has forgotten approvals all the same, and
// a counter that went away and came back is still doubted. Both end by signature alone.
func reasonFor(reason string, a *artifact.AnchorStatus) (string, error) {
	doubted := a.Quarantine == "restored_backup" || a.Quarantine == "anchor_mismatch"
	if a.StoreValue == a.WitnessValue && reason != artifact.ReasonClockPoisoned && !doubted {
		return "", vault.Refuse("store and witness have the same value: there is nothing to rebaseline", "ask the operator why this was sent")
	}
	return Reasons()[reason], nil
}
