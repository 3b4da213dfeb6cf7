package review

import (
	"fmt"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/signer/internal/screen"
	"pfsensemcp/pkg/signer/internal/vault"
)

// landingWindow is how long after a send a write may still arrive: the appliance's
// limit on the run time of a request. It is an assumption, and the screen says so.
const landingWindow = 900

// Reconciliation reviews an observation and the outcome that the owner states. With
// the contract's pending file it shows the change and checks the observation against
// it; with none (nil) it shows digests alone.
func Reconciliation(c Context, b []byte, outcome string, pendingFile []byte) (*Job, error) {
	o, err := artifact.ParseObservation(b)
	if err != nil {
		return nil, err
	}
	pin, err := c.Pins.Attesting(o)
	if err != nil {
		return nil, err
	}
	if o.ApplianceTarget != pin.ApplianceTarget {
		return nil, vault.Refuse("the observation is of another appliance than the pinned one", "find out what the executor was connected to")
	}
	if err := fresh(o.ObservedAt, c.Now); err != nil {
		return nil, err
	}
	self, err := c.self(pin)
	if err != nil {
		return nil, err
	}
	digest, err := o.Digest()
	if err != nil {
		return nil, err
	}
	pending, err := pendingOf(pendingFile, o, pin)
	if err != nil {
		return nil, err
	}
	e := &artifact.Reconciliation{
		AuthorityID: self, ContractID: o.ContractID, OperationID: o.OperationID, StateVersion: o.StateVersion,
		Outcome: outcome, ObservationDigest: digest,
	}
	page := &screen.Page{}
	page.Line("RECONCILIATION: you state what became of a change. Nothing is signed yet.")
	lab := (&change.Executor{StoreID: pin.StoreID}).Lab()
	banners(page, lab, unsaid)
	warnings, err := settle(e, o, pending, lab)
	if err != nil {
		return nil, err
	}
	page.Row("Appliance", pin.Name, "digest "+pin.ApplianceTarget+" (as pinned)")
	page.Row("Executor", fingerprint(pin.Attestation))
	page.Row("Store", pin.StoreID, "counter: an observation does not carry it")
	page.Row("Contract", o.ContractID+fmt.Sprintf(", version %d", o.StateVersion), "operation "+o.OperationID)
	page.Row("Signs as", self)
	observed(page, o)
	if pending != nil {
		target(page, &pending.Intent, pending.Intent.Target.Descr, pending.Intent.NewDescription)
	}
	page.Row("You state", outcome, Outcomes()[outcome])
	page.Line("")
	for _, w := range warnings {
		page.Banner(w)
	}
	page.Line("Look at the appliance itself before you sign: the executor is what is in doubt.")
	page.Line("The statement is accepted for a day.")
	return &Job{
		Pin: pin, Page: page, Subject: digest, ID: o.ContractID,
		Next: "carry it to the operator: mcpctl write reconcile FILE (or release FILE, for a failed rollback)",
		Sign: func(now time.Time) (artifact.Signed, error) {
			if err := fresh(o.ObservedAt, now); err != nil {
				return nil, err
			}
			signed := *e
			signed.IssuedAt = now
			return &signed, nil
		},
	}, nil
}

// pendingOf reads the contract's pending file when one is given: attested by the
// same executor, for the same contract and operation.
func pendingOf(b []byte, o *artifact.Observation, pin *authority.Pin) (*artifact.Pending, error) {
	if b == nil {
		return nil, nil
	}
	p, err := artifact.ParsePending(b)
	if err != nil {
		return nil, err
	}
	if err := authority.VerifyAttestation(p, pin.Attestation); err != nil {
		return nil, err
	}
	if err := pin.Authorities.Verify(&p.Authorization); err != nil {
		return nil, err
	}
	if p.ContractID != o.ContractID || p.OperationID != o.OperationID {
		return nil, vault.Refuse("the pending file is another contract's", "carry the pending file of contract "+o.ContractID)
	}
	return p, nil
}

