package ceremony

import (
	"context"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/papers"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Pins returns the entry that off-host signers pin, for people to compare.
func (c *Ceremony) Pins(ctx context.Context) ([]byte, error) {
	return step(ctx, c, func(ctx context.Context) ([]byte, error) { return papers.Pins(ctx, c.Keeper) })
}

// Provision takes one step of provisioning the counter.
func (c *Ceremony) Provision(ctx context.Context, by record.Actor, handle uint32, expected anchor.State) (AnchorState, error) {
	return step(ctx, c, func(ctx context.Context) (AnchorState, error) { return c.Keeper.Provision(ctx, by, handle, expected) })
}

// Seed founds the store on the counter, or goes on where that was interrupted.
func (c *Ceremony) Seed(ctx context.Context, by record.Actor, value int64, handle uint32) (AnchorState, error) {
	return step(ctx, c, func(ctx context.Context) (AnchorState, error) { return c.Keeper.Seed(ctx, by, value, handle) })
}

// Rotate replaces the root key by the next one that the settings give.
func (c *Ceremony) Rotate(ctx context.Context, by record.Actor) (epoch int64, keyID string, rows int64, err error) {
	rows, err = step(ctx, c, func(ctx context.Context) (int64, error) {
		s, err := c.Ready(ctx)
		if err != nil {
			return 0, err
		}
		if c.Next == nil {
			return 0, errs.New(errs.Unavailable, "there is no next root key").WithClass("configuration").
				WithNext("give it as credentials.next_root_key and start executord again, then rotate")
		}
		return s.Rotate(*c.Next, by)
	})
	if err != nil {
		return 0, "", 0, err
	}
	return c.Next.Epoch, c.Next.ID, rows, nil
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
