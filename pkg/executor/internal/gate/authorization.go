package gate

import (
	"context"
	"errors"
	"slices"

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
func Authorization(ctx context.Context, w World, file []byte) (*Authorized, *Denied) {
	s := &submission{f: &facts{ctx: ctx, world: w}, file: file}
	if m := run(s.f, s, authorizationGates()); m != nil {
		return nil, deny(m, s.requestID(), "")
	}
	return &Authorized{
		File: file, Artifact: s.a, Preview: s.preview, PreviewSeq: s.stored.Seq, Locator: s.stored.Locator, Collection: s.f.found.value.Collection,
	}, nil
}

// submission is an authorization on its way through the gates.
type submission struct {
	f       *facts
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
func authorizationGates() []row[*submission] {
	return slices.Concat(
		[]row[*submission]{
			{"g1 size", 0, func(s *submission) *miss {
				return unless(len(s.file) > 0 && len(s.file) <= artifact.MaxSigned, "g1", "size")
			}},
			{"g1 form", 0, (*submission).form},
			{"g1 quarantine", process, func(s *submission) *miss { return s.f.awake("g1") }},
			{"g1 request and preview", records, (*submission).find},
			{"g2 signature", process, func(s *submission) *miss { return s.f.signedBy("g2", s.a) }},
			{"g3 clock and floor", records, func(s *submission) *miss { return s.f.fresh("g3", s.a.IssuedAt) }},
			{"g3 currency", process | records, (*submission).current},
			{"g4 plan", 0, func(s *submission) *miss {
				d, err := s.preview.Plan.Digest()
				return unless(err == nil && same(s.a.PlanDigest, s.stored.Plan) && same(s.a.PlanDigest, d), "g4", "plan")
			}},
			{"g4 step", 0, (*submission).step},
			{"g4 intent", 0, func(s *submission) *miss {
				d, err := s.preview.Intent.ExecutionDigest()
				return unless(err == nil && same(s.a.ExecutionIntent, s.stored.ExecutionIntent) && same(s.a.ExecutionIntent, d), "g4", "intent")
			}},
			{"g4 evidence", 0, func(s *submission) *miss {
				return unless(s.a.Evidence.Equal(&s.preview.Plan.Evidence), "g4", "evidence")
			}},
			{"g4 age", 0, func(s *submission) *miss {
				// An authorization for a former preview with the same digests is not
				// one for this preview.
				return unless(!s.a.IssuedAt.Before(s.stored.GeneratedAt.Add(-ahead)), "g4", "age")
			}},
		},
		postureGates("g5a", func(s *submission) (*facts, string) { return s.f, s.a.PlanDigest }),
		[]row[*submission]{{"g5b rate", records, (*submission).rate}},
		targetGates("g5b", (*submission).expected),
	)
}

// form reads the file. A former or later schema has its own word: it is what a former
// or later signer writes.
func (s *submission) form() *miss {
	a, err := artifact.ParseAuthorization(s.file)
	if err == nil {
		s.a = a
		return nil
	}
	if fault, ok := errors.AsType[*artifact.Fault](err); ok && fault.Member == "schema_version" {
		return no("g1", "version")
	}
	return no("g1", "form")
}

// find looks up the open request that the file names, and its preview.
func (s *submission) find() *miss {
	return s.f.view(func(v *store.View) (*miss, error) {
		r, err := v.Request(s.a.RequestID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return no("g1", "request"), nil
		case err != nil:
			return nil, err
		case r.Status != record.Open || !v.Now().Wall.Before(r.ExpiresAt):
			return no("g1", "request"), nil
		}
		preview, _, stored, err := v.Preview(r.RequestID)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			return no("g1", "preview"), nil
		case err != nil:
			return nil, err
		case stored.Seq != r.PreviewSeq || preview.RequestID != r.RequestID:
			return no("g1", "preview"), nil
		}
		s.request, s.stored, s.preview = r, stored, preview
		s.name, s.text, err = v.Text(r)
		return nil, err
	})
}

func (s *submission) current() *miss {
	t, m := s.f.time()
	most := s.f.world.Policy().AuthorizationMax
	switch {
	case m != nil:
		return m
	case s.a.IssuedAt.After(t.now.Add(ahead)):
		return no("g3", "not_yet")
	case !t.now.Before(s.a.ExpiresAt):
		return no("g3", "expired")
	case most > 0 && s.a.ExpiresAt.Sub(s.a.IssuedAt) > most:
		return no("g3", "lifetime")
	}
	return nil
}

// step finds the deciding step in the stored plan, once and at the level that an owner
// decides. The file names no other.
func (s *submission) step() *miss {
	n := 0
	for _, p := range s.preview.Plan.Steps {
		if p.ID == change.StepID {
			if n++; p.Level != change.RiskClass {
				return no("g4", "step")
			}
		}
	}
	return unless(n == 1, "g4", "step")
}

// rate checks what bounds a target and all targets. The transaction counts.
func (s *submission) rate() *miss {
	return s.f.view(func(v *store.View) (*miss, error) {
		err := v.MayPrepare(s.request.TargetIdentity)
		switch Reasoned(err, "") {
		case "reserved", "cooldown", "rate_prepared", "rate_sends":
			return failed("g5b", "rate", err), nil
		}
		return nil, err
	})
}

// expected rebuilds the change from the stored request, not from the file.
func (s *submission) expected() *expected {
	print, err := s.preview.Intent.Target.Fingerprint()
	if err != nil {
		print = "" // no alias has it
	}
	return &expected{
		f: s.f, requestID: s.request.RequestID, appliance: s.preview.Intent.Appliance, name: s.name, text: s.text,
		fingerprint: print, execution: s.a.ExecutionIntent, locator: s.stored.Locator,
	}
}
