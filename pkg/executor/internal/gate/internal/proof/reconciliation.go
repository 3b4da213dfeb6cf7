package proof

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pfsensemcp/pkg/executor/internal/gate/internal/rule"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Evidence is a statement of the reconciliation owner that passed.
type Evidence struct {
	File     []byte
	Artifact *artifact.Reconciliation
	Contract *record.Contract
	// AttestedOnly says that what was observed, or what is there now, is neither of the
	// two states: the signature alone stands for the outcome.
	AttestedOnly bool
}

// Live makes two reads of the appliance, one after the other.
type Live = func(context.Context) ([2]*alias.List, error)

// Reconciliation decides over evidence that settles a contract. Live makes two reads of
// the appliance, one after the other; it is called once and last.
func Reconciliation(ctx context.Context, w rule.World, file []byte, live Live) (*Evidence, *rule.Denied) {
	return settle(ctx, w, file, live, slices.Concat(evidenceGates(record.Reconciliation), outcomeGates()))
}

// Release decides over evidence that lets the target of a failed rollback go.
func Release(ctx context.Context, w rule.World, file []byte, live Live) (*Evidence, *rule.Denied) {
	return settle(ctx, w, file, live, slices.Concat(evidenceGates(record.RollbackFailed), releaseGates()))
}

func settle(ctx context.Context, w rule.World, file []byte, live Live, table []rule.Row[*statement]) (*Evidence, *rule.Denied) {
	s := &statement{f: rule.NewFacts(ctx, w), file: file, live: live}
	if m := rule.Run(s.f, s, table); m != nil {
		switch {
		case s.c != nil:
			return nil, rule.Deny(m, s.c.RequestID, s.c.ContractID)
		case s.a != nil:
			return nil, rule.Deny(m, "", s.a.ContractID)
		}
		return nil, rule.Deny(m, "", "")
	}
	return &Evidence{File: file, Artifact: s.a, Contract: s.c, AttestedOnly: s.attested}, nil
}

// statement is evidence on its way.
type statement struct {
	f        *rule.Facts
	file     []byte
	a        *artifact.Reconciliation
	digest   string
	c        *record.Contract
	entered  *record.Result
	intent   *change.Intent
	seen     *record.Sighting
	live     Live
	now      [2]sight
	attested bool
}

// evidenceAge is how old evidence may be.
const evidenceAge = 24 * time.Hour

// evidenceGates are what evidence of either kind must be.
func evidenceGates(state record.State) []rule.Row[*statement] {
	return []rule.Row[*statement]{
		rule.At("r form", 0, (*statement).form),
		rule.At("r quarantine", rule.Process, func(s *statement) *rule.Miss { return s.f.Awake("r") }),
		rule.At("r signature", rule.Process, func(s *statement) *rule.Miss { return s.f.SignedBy("r", s.a) }),
		rule.At("r contract", rule.Records, func(s *statement) *rule.Miss { return s.find(state) }),
		rule.At("r version", 0, func(s *statement) *rule.Miss {
			return rule.Unless(rule.Same(s.a.OperationID, s.c.OperationID) && s.a.StateVersion == s.c.Version, "r", "version")
		}),
		rule.At("r outcome", 0, (*statement).outcome),
		rule.At("r clock and floor", rule.Records, func(s *statement) *rule.Miss { return s.f.Fresh("r", s.a.IssuedAt) }),
		rule.At("r time", rule.Records, (*statement).current),
		rule.At("r observation", rule.Records, (*statement).observed),
		rule.At("r locator", 0, func(s *statement) *rule.Miss {
			return rule.Unless(!settles(s.a.Outcome).applied || s.a.VerifiedLocator != nil && *s.a.VerifiedLocator == s.c.Locator, "r", "locator")
		}),
		rule.At("r fingerprint", 0, func(s *statement) *rule.Miss {
			if s.a.Outcome != artifact.OutcomeApplied {
				return nil
			}
			post, err := s.intent.ExpectedPost()
			return rule.Unless(err == nil && rule.Same(post, s.a.VerifiedFingerprint), "r", "fingerprint")
		}),
		rule.At("r landing", rule.Records, (*statement).landed),
		rule.At("r live", rule.Process|rule.Appliance, (*statement).look),
	}
}

// outcomeGates hold the outcome against what was observed and what is there.
func outcomeGates() []rule.Row[*statement] {
	return []rule.Row[*statement]{rule.At("r contradicted", 0, (*statement).agrees)}
}

// releaseGates hold the observation against what is there: nothing is claimed of the
// target, only that somebody has seen it as it is.
func releaseGates() []rule.Row[*statement] {
	return []rule.Row[*statement]{rule.At("r contradicted", 0, func(s *statement) *rule.Miss {
		first, second := s.now[0], s.now[1]
		return rule.Unless(first == second && first.match == s.seen.Match, "r", "contradicted")
	})}
}

// settling is what an outcome says.
type settling struct {
	origin  record.State
	applied bool
}

// settles returns what an outcome says, a settling of no origin for an unknown one.
func settles(outcome string) settling {
	switch outcome {
	case artifact.OutcomeApplied:
		return settling{record.Executing, true}
	case artifact.OutcomeNotApplied:
		return settling{record.Executing, false}
	case artifact.OutcomeRollbackApplied:
		return settling{record.RollingBack, true}
	case artifact.OutcomeRollbackNotApplied:
		return settling{record.RollingBack, false}
	}
	return settling{}
}

func (s *statement) form() *rule.Miss {
	a, err := artifact.ParseReconciliation(s.file)
	if err != nil {
		return rule.No("r", "form")
	}
	s.a = a
	s.digest, err = a.Digest()
	return rule.Unless(err == nil, "r", "form")
}