// settle fills in what the outcome proves and refuses what the observation
// contradicts. The warnings are for the screen.
func settle(e *artifact.Reconciliation, o *artifact.Observation, p *artifact.Pending, lab bool) (warnings []string, err error) {
	origin := artifact.OriginExecuting
	if e.Outcome == artifact.OutcomeRollbackApplied || e.Outcome == artifact.OutcomeRollbackNotApplied {
		origin = artifact.OriginRollingBack
	}
	applied := e.Outcome == artifact.OutcomeApplied || e.Outcome == artifact.OutcomeRollbackApplied
	release := o.UncertaintyOrigin == "" && e.Outcome == artifact.OutcomeRollbackNotApplied
	switch {
	case o.UncertaintyOrigin == "" && !release:
		return nil, vault.Refuse("the contract's rollback failed: the one statement about it is confirmed_rollback_not_applied", "state that, to release the target")
	case !release && origin != o.UncertaintyOrigin:
		return nil, vault.Refuse("the outcome does not fit: what is in doubt is "+inDoubt(o), "state an outcome of that")
	case applied && o.Match == artifact.MatchPre, !applied && !release && o.Match == artifact.MatchExpectedPost:
		return nil, vault.Refuse("the observation contradicts the outcome", "observe again, or state what was observed")
	case applied && o.Locator == nil:
		return nil, vault.Refuse("the alias was absent: it cannot be stated that the change is in place", "state that it was not applied, once you know")
	}
	if !applied && !release && o.SecondsSinceSend != nil && *o.SecondsSinceSend < landingWindow {
		if !lab {
			return nil, vault.Refuse(fmt.Sprintf("the observation was made %d s after the send: until %d s a write may still arrive", *o.SecondsSinceSend, landingWindow),
				"have the executor observe again later")
		}
		warnings = append(warnings, fmt.Sprintf("WARNING: only %d s after the send; production needs %d s", *o.SecondsSinceSend, landingWindow))
	}
	if !applied && !release && o.SecondsSinceSend != nil {
		warnings = append(warnings, fmt.Sprintf("ASSUMPTION: a write that was sent arrives within %d s or never. It rests on the appliance's run-time limit and is not proven", landingWindow))
	}
	if !release && (o.Match == artifact.MatchNeither || o.Match == artifact.MatchAbsent) {
		warnings = append(warnings, "WARNING: neither the old nor the new state was found. The contract closes on your word alone, stays reconciliation_required for the AI, and can never be rolled back")
	}
	if !o.OthersUnchanged {
		warnings = append(warnings, "WARNING: other aliases changed meanwhile. The attempt may have hit one of them")
	}
	if p == nil {
		warnings = append(warnings, "WARNING: without the contract's pending file (-pending) the change itself cannot be shown")
	} else if err := agrees(o, p); err != nil {
		return nil, err
	}
	if applied {
		e.VerifiedLocator = o.Locator
	}
	if e.Outcome == artifact.OutcomeApplied {
		switch {
		case p != nil:
			e.VerifiedFingerprint, err = p.Intent.ExpectedPost()
		case o.Match == artifact.MatchExpectedPost:
			e.VerifiedFingerprint = o.TargetFingerprint
		default:
			err = vault.Refuse("the state that the change should leave is not in the observation", "give the contract's pending file: --pending FILE")
		}
	}
	return warnings, err
}

// agrees holds an observation to the contract's preimage: what it calls matching
// must have the fingerprint that matches.
func agrees(o *artifact.Observation, p *artifact.Pending) error {
	post, err := p.Intent.ExpectedPost()
	if err != nil {
		return err
	}
	pre, err := p.Intent.Target.Fingerprint()
	if err != nil {
		return err
	}
	if o.UncertaintyOrigin != artifact.OriginExecuting {
		post, pre = pre, post // a rollback goes the other way
	}
	want := artifact.MatchNeither
	switch o.TargetFingerprint {
	case "":
		want = artifact.MatchAbsent
	case post:
		want = artifact.MatchExpectedPost
	case pre:
		want = artifact.MatchPre
	}
	if o.Match != want {
		return vault.Refuse("the observation calls the target "+o.Match+", but by the contract it is "+want, "do not sign; find out what the executor did")
	}
	return nil
}

// observed shows what the executor saw.
func observed(p *screen.Page, o *artifact.Observation) {
	seen := o.Match
	if o.Locator != nil {
		seen += fmt.Sprintf(", at position %d", *o.Locator)
	}
	lines := []string{seen, "read " + stamp(o.ObservedAt), "in doubt: " + inDoubt(o)}
	if o.TargetFingerprint != "" {
		lines = append(lines, "fingerprint "+o.TargetFingerprint)
	}
	if o.SecondsSinceSend != nil {
		lines = append(lines, fmt.Sprintf("sent %s, %d s before", stamp(o.SentAt), *o.SecondsSinceSend))
	} else {
		lines = append(lines, "nothing is known to have been sent")
	}
	p.Row("Observed", lines...)
}

// inDoubt says in words what is open.
func inDoubt(o *artifact.Observation) string {
	switch o.UncertaintyOrigin {
	case artifact.OriginExecuting:
		return "the change"
	case artifact.OriginRollingBack:
		return "the rollback"
	}
	return "nothing; the rollback failed and its target waits for release"
}

// Outcomes are what can be stated, with what each means.
func Outcomes() map[string]string {
	return map[string]string{
		artifact.OutcomeApplied:            "the new text stands on the appliance",
		artifact.OutcomeNotApplied:         "the change did not happen and can no longer happen",
		artifact.OutcomeRollbackApplied:    "the old text stands on the appliance again",
		artifact.OutcomeRollbackNotApplied: "the rollback did not happen and can no longer happen",
	}
}
