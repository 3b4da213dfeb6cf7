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
	"pfsensemcp/pkg/textsafe/spelling"
)

const (
	// clockTolerance is how far two clocks may differ: the gates' value.
	clockTolerance = 30 * time.Second
	// staleAfter is how old a file may be: a request lives no longer.
	staleAfter = 24 * time.Hour
	// shownEntries is how many members of an alias stand on the screen; they are
	// not changed, and the texts must not scroll away.
	shownEntries = 12
)

// stamp writes a time.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// fresh refuses a file of the future or of yesterday.
func fresh(made, now time.Time) error {
	switch {
	case made.After(now.Add(clockTolerance)):
		return vault.Refuse("the file is from the future: this machine's clock or the executor's is wrong", "set the clocks, then start again")
	case now.Sub(made) > staleAfter:
		return vault.Refuse("the file is older than a day", "have the executor make a new one")
	}
	return nil
}

// running refuses what has expired.
func running(expires, now time.Time) error {
	if !now.Before(expires) {
		return vault.Refuse("it has expired", "start again with a new preview")
	}
	return nil
}

// trusted finds the pin of a plan's store, verifies the attestation, holds the plan to
// the pin and the file, made when it says, to its age. All of it precedes anything shown.
func (c Context) trusted(a artifact.Attested, plan *change.Plan, made time.Time) (*authority.Pin, error) {
	pin, ok := c.Pins.Store(plan.Executor.StoreID)
	if !ok {
		if plan.Executor.Lab() {
			return nil, vault.Refuse("the file is of a laboratory store that this signer does not pin", "never sign a laboratory's file unless you pinned that very store")
		}
		return nil, vault.Refuse("the file is of a store that this signer does not pin", "find out which executor made it")
	}
	if err := authority.VerifyAttestation(a, pin.Attestation); err != nil {
		return nil, err
	}
	if err := pin.Holds(&plan.Executor); err != nil {
		return nil, err
	}
	if err := plan.Executable(); err != nil {
		return nil, err
	}
	return pin, fresh(made, c.Now)
}

// build is what a file says of the executor's build.
type build int

const (
	unsaid build = iota
	shipped
	test
)

// buildOf is the build that a file names.
func buildOf(testBuild bool) build {
	if testBuild {
		return test
	}
	return shipped
}

// banners says what must not be overlooked about the executor.
//
// Of the files that are signed over, the preview alone has a member for a test build;
// the plan's policy digest covers it and does not tell it. The others leave it unsaid,
// which is a known gap of their schemas. It is no way to shorten production's waiting
// times: a test build does that for a laboratory's store alone, so there, and there
// alone, the screen says that it cannot know.
func banners(p *screen.Page, lab bool, b build) {
	if lab {
		p.Banner("LABORATORY: this store is not production's; its counter may be a software TPM")
	}
	switch {
	case b == test:
		p.Banner("TEST BUILD: this executor has shortened waiting times; it must not be production's")
	case b == unsaid && lab:
		p.Banner("It may be a TEST BUILD with shortened waiting times: the preview says so, this file cannot")
	}
}

// origin shows where the file comes from: appliance, executor, store, counter.
func origin(p *screen.Page, pin *authority.Pin, x *change.Executor, e *change.Evidence) {
	p.Row("Appliance", pin.Name, "digest "+pin.ApplianceTarget+" (as pinned)")
	build := x.BuildID
	if pin.BuildID != "" {
		build += " (as pinned)"
	}
	p.Row("Executor", fingerprint(pin.Attestation), "build "+build)
	p.Row("Store", x.StoreID, "counter index "+x.NVIndexName+" (as pinned)")
	p.Row("Counter", fmt.Sprintf("%d in store and witness, provisioned %s", *e.Baseline, stamp(e.ProvisionedAt)))
}

// target shows the alias and both texts, from the preimage whose digests were
// recomputed.
func target(p *screen.Page, in *change.Intent, from, to string) {
	t := &in.Target
	p.Row("Alias", fmt.Sprintf("%s (%s, %d entries, which stay as they are)", spelling.Quoted(t.Name), t.Type, len(t.Address)))
	var lines []string
	for i, a := range t.Address {
		if i == shownEntries {
			lines = append(lines, fmt.Sprintf("and %d more", len(t.Address)-i))
			break
		}
		line := screen.Plain(a, 200)
		if i < len(t.Detail) && t.Detail[i] != "" {
			line += "  (" + screen.Plain(t.Detail[i], 200) + ")"
		}
		lines = append(lines, spelling.Wrap(line)...)
	}
	p.Row("", lines...)
	p.Line("")
	p.Row("Text now", spelling.Lines(from)...)
	p.Row("Text then", spelling.Lines(to)...)
	p.Line("")
}

// notes say what every owner has to know about such a change.
func notes(p *screen.Page) {
	p.Line("The text is saved, the filter is not reloaded: the appliance shows pending changes until somebody applies them.")
	p.Line("The executor does not read the CARP state: a change sent to a backup node is overwritten by its master; ask the operator for mcpctl doctor.")
}

