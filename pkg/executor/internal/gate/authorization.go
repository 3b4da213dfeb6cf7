package gate

import (
	"context"
	"errors"
	"slices"

	"pfsensemcp/pkg/executor/internal/gate/internal/rule"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Authorized is an authorization that passed gates 1 to 5b. Gate 6 is the store's.
type Authorized struct {
	File       []byte
	Artifact   *artifact.Authorization
	Preview    *artifact.Preview // as stored
	PreviewSeq int64
	Locator    int64
	Collection string // digest of all other aliases at the read of 5b
}

// Store returns what the transaction of gate 6 takes.
func (a *Authorized) Store(by record.Actor) store.Authorization {
	return store.Authorization{File: a.File, Artifact: a.Artifact, PreviewSeq: a.PreviewSeq, Collection: a.Collection, By: by}
}

// Authorization decides over a submitted authorization.
func Authorization(ctx context.Context, w rule.World, file []byte) (*Authorized, *rule.Denied) {
	s := &submission{f: rule.NewFacts(ctx, w), file: file}
	if m := rule.Run(s.f, s, authorizationGates()); m != nil {
		return nil, rule.Deny(m, s.requestID(), "")
	}
	return &Authorized{
		File: file, Artifact: s.a, Preview: s.preview, PreviewSeq: s.stored.Seq, Locator: s.stored.Locator, Collection: s.f.Found().Collection,
	}, nil
}

// submission is an authorization on its way through the gates.
type submission struct {
	f       *rule.Facts
	file    []byte
	a       *artifact.Authorization
	request *record.Request
	name    string // of the alias, as asked for
	text    string // likewise the new description
	stored  *record.Preview
	preview *artifact.Preview
}

func (s *submission) requestID() string {
	if s.a == nil {
		return ""
	}
	return s.a.RequestID
}

// authorizationGates is the one table of gates 1 to 5b.
func authorizationGates() []rule.Row[*submission] {
	return slices.Concat(
		[]rule.Row[*submission]{
			rule.At("g1 size", 0, func(s *submission) *rule.Miss {
				return rule.Unless(len(s.file) > 0 && len(s.file) <= artifact.MaxSigned, "g1", "size")
			}),
			rule.At("g1 form", 0, (*submission).form),
			rule.At("g1 quarantine", rule.Process, func(s *submission) *rule.Miss { return s.f.Awake("g1") }),
			rule.At("g1 request and preview", rule.Records, (*submission).find),
			rule.At("g2 signature", rule.Process, func(s *submission) *rule.Miss { return s.f.SignedBy("g2", s.a) }),
			rule.At("g3 clock and floor", rule.Records, func(s *submission) *rule.Miss { return s.f.Fresh("g3", s.a.IssuedAt) }),
			rule.At("g3 currency", rule.Process|rule.Records, (*submission).current),
			rule.At("g4 plan", 0, func(s *submission) *rule.Miss {
				d, err := s.preview.Plan.Digest()
				return rule.Unless(err == nil && rule.Same(s.a.PlanDigest, s.stored.Plan) && rule.Same(s.a.PlanDigest, d), "g4", "plan")
			}),
			rule.At("g4 step", 0, (*submission).step),
			rule.At("g4 intent", 0, func(s *submission) *rule.Miss {
				d, err := s.preview.Intent.ExecutionDigest()
				return rule.Unless(err == nil && rule.Same(s.a.ExecutionIntent, s.stored.ExecutionIntent) && rule.Same(s.a.ExecutionIntent, d), "g4", "intent")
			}),
			rule.At("g4 evidence", 0, func(s *submission) *rule.Miss {
				return rule.Unless(s.a.Evidence.Equal(&s.preview.Plan.Evidence), "g4", "evidence")
			}),
			rule.At("g4 age", 0, func(s *submission) *rule.Miss {
				// An authorization for a former preview with the same digests is not
				// one for this preview.
				return rule.Unless(!s.a.IssuedAt.Before(s.stored.GeneratedAt.Add(-rule.Ahead)), "g4", "age")
			}),
		},
		rule.Posture("g5a", func(s *submission) (*rule.Facts, string) { return s.f, s.a.PlanDigest }),
		[]rule.Row[*submission]{rule.At("g5b rate", rule.Records, (*submission).rate)},
		rule.Target("g5b", (*submission).expected),
	)
}

// form reads the file. A former or later schema has its own word: it is what a former
// or later signer writes.
func (s *submission) form() *rule.Miss {
	a, err := artifact.ParseAuthorization(s.file)
	if err == nil {
		s.a = a
		return nil
	}
	if fault, ok := errors.AsType[*artifact.Fault](err); ok && fault.Member == "schema_version" {
		return rule.No("g1", "version")
	}
	return rule.No("g1", "form")
}

// find looks up the open request that the file names, and its preview.
func (s *submission) find() *rule.Miss {
	return s.f.View(func(v *store.View) (*rule.Miss, error) {
		r, err := v.Request(s.a.RequestID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("g1", "request"), nil
		case err != nil:
			return nil, err
		case r.Status != record.Open || !v.Now().Wall.Before(r.ExpiresAt):
			return rule.No("g1", "request"), nil
		}
		preview, _, stored, err := v.Preview(r.RequestID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return rule.No("g1", "preview"), nil
		case err != nil:
			return nil, err
		case stored.Seq != r.PreviewSeq || preview.RequestID != r.RequestID:
			return rule.No("g1", "preview"), nil
		}
		s.request, s.stored, s.preview = r, stored, preview
		s.name, s.text, err = v.Text(r)
		return nil, err
	})
}

func (s *submission) current() *rule.Miss {
	t, m := s.f.Time()
	if m != nil {
		return m
	}
	policy, err := s.f.Policy()
	if err != nil {
		return rule.Failed("g3", "lifetime", err)
	}
	most := policy.AuthorizationMax
	switch {
	case s.a.IssuedAt.After(t.Now.Add(rule.Ahead)):
		return rule.No("g3", "not_yet")
	case !t.Now.Before(s.a.ExpiresAt):
		return rule.No("g3", "expired")
	case most > 0 && s.a.ExpiresAt.Sub(s.a.IssuedAt) > most:
		return rule.No("g3", "lifetime")
	}
	return nil
}

// step finds the deciding step in the stored plan, once and at the level that an owner
// decides. The file names no other.
func (s *submission) step() *rule.Miss {
	n := 0
	for _, p := range s.preview.Plan.Steps {
		if p.ID == change.StepID {
			if n++; p.Level != change.RiskClass {
				return rule.No("g4", "step")
			}
		}
	}
	return rule.Unless(n == 1, "g4", "step")
}

// rate checks what bounds a target and all targets. The transaction counts.
func (s *submission) rate() *rule.Miss {
	return s.f.View(func(v *store.View) (*rule.Miss, error) {
		err := v.MayPrepare(s.request.TargetIdentity)
		switch rule.Reasoned(err, "") {
		case "reserved", "cooldown", "rate_prepared", "rate_sends":
			return rule.Failed("g5b", "rate", err), nil
		}
		return nil, err
	})
}

// expected rebuilds the change from the stored request, not from the file.
func (s *submission) expected() *rule.Expected {
	print, err := s.preview.Intent.Target.Fingerprint()
	if err != nil {
		print = "" // no alias has it
	}
	return &rule.Expected{
		Facts: s.f, RequestID: s.request.RequestID, Appliance: s.preview.Intent.Appliance, Name: s.name, Text: s.text,
		Fingerprint: print, Execution: s.a.ExecutionIntent, Locator: s.stored.Locator,
	}
}
