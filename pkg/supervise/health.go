package supervise

import (
	"context"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/supervise/internal/process"
)

// pollEvery is how often a socket that is not there yet is looked for.
const pollEvery = 10 * time.Millisecond

// waitHealthy waits until every socket of a daemon answers SERVING.
func (s *suite) waitHealthy(ctx context.Context, d daemonRow, p *process.Process, stderr *process.Tail) error {
	for _, name := range d.sockets {
		path := s.layout.socket(name)
		if err := s.waitFile(ctx, path, p, stderr); err != nil {
			return err
		}
		conn, err := rpc.Dial(path, d.name)
		if err != nil {
			return err
		}
		err = waitServing(ctx, conn, p)
		_ = conn.Close() // nothing was written that a failed close could lose
		if err != nil {
			select {
			case <-p.Ended():
				return process.NotStarted(p, stderr, s.say)
			default:
			}
			return errs.Wrap(err, errs.Expired, d.name+" did not become healthy").
				WithNext("its log is in " + s.layout.root + "/log")
		}
	}
	if d.name == "mcpd" {
		return s.waitFile(ctx, s.layout.socket("mcp"), p, stderr)
	}
	return nil
}

// waitFile waits until the socket's path exists.
func (s *suite) waitFile(ctx context.Context, path string, p *process.Process, stderr *process.Tail) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		select {
		case <-p.Ended():
			return process.NotStarted(p, stderr, s.say)
		case <-ctx.Done():
			return errs.New(errs.Expired, p.Name+" did not open its socket").
				WithNext("its log is in " + s.layout.root + "/log")
		case <-tick.C:
		}
	}
}

// waitServing asks one socket's health until it is SERVING.
func waitServing(ctx context.Context, conn *grpc.ClientConn, p *process.Process) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	client := grpc_health_v1.NewHealthClient(conn)
	for {
		rctx, cancel := context.WithTimeout(ctx, time.Second)
		r, err := client.Check(rctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
		cancel()
		if err == nil && r.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return nil
		}
		select {
		case <-p.Ended():
			return errs.New(errs.Unavailable, p.Name+" ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
