package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/rpc/internal/codec"
)

// requestHeader carries the request id between our daemons.
const requestHeader = "pfsense-mcp-request"

type unaryHandler = func(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error)

// unary puts a unary handler inside a call. row is nil when the method has none.
func (s *Server) unary(row *row, next unaryHandler) unaryHandler {
	return func(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var reply any
		err := s.call(ctx, row, func(ctx context.Context) error {
			var err error
			reply, err = next(srv, ctx, func(v any) error { return s.receive(row, dec, v) }, nil)
			if err != nil {
				return err
			}
			return sendable(reply)
		})
		if err != nil {
			return nil, err
		}
		return reply, nil
	}
}

// stream puts a stream handler inside a call.
func (s *Server) stream(row *row, next grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, ss grpc.ServerStream) error {
		return s.call(ss.Context(), row, func(ctx context.Context) error {
			return next(srv, &serverStream{ServerStream: ss, ctx: ctx, server: s, row: row})
		})
	}
}

type serverStream struct {
	grpc.ServerStream
	ctx    context.Context
	server *Server
	row    *row
}

func (s *serverStream) Context() context.Context { return s.ctx }

func (s *serverStream) RecvMsg(m any) error {
	return s.server.receive(s.row, s.ServerStream.RecvMsg, m)
}

func (s *serverStream) SendMsg(m any) error {
	if err := sendable(m); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// receive decodes the next request into v within the bound of its row.
func (s *Server) receive(row *row, next func(any) error, v any) error {
	b := codec.Bounded{Msg: v, Max: row.MaxRequest, Strict: s.strict}
	if err := next(&b); err != nil {
		if err == io.EOF { // a client stream's end
			return err
		}
		return errs.Wrap(err, errs.CodeOf(errs.FromStatus(err)), "the request could not be received")
	}
	return b.Fault
}

// sendable refuses an answer that the peer could not take: the handler is at
// fault, and this way our log says so.
func sendable(reply any) error {
	if m, ok := reply.(proto.Message); ok && proto.Size(m) > MaxMessage {
		return errs.Newf(errs.Internal, "the answer is larger than %d bytes", MaxMessage)
	}
	return nil
}

// unknown answers every method that no service has.
func (s *Server) unknown(_ any, ss grpc.ServerStream) error {
	return s.call(ss.Context(), nil, nil)
}

// call runs one call: admits it, bounds it, catches its panic, logs it once and
// turns its error into what may leave the process.
func (s *Server) call(ctx context.Context, row *row, run func(context.Context) error) error {
	start := time.Now()
	p, known := PeerFrom(ctx)
	ctx = WithRequestID(ctx, incomingID(ctx))
	method := "unknown" // a name that no row has is the peer's text
	if row != nil {
		method = row.Full
	}
	log := s.log.With(logging.KeyRequestID, RequestID(ctx), logging.KeyMethod, method, logging.KeyCallerUID, p.UID)

	err := s.gate(ctx, row, p, known)
	admitted := err == nil
	if admitted {
		err = s.run(WithLogger(ctx, log), row, run)
		if row.Once {
			row.once.Unlock()
		}
	}
	s.finish(ctx, log, method, admitted, time.Since(start), err)
	return errs.ToStatus(err)
}

// gate says why a call may not run, nil when it may; then the caller holds
// row.once when the row asks for it.
func (s *Server) gate(ctx context.Context, row *row, p Peer, known bool) error {
	switch {
	case row == nil:
		return errs.New(errs.Denied, "there is no such method here").WithNext("compare the versions of both programs: mcpctl status")
	case !known || Impossible(p.UID) || s.roles[p.UID]&row.Callers == 0:
		return errs.New(errs.Denied, "this user may not call this method").
			WithNext("the settings operators and mcpd_user say who may")
	}
	if _, ok := ctx.Deadline(); !ok {
		return errs.New(errs.Invalid, "the call has no deadline")
	}
	if row.Once && !row.once.TryLock() {
		return errs.New(errs.Conflict, "this is running already").WithNext("wait until it has ended")
	}
	return nil
}

// run calls the handler within the row's duration. A panic becomes an error;
// its stack stays in our log.
func (s *Server) run(ctx context.Context, row *row, run func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, row.MaxDuration)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			Logger(ctx).LogAttrs(ctx, slog.LevelError, "call panicked",
				slog.String(logging.KeyError, panicText(v)), slog.String(logging.KeyDetail, logging.Panicked()))
			err = errs.New(errs.Internal, "internal error").
				WithNext("the daemon's log has the details under this request id")
		}
	}()
	err = run(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	// A handler that was cut off often returns the bare reason.
	if _, coded := errors.AsType[*errs.Error](err); coded {
		return err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return errs.Wrap(err, errs.Expired, "the call took longer than its deadline")
	}
	return errs.Wrap(err, errs.Expired, "the caller went away")
}

// panicText describes a panic's value without quoting what may be an outsider's
// text: the runtime's own errors hold numbers and types alone.
func panicText(v any) string {
	if e, ok := v.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("panic with a %T", v)
}

// finish counts and logs a call. Health and status are asked for all the time
// and stay out of the log while they go well.
func (s *Server) finish(ctx context.Context, log *slog.Logger, method string, admitted bool, took time.Duration, err error) {
	outcome, code, level := "succeeded", "ok", slog.LevelInfo
	attrs := []slog.Attr{slog.Int64(logging.KeyDurationMS, took.Milliseconds())}
	switch {
	case err == nil && slices.Contains(nodeNames, method):
		level = slog.LevelDebug
	case err != nil:
		outcome, level = "failed", slog.LevelWarn
		if code = errs.CodeOf(err).String(); errs.CodeOf(err) == errs.Internal {
			level = slog.LevelError
		}
		attrs = append(attrs, logging.Err(err))
	}
	s.meter.call(method, code, took)
	if !admitted {
		outcome = "refused"
		dropped, say := s.refused.Next(time.Now())
		if !say {
			return
		}
		attrs = append(attrs, slog.Int(logging.KeyCount, 1+dropped)) // this one and those that no line told of
	}
	log.LogAttrs(ctx, level, "call", append(attrs, slog.String(logging.KeyOutcome, outcome))...)
}

// incomingID returns the request id that the peer sent, "" when it sent none.
func incomingID(ctx context.Context) string {
	if v := metadata.ValueFromIncomingContext(ctx, requestHeader); len(v) == 1 {
		return v[0]
	}
	return ""
}