func (s *statement) find(state record.State) *rule.Miss {
	return s.f.View(func(v *store.View) (*rule.Miss, error) {
		c, res, err := v.Contract(s.a.ContractID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("r", "contract"), nil
		case err != nil:
			return nil, err
		}
		s.c, s.entered = c, res
		if c.State != state || res.Released {
			return rule.No("r", "state"), nil
		}
		if v.Consumed("reconciliation:" + s.digest) {
			return rule.No("r", "consumed"), nil
		}
		s.intent, err = v.Intent(c)
		return nil, err
	})
}

// outcome refuses one that does not belong to where the contract comes from. A release
// is the statement that the rollback was not applied.
func (s *statement) outcome() *rule.Miss {
	if s.c.State == record.RollbackFailed {
		return rule.Unless(s.a.Outcome == artifact.OutcomeRollbackNotApplied, "r", "outcome")
	}
	o := settles(s.a.Outcome)
	return rule.Unless(o.origin != "" && o.origin == s.c.Origin, "r", "outcome")
}

func (s *statement) current() *rule.Miss {
	t, m := s.f.Time()
	if m != nil {
		return m
	}
	issued := s.a.IssuedAt
	return rule.Unless(!issued.Before(s.entered.At) && !issued.After(t.Now.Add(rule.Ahead)) && !t.Now.After(issued.Add(evidenceAge)), "r", "time")
}

// observed finds the observation that the evidence cites, of this very version.
func (s *statement) observed() *rule.Miss {
	return s.f.View(func(v *store.View) (*rule.Miss, error) {
		all, err := v.Sightings(s.c.ContractID)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if rule.Same(o.Digest, s.a.ObservationDigest) && o.Version == s.c.Version {
				s.seen = o
			}
		}
		return rule.Unless(s.seen != nil, "r", "observation"), nil
	})
}

// landed refuses "not applied" from an observation that was made while the write could
// still land: the later the look, the better the proof, and never the other way round.
func (s *statement) landed() *rule.Miss {
	if settles(s.a.Outcome).applied {
		return nil
	}
	return s.f.View(func(v *store.View) (*rule.Miss, error) {
		ok, err := v.Landed(s.c, s.seen)
		if err != nil {
			return nil, err
		}
		return rule.Unless(ok, "r", "landing"), nil
	})
}

// settleTime is the time between two reads that settle something: an apply of somebody
// else can take back what the first one saw.
const settleTime = 6 * time.Second

// look makes the two reads of now.
func (s *statement) look() *rule.Miss {
	err := s.f.Beyond(rule.Appliance)
	policy, perr := s.f.Policy()
	if err = cmp.Or(err, perr); err != nil {
		return rule.Failed("r", "read", err)
	}
	lists, err := s.live(s.f.Context())
	if err != nil {
		return rule.Failed("r", "read", err)
	}
	apart := policy.Settle
	if apart <= 0 {
		apart = settleTime
	}
	first, second := lists[0], lists[1]
	if first == nil || second == nil || first == second || second.Began.Sub(first.Ended) < apart {
		return rule.No("r", "read")
	}
	for i, l := range lists {
		if !rule.Same(l.Target, s.c.Provenance.Appliance) {
			return rule.No("r", "identity")
		}
		if s.now[i], err = see(s.intent, s.c, l); err != nil {
			return rule.Failed("r", "read", err)
		}
	}
	return nil
}

// agrees says whether three looks bear the outcome: the one that was signed and the two
// of now. All three as claimed settle it; one of the opposite state denies it; a third
// state leaves the signature alone.
func (s *statement) agrees() *rule.Miss {
	want, against := artifact.MatchPre, artifact.MatchExpectedPost
	if settles(s.a.Outcome).applied {
		want, against = against, want
	}
	for _, match := range []string{s.seen.Match, s.now[0].match, s.now[1].match} {
		switch match {
		case against:
			return rule.No("r", "contradicted")
		case want:
		default:
			s.attested = true
		}
	}
	return nil
}

// sight is what a list shows of a contract's target.
type sight struct {
	match       string
	fingerprint string
	locator     int64
}

// Match says what a list shows of a contract's target, as the attempt that is in doubt
// would see it: for an undo, expected_post is what stood before the change. A target
// that moved to another position is neither, whatever it holds: nothing settled says so.
// Absent is also a name that several have, and an alias of a form that has no state to
// compare: there is nothing of which a fingerprint could be shown. Errors are those of
// alias.List.Find that are no answer.
func Match(in *change.Intent, c *record.Contract, l *alias.List) (string, error) {
	s, err := see(in, c, l)
	return s.match, err
}

func see(in *change.Intent, c *record.Contract, l *alias.List) (sight, error) {
	post, err := in.ExpectedPost()
	if err != nil {
		return sight{}, errs.New(errs.Internal, "a sealed change has no fingerprint").WithClass("internal")
	}
	pre, err := in.Target.Fingerprint()
	if err != nil {
		return sight{}, errs.New(errs.Internal, "a sealed change has no fingerprint").WithClass("internal")
	}
	if c.Origin == record.RollingBack || c.State == record.RollingBack || c.State == record.RollbackFailed {
		post, pre = pre, post
	}
	found, err := l.Find(in.Target.Name)
	if err != nil {
		switch rule.Reasoned(err, "") {
		case "target_unresolved", "target_too_large":
			return sight{match: artifact.MatchAbsent}, nil
		}
		return sight{}, err
	}
	s := sight{artifact.MatchNeither, found.Fingerprint, found.Locator}
	switch {
	case found.Locator != c.Locator:
	case rule.Same(found.Fingerprint, post):
		s.match = artifact.MatchExpectedPost
	case rule.Same(found.Fingerprint, pre):
		s.match = artifact.MatchPre
	}
	return s, nil
}
