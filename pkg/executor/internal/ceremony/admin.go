package ceremony

import (
	"context"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/papers"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Pins returns the entry that off-host signers pin, for people to compare.
func (c *Ceremony) Pins(ctx context.Context) (file []byte, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		file, err = papers.Pins(ctx, c.Keeper)
		return err
	})
	return file, err
}

// Provision takes one step of provisioning the counter.
func (c *Ceremony) Provision(ctx context.Context, by record.Actor, handle uint32, expected anchor.State) (st AnchorState, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		st, err = c.Keeper.Provision(ctx, by, handle, expected)
		return err
	})
	return st, err
}

// Seed founds the store on the counter, or goes on where that was interrupted.
func (c *Ceremony) Seed(ctx context.Context, by record.Actor, value int64, handle uint32) (st AnchorState, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		st, err = c.Keeper.Seed(ctx, by, value, handle)
		return err
	})
	return st, err
}

// Rotate replaces the root key by the next one that the settings give.
func (c *Ceremony) Rotate(ctx context.Context, by record.Actor) (epoch int64, keyID string, rows int64, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		s, err := c.Ready(ctx)
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
	if !c.asked.Take(c.Store.Clock.Read().BootMS, 0, challenges, challenges) {
		return [32]byte{}, errs.New(errs.Exhausted, "too many key challenges within a minute").WithClass("rate_minute").WithNext("ask again in a minute")
	}
	return c.Config.Challenge(challenge), nil
}
