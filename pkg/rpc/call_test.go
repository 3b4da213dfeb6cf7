package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
	"pfsensemcp/proto/node/v1"
)

const (
	uidMcpd     = 501
	uidOperator = 502
	uidBoth     = 503
	uidStranger = 504
)

// service answers as each test says.
type service struct {
	guidancepb.UnsafeGuidanceServer
	docspb.UnsafeDocsAdminServer
	lookup   func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error)
	tool     func(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error)
	contract func(*docspb.ContractRequest, grpc.ServerStreamingServer[docspb.ContractChunk]) error
}

func (s *service) Lookup(ctx context.Context, r *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	return s.lookup(ctx, r)
}

func (s *service) ToolGuidance(ctx context.Context, r *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
	return s.tool(ctx, r)
}

func (s *service) Contract(r *docspb.ContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	return s.contract(r, out)
}

// table bounds the calls by times that no busy machine exceeds.
func table() []rpc.Method {
	return []rpc.Method{
		{Full: "/guidance.v1.Guidance/Lookup", Callers: rpc.Mcpd, MaxRequest: 256, MaxDuration: time.Minute},
		{Full: "/guidance.v1.Guidance/ToolGuidance", Callers: rpc.Mcpd | rpc.Operators, MaxRequest: 128, MaxDuration: time.Minute, Once: true},
		{Full: "/docs.v1.DocsAdmin/Contract", Callers: rpc.Operators, MaxRequest: 0, MaxDuration: time.Minute},
	}
}

// lines collects the JSON log lines of a server.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func config(log *lines) rpc.Config {
	return rpc.Config{
		Name:    "guidance",
		Node:    rpctest.Node("guidanced"),
		Methods: table(),
		Callers: map[rpc.Role][]uint32{rpc.Mcpd: {uidMcpd, uidBoth}, rpc.Operators: {uidOperator, uidBoth}},
		Log:     slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// serve starts s for a peer with the uid and returns the connection and the log.
func serve(t *testing.T, s *service, uid uint32, change ...func(*rpc.Config)) (*grpc.ClientConn, *lines) {
	t.Helper()
	log := &lines{}
	cfg := config(log)
	for _, c := range change {
		c(&cfg)
	}
	srv, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	guidancepb.RegisterGuidanceServer(srv, s)
	docspb.RegisterDocsAdminServer(srv, s)
	t.Cleanup(func() { knownKeysAlone(t, log) })
	return rpctest.Pipe(t, srv, rpc.Peer{UID: uid, GID: 9, PID: 77}), log
}

// knownKeysAlone fails on a log line with a key that logging does not list.
func knownKeysAlone(t *testing.T, log *lines) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		for key := range got {
			if key != slog.TimeKey && key != slog.LevelKey && key != slog.MessageKey && !logging.KnownKey(key) {
				t.Errorf("key %s in %s", key, line)
			}
		}
	}
}

// soon is there to end a call that hangs; no test waits for it.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func ok() *service {
	return &service{
		lookup: func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
			return &guidancepb.LookupResponse{Disclaimer: "fine"}, nil
		},
		tool: func(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
			return &guidancepb.ToolGuidanceResponse{}, nil
		},
		contract: func(_ *docspb.ContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
			return out.Send(&docspb.ContractChunk{Data: []byte("x")})
		},
	}
}

func lookup(ctx context.Context, cc *grpc.ClientConn) error {
	_, err := guidancepb.NewGuidanceClient(cc).Lookup(ctx, &guidancepb.LookupRequest{})
	return err
}

func contract(ctx context.Context, cc *grpc.ClientConn) error {
	st, err := docspb.NewDocsAdminClient(cc).Contract(ctx, &docspb.ContractRequest{})
	if err == nil {
		_, err = st.Recv()
	}
	return err
}

func wantCode(t *testing.T, err error, want errs.Code, text string) {
	t.Helper()
	if err == nil || errs.CodeOf(err) != want || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v %q, want %v with %q", errs.CodeOf(err), err, want, text)
	}
}

func TestEachUIDReachesItsMethodsAlone(t *testing.T) {
	for uid, may := range map[uint32][2]bool{
		uidMcpd:     {true, false},
		uidOperator: {false, true},
		uidBoth:     {true, true},
	} {
		cc, _ := serve(t, ok(), uid)
		for i, call := range []func(context.Context, *grpc.ClientConn) error{lookup, contract} {
			err := call(soon(t), cc)
			if may[i] && err != nil {
				t.Errorf("uid %d call %d: %v", uid, i, err)
			}
			if !may[i] {
				wantCode(t, err, errs.Denied, "may not call")
			}
		}
		if _, err := nodepb.NewNodeClient(cc).Status(soon(t), &nodepb.StatusRequest{}); err != nil {
			t.Errorf("uid %d may not ask the node: %v", uid, err)
		}
	}
}