// Authorization reviews a preview.
func Authorization(c Context, b []byte) (*Job, error) {
	p, err := artifact.ParsePreview(b)
	if err != nil {
		return nil, err
	}
	pin, err := c.trusted(p, &p.Plan, p.GeneratedAt)
	if err != nil {
		return nil, err
	}
	self, err := c.self(pin)
	if err != nil {
		return nil, err
	}
	plan, err := p.Plan.Digest()
	if err != nil {
		return nil, err
	}
	execution, err := p.Intent.ExecutionDigest()
	if err != nil {
		return nil, err
	}
	page := &screen.Page{}
	page.Line("AUTHORIZATION: the first of two approvals. Nothing is signed yet.")
	banners(page, p.Plan.Executor.Lab(), buildOf(p.TestBuild))
	origin(page, pin, &p.Plan.Executor, &p.Plan.Evidence)
	who := "by an operator"
	if p.AskedBy != nil {
		who = fmt.Sprintf("by uid %d, says mcpd", *p.AskedBy)
	}
	page.Row("Request", p.RequestID+", asked "+who, "preview made "+stamp(p.GeneratedAt))
	page.Row("Digests", "plan      "+plan, "change    "+execution)
	page.Row("Signs as", self)
	target(page, &p.Intent, p.Intent.Target.Descr, p.Intent.NewDescription)
	notes(page)
	page.Line(fmt.Sprintf("The approval is for one use and expires %d minutes after it is signed.", int(authorizationTTL.Minutes())))
	id := change.NewID(change.PrefixAuthorization)
	return &Job{
		Pin: pin, Page: page, Subject: canon.Hash(b), ID: id,
		Next: "carry it to the operator: mcpctl write authorize FILE",
		Sign: func(now time.Time) (artifact.Signed, error) {
			if err := fresh(p.GeneratedAt, now); err != nil {
				return nil, err
			}
			return &artifact.Authorization{
				ID: id, RequestID: p.RequestID, PlanDigest: plan, ExecutionIntent: execution, AuthorityID: self,
				IssuedAt: now, ExpiresAt: now.Add(authorizationTTL), Evidence: p.Plan.Evidence,
			}, nil
		},
	}, nil
}

// The lifetimes of what is signed here; no flag changes them.
const (
	authorizationTTL = 15 * time.Minute
	rollbackTTL      = 15 * time.Minute
	rebaselineTTL    = 15 * time.Minute
)

// Confirmation reviews a pending confirmation, and in it the first approval.
func Confirmation(c Context, b []byte) (*Job, error) {
	p, err := artifact.ParsePending(b)
	if err != nil {
		return nil, err
	}
	pin, err := c.trusted(p, &p.Plan, p.GeneratedAt)
	if err != nil {
		return nil, err
	}
	self, err := c.self(pin)
	if err != nil {
		return nil, err
	}
	// The file names one confirmation owner; where several are pinned, any of them may
	// sign, and the executor takes any of them.
	if _, pinned := pin.Authorities.Lookup(authority.Confirmation, p.ExpectedAuthority); !pinned {
		return nil, vault.Refuse("the executor expects another confirmation owner", "carry the file to that owner, or have the authorities file corrected")
	}
	if err := pin.Authorities.Verify(&p.Authorization); err != nil {
		return nil, err
	}
	if p.Authorization.IssuedAt.After(c.Now.Add(clockTolerance)) {
		return nil, vault.Refuse("the first approval is from the future: a clock is wrong", "set the clocks, then start again with a new preview")
	}
	digests, err := p.Digests()
	if err != nil {
		return nil, err
	}
	page := &screen.Page{}
	page.Line("CONFIRMATION: the second of two approvals. After it the change is sent. Nothing is signed yet.")
	banners(page, p.Plan.Executor.Lab(), unsaid)
	origin(page, pin, &p.Plan.Executor, &p.Plan.Evidence)
	page.Row("Request", p.RequestID, "contract "+p.ContractID, "operation "+p.OperationID, "pending made "+stamp(p.GeneratedAt))
	page.Row("Authorized", "by "+p.Authorization.AuthorityID+" at "+stamp(p.Authorization.IssuedAt)+", verified with the pinned key", p.Authorization.ID)
	page.Row("Digests", "change    "+digests.ExecutionIntent, "target    "+digests.TargetFingerprint, "snapshot  "+digests.Snapshot)
	page.Row("Signs as", self)
	page.Row("Position", fmt.Sprint(p.Locator))
	target(page, &p.Intent, p.Intent.Target.Descr, p.Intent.NewDescription)
	notes(page)
	page.Line("The approval expires with the contract at " + stamp(p.ExpiresAt) + ", in " + p.ExpiresAt.Sub(c.Now).Round(time.Second).String() + ".")
	nonce := change.NewID("")
	return &Job{
		Pin: pin, Page: page, Subject: p.ContractID, ID: nonce,
		Next: "carry it to the operator: mcpctl write confirm FILE",
		Sign: func(now time.Time) (artifact.Signed, error) {
			if err := running(p.ExpiresAt, now); err != nil {
				return nil, err
			}
			signed := &artifact.Confirmation{
				AuthorityID: self, Nonce: nonce, ContractID: p.ContractID, OperationID: p.OperationID, Digests: digests,
				IssuedAt: now, ExpiresAt: p.ExpiresAt,
			}
			return signed, pin.Authorities.Distinct(&p.Authorization, signed)
		},
	}, nil
}
