package ceremony

import (
	"context"
	"io"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Discover reports the evidence of both axes. It reads the store and the counter and
// changes nothing.
func (c *Ceremony) Discover(ctx context.Context) Discovery { return c.discover(ctx) }

func (c *Ceremony) discover(ctx context.Context) Discovery {
	ev, facts, witness := c.evidence(ctx)
	d := Discovery{
		Status: c.Status(), Evidence: ev, Facts: facts, Witness: witness, Executor: c.executor(), AttestationID: c.Attestation.KeyID, Account: c.Account,
		StoreExists: c.store.Load() != nil, Complete: c.complete.Load(), Endpoints: len(exchange.Allowed()),
	}
	d.Seeded = d.StoreExists
	_ = c.View(func(v *store.View) error { // without a store nothing is unfinished
		all, err := v.Active()
		d.Status.Unfinished = len(all)
		return err
	})
	return d
}

// Plan analyses the way to a posture. It is analysis, never permission.
func (c *Ceremony) Plan(ctx context.Context, capability, assurance string) (change.Plan, []posture.Explained, posture.Transitions, error) {
	ev, _, _ := c.evidence(ctx)
	return posture.Analyse(ev, capability, assurance, c.executor())
}

// Pins returns the entry that off-host signers pin, for people to compare.
func (c *Ceremony) Pins(ctx context.Context) (file []byte, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		if _, err := c.open(); err != nil {
			return err
		}
		if err := c.meet(ctx); err != nil {
			return err
		}
		x := c.executor()
		p := authority.Pins{Executors: []authority.Pin{{
			Name: c.Store.StoreID, StoreID: x.StoreID, NVIndexName: x.NVIndexName, ApplianceTarget: x.ApplianceTarget, BuildID: x.BuildID,
			Attestation: c.attestation(), Authorities: *c.Authorities,
		}}}
		if file, err = p.Encode(); err != nil {
			return errs.Wrap(err, errs.Internal, "the pins cannot be written").WithClass("configuration")
		}
		return nil
	})
	return file, err
}

// Verify verifies the whole store as it is now.
func (c *Ceremony) Verify(_ context.Context, pinned string) (store.Report, error) {
	if pinned != "" && !validPin(pinned) {
		return store.Report{}, errs.New(errs.Invalid, "a pinned head is 64 hex digits").WithClass("request_validation")
	}
	s, err := c.open()
	if err != nil {
		return store.Report{}, err
	}
	return s.Verify(pinned)
}

// Export writes the audit rows from since on, and the attested head.
func (c *Ceremony) Export(w io.Writer, since int64) error {
	s, err := c.open()
	if err != nil {
		return err
	}
	_, err = s.Export(w, since, func(h *artifact.ExportHead) ([]byte, error) {
		h.KeyID = c.Attestation.KeyID
		return c.sign(h)
	})
	c.wrote(err)
	return err
}

// Backup writes a copy of the store, which is not restorable without a rebaseline.
func (c *Ceremony) Backup(w io.Writer) error {
	s, err := c.open()
	if err != nil {
		return err
	}
	return s.Backup(w)
}

// Rotate replaces the root key by the next one that the settings give.
func (c *Ceremony) Rotate(ctx context.Context, by record.Actor) (epoch int64, keyID string, rows int64, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		s, err := c.ready(ctx)
		if err != nil {
			return err
		}
		if c.Next == nil {
			return errs.New(errs.Unavailable, "there is no next root key").WithClass("configuration").
				WithNext("give it as credentials.next_root_key and start executord again, then rotate")
		}
		if rows, err = s.Rotate(*c.Next, by); err != nil {
			return err
		}
		epoch, keyID = c.Next.Epoch, c.Next.ID
		return nil
	})
	return epoch, keyID, rows, err
}

// challenges are the key challenges that are answered within a minute.
const challenges = 6

// Challenge answers a key challenge, so that mcpctl can see that this daemon's API key
// is not mcpd's. More would be an oracle.
func (c *Ceremony) Challenge(challenge [32]byte) ([32]byte, error) {
	now := c.Store.Clock.Read()
	at := time.UnixMilli(now.BootMS) // the clock that nobody sets
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []time.Time
	for _, t := range c.asked {
		if at.Sub(t) < time.Minute {
			kept = append(kept, t)
		}
	}
	if c.asked = kept; len(kept) >= challenges {
		return [32]byte{}, errs.New(errs.Exhausted, "too many key challenges within a minute").WithClass("rate_minute").WithNext("ask again in a minute")
	}
	c.asked = append(c.asked, at)
	return c.Config.Challenge(challenge), nil
}