func TestACallWithoutADeadlineIsRefusedOnBothSides(t *testing.T) {
	cc, _ := serve(t, ok(), uidMcpd)
	wantCode(t, lookup(context.Background(), cc), errs.Internal, "no deadline")

	// A client that is not ours: nothing stops it but the server.
	raw := rawClient(t, ok(), uidMcpd)
	err := raw.Invoke(context.Background(), "/guidance.v1.Guidance/Lookup", &guidancepb.LookupRequest{}, &guidancepb.LookupResponse{})
	wantCode(t, errs.FromStatus(err), errs.Invalid, "no deadline")
}

func TestAMethodThatNoServiceHasIsRefusedAndItsNameNotLogged(t *testing.T) {
	cc, log := serve(t, ok(), uidMcpd)
	err := cc.Invoke(soon(t), "/evil.v1.Evil/Secretname", &guidancepb.LookupRequest{}, &guidancepb.LookupResponse{})
	wantCode(t, err, errs.Denied, "no such method")
	// Reflection and the parts of health that wait for ever are such methods.
	_, err = grpc_health_v1.NewHealthClient(cc).List(soon(t), &grpc_health_v1.HealthListRequest{})
	wantCode(t, err, errs.Denied, "no such method")
	if strings.Contains(log.String(), "Secretname") {
		t.Errorf("the log quotes the peer: %s", log)
	}
}

func TestARequestOverItsRowsBoundIsNotDecoded(t *testing.T) {
	called := 0
	s := ok()
	s.lookup = func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		called++
		return &guidancepb.LookupResponse{}, nil
	}
	cc, _ := serve(t, s, uidMcpd)
	client := guidancepb.NewGuidanceClient(cc)
	for size, fits := range map[int]bool{256: true, 257: false, rpc.MaxMessage - 10: false} {
		r := &guidancepb.LookupRequest{}
		for proto.Size(r) != size {
			r.Capability += strings.Repeat("x", max(1, size-proto.Size(r)-5))
			if proto.Size(r) > size {
				r.Capability = r.Capability[:len(r.Capability)-(proto.Size(r)-size)]
			}
		}
		_, err := client.Lookup(soon(t), r)
		if fits && err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if !fits {
			wantCode(t, err, errs.Exhausted, "at most 256 are allowed")
		}
	}
	_, err := client.Lookup(soon(t), &guidancepb.LookupRequest{Capability: strings.Repeat("x", rpc.MaxMessage+1)})
	wantCode(t, err, errs.Exhausted, "too large")
	if called != 1 {
		t.Errorf("the handler ran %d times", called)
	}
}

func TestAStreamsRequestIsBoundedToo(t *testing.T) {
	cc := rawClient(t, ok(), uidOperator)
	st, err := cc.NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true}, "/docs.v1.DocsAdmin/Contract")
	if err != nil {
		t.Fatal(err)
	}
	_ = st.SendMsg(&docspb.TopicRequest{Topic: "x"}) // its refusal is what RecvMsg returns
	_ = st.CloseSend()
	wantCode(t, errs.FromStatus(st.RecvMsg(&docspb.ContractChunk{})), errs.Exhausted, "at most 0 are allowed")
}

func TestBytesThatAreNoMessageAreOurErrorAndNotTheLibrarys(t *testing.T) {
	cc := rawClient(t, ok(), uidMcpd)
	// A text of 127 bytes of which 5 follow.
	err := cc.Invoke(soon(t), "/guidance.v1.Guidance/Lookup", raw("\x0a\x7fshort"), &guidancepb.LookupResponse{}, grpc.ForceCodecV2(rawCodec{}))
	wantCode(t, errs.FromStatus(err), errs.Invalid, "cannot be decoded")
}

func TestAnUnknownFieldIsRefusedWhereTheServerIsStrict(t *testing.T) {
	strict := func(c *rpc.Config) { c.Strict = true }
	for _, wire := range []string{"\x98\x06\x01", "\x1a\x03\x98\x06\x01"} { // at the top, and inside identity
		err := rawClient(t, ok(), uidMcpd, strict).Invoke(soon(t), "/guidance.v1.Guidance/Lookup", raw(wire), &guidancepb.LookupResponse{}, grpc.ForceCodecV2(rawCodec{}))
		wantCode(t, errs.FromStatus(err), errs.Invalid, "does not know")
		err = rawClient(t, ok(), uidMcpd).Invoke(soon(t), "/guidance.v1.Guidance/Lookup", raw(wire), &guidancepb.LookupResponse{}, grpc.ForceCodecV2(rawCodec{}))
		if err != nil {
			t.Errorf("a lenient server refuses it: %v", err)
		}
	}
}

