package suite

import (
	"context"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Attested gets a file that executord attests and keeps it in out, once read has taken
// it for what it must be: what is is that, for the error of a file which is none.
func (c *Call) Attested(ctx context.Context, out *carry.Output, what string,
	get func(context.Context, executorpb.AdminClient) (*executorpb.ArtifactResponse, error), read func([]byte) error,
) ([]byte, error) {
	var r *executorpb.ArtifactResponse
	err := c.Ask(ctx, Slow, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = get(ctx, x)
		return err
	})
	if err != nil {
		return nil, err
	}
	file := r.GetArtifact()
	if err := read(file); err != nil {
		return nil, errs.Wrap(err, errs.Internal, "executord's file is not "+what+", so it was not written").WithClass(cli.ClassIntegrity).
			WithNext("mcpctl and executord may be of different versions: mcpctl status; otherwise do not trust this executord")
	}
	return file, out.Save(file)
}
