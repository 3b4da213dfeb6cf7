package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc/internal/admit"
	"pfsensemcp/pkg/rpc/internal/codec"
)

// Bounds of a connection. A peer that connects and stays silent is let go after
// connectTimeout, long enough for a client that the host keeps from running;
// streamsPerConnection bounds the calls that one connection has under way; headers
// hold a request id, a deadline and the library's own.
const (
	connectTimeout       = 30 * time.Second
	streamsPerConnection = 64
	maxHeaders           = 8 << 10 // bytes
	defaultGrace         = 5 * time.Second
)

// Config is what a server is made of. Name, Node, Methods, Callers and Log are
// required.
type Config struct {
	Name    string            // the socket's, for the log: "guidance", "exec-admin"
	Node    *Node             // served together with health, on every socket
	Methods []Method          // a row for every RPC of the services but health and node.v1
	Callers map[Role][]uint32 // the uids of each role that a row names
	Log     *slog.Logger
	Metrics *metrics.Registry // nil: calls are not counted
	Strict  bool              // a request with an unknown field is refused
	Grace   time.Duration     // how long running calls may go on when the server stops; 0 means 5 s
}

// Server is a gRPC server on Unix sockets. It is a grpc.ServiceRegistrar for
// the generated Register functions; register everything before Serve.
type Server struct {
	name    string
	node    *Node
	log     *slog.Logger
	strict  bool
	grace   time.Duration
	roles   map[uint32]Role // of each uid that may connect
	rows    map[string]*row
	table   []Method // as given, for the check in Serve
	served  []*grpc.ServiceDesc
	grpc    *grpc.Server
	admit   *admit.Admission
	meter   *meter
	refused logging.Quiet
}

// row is a Method at work.
type row struct {
	Method
	once sync.Mutex // held by the running call when Once
}

// NewServer returns a server for cfg, or every fault of cfg at once.
func NewServer(cfg Config) (*Server, error) {
	var faults []error
	if cfg.Name == "" || cfg.Node == nil || cfg.Log == nil {
		faults = append(faults, errors.New("name, node and log are required"))
	}
	var used Role
	for _, m := range cfg.Methods {
		used |= m.Callers
	}
	uids, err := admitted(cfg.Callers, used)
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return nil, errs.Newf(errs.Internal, "server %q: %v", cfg.Name, err)
	}

	s := &Server{
		name:   cfg.Name,
		node:   cfg.Node,
		log:    cfg.Log.With(logging.KeyService, cfg.Name),
		strict: cfg.Strict,
		grace:  cfg.Grace,
		roles:  uids,
		rows:   make(map[string]*row),
		table:  slices.Clone(cfg.Methods),
		meter:  newMeter(cfg.Metrics, cfg.Name),
	}
	if s.grace == 0 {
		s.grace = defaultGrace
	}
	for _, m := range slices.Concat(cfg.Methods, nodeMethods(used)) {
		s.rows[m.Full] = &row{Method: m}
	}
	s.admit = admit.New(s.log, uids)
	s.grpc = grpc.NewServer(
		grpc.Creds(admit.Creds()),
		grpc.ForceServerCodecV2(codec.New()),
		grpc.MaxRecvMsgSize(MaxMessage),
		grpc.MaxSendMsgSize(MaxMessage),
		grpc.MaxConcurrentStreams(streamsPerConnection),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.UnknownServiceHandler(s.unknown),
	)
	for _, svc := range cfg.Node.Services() {
		s.register(svc.Desc, svc.Impl)
	}
	return s, nil
}

// admitted returns the roles of every uid that a row admits.
func admitted(callers map[Role][]uint32, used Role) (map[uint32]Role, error) {
	var faults []error
	uids := make(map[uint32]Role)
	for _, r := range roles {
		if used&r == 0 {
			continue
		}
		if len(callers[r]) == 0 {
			faults = append(faults, errors.New("a role in the table has no uid"))
		}
		for _, uid := range callers[r] {
			if Impossible(uid) {
				faults = append(faults, fmt.Errorf("uid %d can never be admitted", uid))
			}
			uids[uid] |= r
		}
	}
	return uids, errors.Join(faults...)
}

// RegisterService adds a service whose methods all have rows; one without is
// refused when called and makes Serve fail.
func (s *Server) RegisterService(sd *grpc.ServiceDesc, impl any) {
	s.served = append(s.served, sd)
	s.register(sd, impl)
}

// register hands sd to the library with every handler inside a call of ours.
func (s *Server) register(sd *grpc.ServiceDesc, impl any) {
	own := *sd
	own.Methods = slices.Clone(sd.Methods)
	for i, m := range own.Methods {
		own.Methods[i].Handler = s.unary(s.rows["/"+sd.ServiceName+"/"+m.MethodName], m.Handler)
	}
	own.Streams = slices.Clone(sd.Streams)
	for i, st := range own.Streams {
		own.Streams[i].Handler = s.stream(s.rows["/"+sd.ServiceName+"/"+st.StreamName], st.Handler)
	}
	s.grpc.RegisterService(&own, impl)
}

// Serve answers on the listeners until ctx ends, then lets running calls go on
// for the grace and ends them. It returns nil after ctx ended, an error when the
// table and the services differ or a listener fails. A server serves once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	if err := CheckTable(s.table, s.served...); err != nil {
		return errs.Newf(errs.Internal, "the method table of socket %s does not fit its services: %v", s.name, err)
	}
	if len(listeners) == 0 {
		return errs.New(errs.Internal, "socket "+s.name+" has no listener")
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- s.grpc.Serve(s.admit.Listener(l)) }()
	}
	var failed error
	running := len(listeners)
	select {
	case <-ctx.Done():
	case err := <-ended:
		running--
		failed = errs.Wrap(err, errs.Internal, "the listener of socket "+s.name+" failed")
	}
	s.stop()
	for range running {
		<-ended
	}
	return failed
}

// stop refuses new calls, waits for running ones for the grace, ends the rest.
func (s *Server) stop() {
	cut := time.AfterFunc(s.grace, s.grpc.Stop)
	defer cut.Stop()
	s.grpc.GracefulStop()
}