func TestAPanicTellsTheCallerNothingAndTheLogEverything(t *testing.T) {
	s := ok()
	s.lookup = func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		panic(errors.New("text of an outsider"))
	}
	s.tool = func(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
		var none []int
		return nil, fmt.Errorf("never %d", none[3])
	}
	cc, log := serve(t, s, uidMcpd)
	err := lookup(soon(t), cc)
	wantCode(t, err, errs.Internal, "internal error")
	_, err = guidancepb.NewGuidanceClient(cc).ToolGuidance(soon(t), &guidancepb.ToolGuidanceRequest{})
	wantCode(t, err, errs.Internal, "internal error")
	text := log.String()
	for _, want := range []string{"call_test.go", "index out of range [3]", `"panic with a *errors.errorString"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, "outsider") || strings.Contains(err.Error(), "range") {
		t.Error("the panic's text got out")
	}
	// The panic let go of what the row held.
	s.tool = ok().tool
	if _, err := guidancepb.NewGuidanceClient(cc).ToolGuidance(soon(t), &guidancepb.ToolGuidanceRequest{}); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestAnUncodedErrorStaysInside(t *testing.T) {
	s := ok()
	s.lookup = func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		return nil, errors.New("text of an outsider")
	}
	s.tool = func(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
		return nil, errs.New(errs.NotFound, "no such tool").WithClass("tool").WithNext("ask for another")
	}
	cc, _ := serve(t, s, uidMcpd)
	wantCode(t, lookup(soon(t), cc), errs.Internal, "internal error")
	_, err := guidancepb.NewGuidanceClient(cc).ToolGuidance(soon(t), &guidancepb.ToolGuidanceRequest{})
	e := errs.Public(err)
	if e.Code != errs.NotFound || e.Msg != "no such tool" || e.Class != "tool" || e.Next != "ask for another" {
		t.Errorf("a coded error came back as %+v", e)
	}
}

func TestAMethodThatMayRunOnceIsRefusedWhileItRuns(t *testing.T) {
	started, end := make(chan bool), make(chan bool)
	s := ok()
	s.tool = func(context.Context, *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
		started <- true
		<-end
		return &guidancepb.ToolGuidanceResponse{}, nil
	}
	cc, _ := serve(t, s, uidMcpd)
	client := guidancepb.NewGuidanceClient(cc)
	first := make(chan error, 1)
	ctx := soon(t)
	go func() {
		_, err := client.ToolGuidance(ctx, &guidancepb.ToolGuidanceRequest{})
		first <- err
	}()
	<-started
	_, err := client.ToolGuidance(soon(t), &guidancepb.ToolGuidanceRequest{})
	wantCode(t, err, errs.Conflict, "running already")
	end <- true
	if err := <-first; err != nil {
		t.Error(err)
	}
	go func() { <-started; end <- true }()
	if _, err := client.ToolGuidance(soon(t), &guidancepb.ToolGuidanceRequest{}); err != nil {
		t.Errorf("after it ended: %v", err)
	}
}

func TestADeadlineIsCutToTheRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ok()
		s.lookup = func(ctx context.Context, _ *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		cc, _ := serve(t, s, uidMcpd)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		start := time.Now()
		wantCode(t, lookup(ctx, cc), errs.Expired, "longer than its deadline")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestADaemonThatIsSlowToSpeakIsWaitedForAsLongAsTheCallAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := rpc.NewServer(config(&lines{}))
		if err != nil {
			t.Fatal(err)
		}
		guidancepb.RegisterGuidanceServer(srv, ok())
		docspb.RegisterDocsAdminServer(srv, ok())
		l := bufconn.Listen(1 << 16)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			time.Sleep(15 * time.Second) // a busy host lets it run no earlier
			ended <- srv.Serve(ctx, knownListener{l, uidMcpd})
		}()
		cc, err := rpc.Dial("/in/memory", "guidanced", rpc.Through(func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			patience time.Duration
			reached  bool
		}{{time.Second, false}, {20 * time.Second, true}} {
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			err := lookup(ctx, cc)
			cancel()
			if c.reached && err != nil {
				t.Errorf("within %v: %v", c.patience, err)
			}
			if !c.reached {
				wantCode(t, err, errs.Expired, "did not answer in time")
			}
		}
		_ = cc.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestARequestIDJoinsBothSidesAndAStrangeOneIsReplaced(t *testing.T) {
	var seen string
	s := ok()
	s.lookup = func(ctx context.Context, _ *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		seen = rpc.RequestID(ctx)
		rpc.Logger(ctx).Info("inside")
		return &guidancepb.LookupResponse{}, nil
	}
	cc, log := serve(t, s, uidMcpd)
	if err := lookup(rpc.WithRequestID(soon(t), "abcdef0123456789"), cc); err != nil || seen != "abcdef0123456789" {
		t.Errorf("id is %q: %v", seen, err)
	}
	if n := strings.Count(log.String(), `"request_id":"abcdef0123456789"`); n != 2 {
		t.Errorf("%d lines have the id:\n%s", n, log)
	}
	cc = rawClient(t, s, uidMcpd)
	for _, bad := range []string{"", "short", "UPPERCASE0", "line\\nbreak00", strings.Repeat("a", 33)} {
		ctx := metadata.AppendToOutgoingContext(soon(t), "pfsense-mcp-request", bad)
		if err := cc.Invoke(ctx, "/guidance.v1.Guidance/Lookup", &guidancepb.LookupRequest{}, &guidancepb.LookupResponse{}); err != nil {
			t.Error(err)
		}
		if seen == bad || len(seen) != 16 {
			t.Errorf("%q became %q", bad, seen)
		}
	}
}

func TestEveryCallIsOneLineWithItsOutcome(t *testing.T) {
	cc, log := serve(t, ok(), uidMcpd)
	if err := lookup(soon(t), cc); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 {
		t.Errorf("not one line: %s", text)
	}
	for _, want := range []string{`"level":"INFO"`, `"msg":"call"`, `"service":"guidance"`, `"method":"/guidance.v1.Guidance/Lookup"`, `"caller_uid":501`, `"outcome":"succeeded"`, `"duration_ms":`} {
		if !strings.Contains(text, want) {
			t.Errorf("the line lacks %s: %s", want, text)
		}
	}
}

func TestAnAnswerThatIsTooLargeIsOurFaultAndSaysSo(t *testing.T) {
	s := ok()
	s.lookup = func(context.Context, *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
		return &guidancepb.LookupResponse{Disclaimer: strings.Repeat("x", rpc.MaxMessage)}, nil
	}
	cc, log := serve(t, s, uidMcpd)
	wantCode(t, lookup(soon(t), cc), errs.Internal, "larger than")
	if !strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Error("the log does not call it an error")
	}
}

func TestCallsAreCounted(t *testing.T) {
	m := metrics.New()
	cc, _ := serve(t, ok(), uidMcpd, func(c *rpc.Config) { c.Metrics = m })
	if err := lookup(soon(t), cc); err != nil {
		t.Fatal(err)
	}
	_ = contract(soon(t), cc)
	text := m.Text()
	for _, want := range []string{
		`rpc_calls_total{socket="guidance",method="/guidance.v1.Guidance/Lookup",outcome="ok"} 1`,
		`rpc_calls_total{socket="guidance",method="/docs.v1.DocsAdmin/Contract",outcome="denied"} 1`,
		`rpc_call_seconds_count{socket="guidance"} 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestTheNodeSaysWhatItWasTold(t *testing.T) {
	node := rpc.NewNode(rpc.NodeConfig{Name: "guidanced", Version: "v1", BuildID: "sha256:0", StartedAt: time.Unix(1700000000, 0), Lab: true})
	cc, _ := serve(t, ok(), uidMcpd, func(c *rpc.Config) { c.Node = node })
	health := grpc_health_v1.NewHealthClient(cc)
	h, err := health.Check(soon(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("before it serves: %v %v", h, err)
	}
	node.SetServing(true)
	node.SetSandbox("require", []string{"seccomp"}, []string{"landlock_tcp"})
	node.SetNotices(strings.Repeat("é", 150), "b")
	h, err = health.Check(soon(t), &grpc_health_v1.HealthCheckRequest{Service: "guidance.v1.Guidance"})
	if err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("while it serves: %v %v", h, err)
	}
	st, err := nodepb.NewNodeClient(cc).Status(soon(t), &nodepb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if st.GetName() != "guidanced" || st.GetStartedAt() != 1700000000 || !st.GetLab() || st.GetSandbox().GetMissing()[0] != "landlock_tcp" || len(st.GetNotices()[0]) != 200 {
		t.Errorf("status is %v", st)
	}
	m, err := nodepb.NewNodeClient(cc).Metrics(soon(t), &nodepb.MetricsRequest{})
	if err != nil || m.GetText() != "# EOF\n" {
		t.Errorf("metrics are %v %v", m, err)
	}
	if id, err := rpc.BuildID(); err != nil || len(id) != len("sha256:")+64 {
		t.Errorf("build id is %q: %v", id, err)
	}
}
