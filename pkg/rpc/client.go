package rpc

import (
	"context"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc/internal/sock"
)

// authority is the fixed name under which every daemon is called: there is
// nothing to choose by name on a Unix socket.
const authority = "pfsense-mcp"

// A daemon that was restarted is found again within a second. One whose socket takes
// a connection may be slow to speak, on a busy host or while systemd still starts
// it: how long a call waits for that is its own deadline's to say, and the
// connection is given up on only long after.
const (
	firstRetry     = 50 * time.Millisecond
	lastRetry      = time.Second
	connectPatient = 30 * time.Second
)

// Option changes how Dial calls.
type Option func(*client)

// Next replaces the next step in the error of a daemon that cannot be reached.
func Next(step string) Option { return func(c *client) { c.next = step } }

// Through makes the connection with dial instead of the path: for rpctest.
func Through(dial func(context.Context) (net.Conn, error)) Option {
	return func(c *client) { c.dialer.through = dial }
}

// Dial returns a connection to daemon ("guidanced") on the socket at path. It
// connects on the first call and again whenever the daemon comes back. Every
// call needs a deadline; its error is an *errs.Error that names the daemon when
// the daemon could not be asked. Calls carry the request id of their context, a
// fresh one when it has none, and are never repeated.
func Dial(path, daemon string, options ...Option) (*grpc.ClientConn, error) {
	if err := sock.CheckPath(path); err != nil {
		return nil, err
	}
	c := &client{
		daemon: daemon,
		next:   "systemctl start pfsense-" + daemon + ", or see mcpctl status",
		dialer: dialer{path: path},
	}
	for _, o := range options {
		o(c)
	}
	conn, err := grpc.NewClient("passthrough:///"+daemon,
		grpc.WithContextDialer(c.dialer.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority(authority),
		grpc.WithNoProxy(),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstRetry, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastRetry},
			MinConnectTimeout: connectPatient,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessage),
			grpc.MaxCallSendMsgSize(MaxMessage),
		),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithUnaryInterceptor(c.unary),
		grpc.WithStreamInterceptor(c.stream),
	)
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "the connection to "+daemon+" cannot be made")
	}
	return conn, nil
}

// client is what a connection knows about the daemon behind it.
type client struct {
	daemon string
	next   string
	dialer dialer
}

func (c *client) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, err := c.outgoing(ctx)
	if err != nil {
		return err
	}
	return c.translate(invoke(ctx, method, req, reply, cc, opts...))
}

func (c *client) stream(ctx context.Context, sd *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, err := c.outgoing(ctx)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, sd, cc, method, opts...)
	if err != nil {
		return nil, c.translate(err)
	}
	return &clientStream{ClientStream: s, client: c}, nil
}

type clientStream struct {
	grpc.ClientStream
	client *client
}

func (s *clientStream) RecvMsg(m any) error { return s.client.translate(s.ClientStream.RecvMsg(m)) }
func (s *clientStream) SendMsg(m any) error { return s.client.translate(s.ClientStream.SendMsg(m)) }

// outgoing refuses a call without a deadline and puts the request id on it.
func (c *client) outgoing(ctx context.Context) (context.Context, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errs.New(errs.Internal, "a call to "+c.daemon+" has no deadline")
	}
	id := RequestID(ctx)
	if id == "" {
		id = NewRequestID()
	}
	return metadata.AppendToOutgoingContext(ctx, requestHeader, id), nil
}

// translate turns the error of a call into one of ours. What the daemon said
// stays as it is; what the library said becomes our words, naming the daemon.
func (c *client) translate(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	e := errs.Public(errs.FromStatus(err))
	if !foreign(e, err) {
		return e
	}
	switch e.Code {
	case errs.Unavailable:
		return c.unreachable(err)
	case errs.Expired:
		return errs.Wrap(err, errs.Expired, c.daemon+" did not answer in time").WithClass("service").
			WithNext("see the log of " + c.daemon + "; when it stays silent: systemctl restart pfsense-" + c.daemon)
	case errs.Exhausted:
		return errs.Wrap(err, errs.Exhausted, "a message to or from "+c.daemon+" is too large").WithClass("service")
	case errs.Denied:
		return errs.Wrap(err, errs.Denied, c.daemon+" refused the call").WithClass("service").
			WithNext("see the log of " + c.daemon)
	}
	return errs.Wrap(err, e.Code, c.daemon+" failed").WithClass("service").
		WithNext("see the log of " + c.daemon)
}

// foreign says whether e, made of err, is what errs makes of a status that it
// did not write itself.
func foreign(e *errs.Error, err error) bool {
	bare := errs.Public(errs.FromStatus(status.Error(status.Code(err), "")))
	return e.Class == "" && e.Next == "" && e.Msg == bare.Msg
}

func (c *client) unreachable(err error) error {
	switch c.dialer.why() {
	case mayNot:
		return errs.Wrap(err, errs.Denied, "this user may not use the socket of "+c.daemon).WithClass("service").
			WithNext("the group of the socket's directory says who may")
	case closedUnread:
		return errs.Wrap(err, errs.Unavailable, c.daemon+" closed the connection without a word").WithClass("service").
			WithNext("see whether it starts: journalctl -u pfsense-" + c.daemon + "; if it serves, it does not admit this user: see operators and mcpd_user in its settings")
	}
	return errs.Wrap(err, errs.Unavailable, c.daemon+" is not reachable").WithClass("service").WithNext(c.next)
}
