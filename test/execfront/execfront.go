// Package execfront is a pretend Front of executord: it reports and answers what
// a test tells it, over a real socket with the real admission, and remembers
// what it was asked. It holds no key, no store and no appliance.
//
// Only tests import it.
package execfront

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/executor/v1"
)

// Front is the pretend service. Its zero value says that no tool can be offered,
// as an executord without a write configuration does. It is safe for concurrent
// use.
type Front struct {
	executorpb.UnsafeFrontServer

	mu     sync.Mutex
	status *executorpb.GetWriteStatusResponse
	answer func(*executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error)
	hang   chan struct{} // closed when the service shall go on
	looks  int
	asked  []*executorpb.RequestAliasDescriptionRequest
	files  []*executorpb.SubmitArtifactRequest
	stop   func()
}

// Ready is what an executord reports that can make the one change.
func Ready() *executorpb.GetWriteStatusResponse {
	w := catalog.Writes()[0]
	return &executorpb.GetWriteStatusResponse{
		Constructible: true, Unit: w.Tool, EndpointSymbol: w.Symbol, HttpMethod: w.Method, Schema: w.Schema,
	}
}

// Report sets what GetWriteStatus answers; nil is an executord with write off.
func (f *Front) Report(r *executorpb.GetWriteStatusResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = r
}

// Say makes every request answered with this state.
func (f *Front) Say(s executorpb.WriteState) {
	f.Answer(func(*executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) { return s, nil })
}

// Answer sets what answers requests.
func (f *Front) Answer(a func(*executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = a
}

// Hang makes the service accept calls and say nothing, until goOn.
func (f *Front) Hang() (goOn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan struct{})
	f.hang = ch
	return sync.OnceFunc(func() { close(ch) })
}

// Looks returns how often GetWriteStatus was called.
func (f *Front) Looks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks
}

// Asked returns the requests, in their order.
func (f *Front) Asked() []*executorpb.RequestAliasDescriptionRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// Files returns what SubmitArtifact was given, in its order.
func (f *Front) Files() []*executorpb.SubmitArtifactRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.files)
}

// wait is what every call goes through.
func (f *Front) wait(ctx context.Context) error {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang == nil {
		return nil
	}
	select {
	case <-hang:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// GetWriteStatus implements executor.v1.Front.
func (f *Front) GetWriteStatus(ctx context.Context, _ *executorpb.GetWriteStatusRequest) (*executorpb.GetWriteStatusResponse, error) {
	f.mu.Lock()
	f.looks++ // those that hang too
	f.mu.Unlock()
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status == nil {
		return &executorpb.GetWriteStatusResponse{}, nil
	}
	return proto.CloneOf(f.status), nil
}

// RequestAliasDescription implements executor.v1.Front.
func (f *Front) RequestAliasDescription(ctx context.Context, r *executorpb.RequestAliasDescriptionRequest) (*executorpb.RequestAliasDescriptionResponse, error) {
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, proto.CloneOf(r))
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return &executorpb.RequestAliasDescriptionResponse{State: executorpb.WriteState_WRITE_STATE_REFUSED}, nil
	}
	s, err := answer(r)
	if err != nil {
		return nil, err
	}
	return &executorpb.RequestAliasDescriptionResponse{State: s}, nil
}

// SubmitArtifact implements executor.v1.Front.
func (f *Front) SubmitArtifact(ctx context.Context, r *executorpb.SubmitArtifactRequest) (*executorpb.SubmitArtifactResponse, error) {
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, proto.CloneOf(r))
	return &executorpb.SubmitArtifactResponse{Received: true}, nil
}

// Start serves the Front on a socket to the given uids, as executord would to
// mcpd's. The directory must be there. It ends with Stop, or with the test.
func (f *Front) Start(t testing.TB, socket string, uids ...uint32) {
	t.Helper()
	// Not by rpc.Listen: the directory is another user's when the suite runs as root.
	l, err := net.Listen("unix", socket)
	if err == nil {
		err = os.Chmod(socket, 0o660)
	}
	if err != nil {
		t.Fatal(err)
	}
	row := func(full string, bytes int) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: bytes, MaxDuration: 10 * time.Minute}
	}
	node := rpc.NewNode(rpc.NodeConfig{Name: "executord", Version: "pretend", BuildID: "sha256:00", StartedAt: time.Unix(1, 0)})
	node.SetServing(true)
	s, err := rpc.NewServer(rpc.Config{
		Name: filepath.Base(filepath.Dir(socket)), Node: node, Log: slog.New(slog.DiscardHandler), Strict: true,
		Methods: []rpc.Method{
			row(executorpb.Front_GetWriteStatus_FullMethodName, 0),
			row(executorpb.Front_RequestAliasDescription_FullMethodName, 8<<10),
			row(executorpb.Front_SubmitArtifact_FullMethodName, 17<<10),
		},
		Callers: map[rpc.Role][]uint32{rpc.Mcpd: uids},
	})
	if err != nil {
		t.Fatal(err)
	}
	executorpb.RegisterFrontServer(s, f)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	f.mu.Lock()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && errs.CodeOf(err) != errs.Expired {
			t.Error(err)
		}
		_ = os.Remove(socket)
	})
	f.mu.Unlock()
	t.Cleanup(f.Stop)
}

// Beside starts the Front in the place of a suite's executord; dir is the suite's,
// and mcpd has not begun yet, or its executord has ended.
func (f *Front) Beside(t testing.TB, dir string) {
	t.Helper()
	own, err := os.Stat(filepath.Join(dir, "mcpd.toml")) // it belongs to whom mcpd runs as
	if err != nil {
		t.Fatal(err)
	}
	st, ok := own.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner")
	}
	socket := filepath.Join(dir, "exec", "exec.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	f.Start(t, socket, st.Uid)
}

// Stop ends the service, as the end of executord would; Start begins it again.
func (f *Front) Stop() {
	f.mu.Lock()
	stop := f.stop
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}
