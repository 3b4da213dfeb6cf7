// Package admintest owns a pretend executord for the tests of mcpctl: the operators'
// service on a real Unix socket, whose answers the test writes. Tests alone import it.
package admintest

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Admin answers each call as the test says. It is safe for concurrent use.
type Admin struct {
	Dir string // the suite's directory, for --dir

	mu      sync.Mutex
	answers map[string]func(context.Context, proto.Message) (proto.Message, error)
	streams map[string][]*executorpb.FileChunk
	seen    []Call
}

// Call is one call that was made.
type Call struct {
	Method  string
	Request proto.Message
}

// New serves an executord whose calls all fail until the test says otherwise.
func New(t testing.TB) *Admin {
	t.Helper()
	dir, err := os.MkdirTemp("", "xd") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := &Admin{Dir: dir, answers: map[string]func(context.Context, proto.Message) (proto.Message, error){}, streams: map[string][]*executorpb.FileChunk{}}
	a.serve(t)
	return a
}

// serve starts a server on the socket, until the test ends.
func (a *Admin) serve(t testing.TB) {
	t.Helper()
	desc := executorpb.Admin_ServiceDesc
	desc.HandlerType = (*any)(nil)
	desc.Methods, desc.Streams = nil, nil
	var rows []rpc.Method
	row := func(name string) {
		rows = append(rows, rpc.Method{Full: "/" + desc.ServiceName + "/" + name, Callers: rpc.Operators, MaxRequest: 64 << 10, MaxDuration: rpcMost})
	}
	for _, m := range executorpb.Admin_ServiceDesc.Methods {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: m.MethodName, Handler: a.unary(m.MethodName)})
		row(m.MethodName)
	}
	for _, s := range executorpb.Admin_ServiceDesc.Streams {
		desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: s.StreamName, ServerStreams: true, Handler: a.stream(s.StreamName)})
		row(s.StreamName)
	}
	s, err := rpc.NewServer(rpc.Config{
		Name: "exec-admin", Node: rpctest.Node("executord"), Methods: rows, Log: rpctest.Log(t), Strict: true,
		Callers: map[rpc.Role][]uint32{rpc.Operators: {uint32(os.Geteuid())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.RegisterService(&desc, a)
	l, err := rpc.Listen(filepath.Join(a.Dir, "exec-admin", "exec-admin.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the pretend executord: %v", err)
		}
	})
}

// rpcMost is the longest that a call may take here.
const rpcMost = 15 * time.Minute

// On makes a call answer with f.
func (a *Admin) On(method string, f func(context.Context, proto.Message) (proto.Message, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[method] = f
}

// Answer makes a call answer with the messages in turn, the last one for ever.
func (a *Admin) Answer(method string, list ...proto.Message) {
	n := 0
	a.On(method, func(context.Context, proto.Message) (proto.Message, error) {
		m := list[min(n, len(list)-1)]
		n++
		return m, nil
	})
}

// Fail makes a call or stream fail.
func (a *Admin) Fail(method string, err error) {
	a.On(method, func(context.Context, proto.Message) (proto.Message, error) { return nil, err })
}

// Send makes a stream send the parts.
func (a *Admin) Send(method string, parts ...*executorpb.FileChunk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams[method] = parts
}

// Parts cuts a file into the parts of a sound stream.
func Parts(b []byte, size int) []*executorpb.FileChunk {
	sum := sha256.Sum256(b)
	var parts []*executorpb.FileChunk
	for rest := b; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		parts = append(parts, &executorpb.FileChunk{Data: rest[:min(size, len(rest))]})
	}
	if len(parts) == 0 {
		parts = append(parts, &executorpb.FileChunk{})
	}
	last := parts[len(parts)-1]
	last.Last, last.Total, last.Sha256 = true, uint64(len(b)), sum[:]
	return parts
}

// Calls returns the names of the calls that were made, in order.
func (a *Admin) Calls() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, c := range a.seen {
		names = append(names, c.Method)
	}
	return strings.Join(names, " ")
}

// Last returns the last request of a call, nil when there was none.
func (a *Admin) Last(method string) proto.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.seen) - 1; i >= 0; i-- {
		if a.seen[i].Method == method {
			return a.seen[i].Request
		}
	}
	return nil
}

// request reads a call's request and remembers it.
func (a *Admin) request(method string, read func(any) error) (proto.Message, error) {
	md := executorpb.File_proto_executor_v1_executor_proto.Services().ByName("Admin").Methods().ByName(protoreflect.Name(method))
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.Input().FullName())
	if err != nil {
		return nil, err
	}
	m := mt.New().Interface()
	if err := read(m); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, Call{method, m})
	return m, nil
}

func unscripted(method string) error {
	return errs.New(errs.Internal, "the test did not expect "+method)
}

func (a *Admin) unary(method string) grpc.MethodHandler {
	return func(_ any, ctx context.Context, dec func(any) error, wrap grpc.UnaryServerInterceptor) (any, error) {
		m, err := a.request(method, dec)
		if err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, _ any) (any, error) {
			a.mu.Lock()
			f := a.answers[method]
			a.mu.Unlock()
			if f == nil {
				return nil, unscripted(method)
			}
			return f(ctx, m)
		}
		if wrap == nil {
			return handle(ctx, m)
		}
		return wrap(ctx, m, &grpc.UnaryServerInfo{Server: a, FullMethod: "/" + executorpb.Admin_ServiceDesc.ServiceName + "/" + method}, handle)
	}
}

func (a *Admin) stream(method string) grpc.StreamHandler {
	return func(_ any, s grpc.ServerStream) error {
		if _, err := a.request(method, s.RecvMsg); err != nil {
			return err
		}
		a.mu.Lock()
		parts, ok := a.streams[method]
		fail := a.answers[method]
		a.mu.Unlock()
		if fail != nil {
			_, err := fail(s.Context(), nil)
			return err
		}
		if !ok {
			return unscripted(method)
		}
		for _, p := range parts {
			if err := s.SendMsg(p); err != nil {
				return err
			}
		}
		return nil
	}
}
