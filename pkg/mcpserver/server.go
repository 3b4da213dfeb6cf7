// Package mcpserver owns what an MCP client meets: which tools are registered,
// how a call runs and ends, what its answer and its errors look like, and the
// audit lines.
//
// cmd/mcpd alone imports it. It stands on readtool for the rows of the catalog,
// on rpc for the other daemons, and on its inner package session for the
// socket. It must never hold a key, send a request of its own making to the
// appliance, or show a text that was not written by us or by readtool.
//
// The attacks it stops: a tool that profile, allow-list or toolsets left out
// and that is reachable all the same (what is not registered does not exist
// here); an operator's session, in which an injected prompt would act with an
// operator's rights; a call without an end; and the text of an error that
// nobody wrote for a model.
package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/mcpserver/internal/session"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/pause"
	"pfsensemcp/pkg/rpc"
)

// drainFor is how long running calls may go on when the server stops; the
// daemon's own grace.
const drainFor = 2 * time.Second

// onePage holds every list but that of the tools, which can be longer.
const onePage = 100

// cachePrivate lets a client keep an answer for its own user alone.
const cachePrivate = "private"

// Config is what a server is made of. Version, Profile, Reader, Suite and Log
// are required.
type Config struct {
	Version  string
	Profile  string
	Allow    []string // nil: no allow-list
	Toolsets []string // empty: all
	Identity string   // the upstream credential's name, for the audit

	Reader        Reader
	OutputSchemas bool    // serve them
	Extras        []Extra // tools that are no rows of the catalog
	Suite         *Suite

	// Operators may not open a session unless OperatorsMayUseMCP: what a model
	// is talked into would be done by an account that may approve it.
	Operators          []uint32
	OperatorsMayUseMCP bool

	Log     *slog.Logger
	Metrics *metrics.Registry // nil: nothing is counted
}

// Server serves MCP sessions on one socket.
type Server struct {
	cfg   Config
	mcp   *mcp.Server
	tools []entry // READ and guidance, as registered, sorted by name
	list  []byte  // the member "tools" of tools/list
	write *write  // nil: profile, allow-list or toolsets leave no write tool
	pool  *session.Pool

	sessionSeq atomic.Uint64
	auditSeq   atomic.Uint64
	counts     counters
	quiet      logging.Quiet // refused sessions

	mu   sync.Mutex
	live map[*session.Conn]struct{}
}

// New registers the tools that profile, allow-list and toolsets leave, and
// renders the list of them once. Faults of these settings come back all at
// once, of class configuration.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, pool: session.NewPool(), live: make(map[*session.Conn]struct{})}
	if err := s.choose(); err != nil {
		return nil, err
	}
	s.chooseWrite()
	more, moreNow := s.sets()
	opts := &mcp.ServerOptions{
		Instructions: s.instructions(),
		// No listChanged unless there can be a write tool: the READ tools are fixed by
		// configuration, and hosts read them once. No logging: newer protocols have
		// dropped it.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: s.write != nil}},
		Logger:       slog.New(&sdkLog{log: cfg.Log}),
		PageSize:     max(len(s.tools)+1, onePage),
		// What one account may see is nothing that anybody between may keep.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = cachePrivate },
	}
	more.Options(opts, moreNow)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "pfsense-mcp", Version: cfg.Version}, opts)
	if err := s.register(); err != nil {
		return nil, err
	}
	if err := s.registerPlain(); err != nil {
		return nil, errs.Wrap(err, errs.Internal, "the MCP library refuses a method of ours")
	}
	more.Register(s.mcp, moreNow)
	s.fixtures()
	if err := s.enlistWrite(); err != nil {
		return nil, err
	}
	s.mcp.AddReceivingMiddleware(s.middleware, more.Middleware)
	s.counts = newCounters(cfg.Metrics, s.pool)
	return s, nil
}

// Serve takes sessions on l, a Unix listener, until ctx ends; then calls that
// run are given drainFor to end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if s.write != nil {
		s.look(ctx) // so that the first session is not told of a change that was none
	}
	var sessions sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		nc, err := l.Accept()
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, net.ErrClosed) {
			return errs.Wrap(err, errs.Internal, "the socket of the MCP clients was closed")
		}
		if err != nil {
			// Out of descriptors, say: those of ended sessions come back.
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a session could not be taken", logging.Err(err))
			_ = pause.For(ctx, 100*time.Millisecond) // the loop sees an end of ctx
			continue
		}
		sessions.Go(func() { s.session(ctx, nc) })
	}
	s.mu.Lock()
	live := make([]*session.Conn, 0, len(s.live))
	for c := range s.live {
		live = append(live, c)
	}
	s.mu.Unlock()
	for _, c := range live {
		c.Drain(drainFor)
	}
	sessions.Wait()
	return nil
}

// session carries one connection from its admission to its end.
func (s *Server) session(ctx context.Context, nc net.Conn) {
	uc, ok := nc.(*net.UnixConn)
	if !ok {
		_ = nc.Close()
		return
	}
	peer, err := rpc.PeerOf(uc)
	if err == nil {
		err = s.admit(peer)
	}
	var seat *session.Seat
	if err == nil {
		seat, err = s.pool.Admit(peer.UID)
	}
	if err != nil {
		s.counts.refused.Inc()
		if dropped, say := s.quiet.Next(time.Now()); say {
			s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "session refused",
				slog.Uint64(logging.KeyCallerUID, uint64(peer.UID)), logging.Err(err),
				slog.Int(logging.KeyCount, 1+dropped)) // this one and those that no line told of
		}
		session.Refuse(nc, errs.Public(err))
		return
	}
	s.carry(ctx, nc, seat, peer)
}

// admit decides by the uid that the kernel saw when the peer connected. Who may
// reach the socket at all is the directory's business.
func (s *Server) admit(p rpc.Peer) error {
	switch {
	case rpc.Impossible(p.UID):
		return errs.New(errs.Denied, "this account is not known here").WithClass("peer")
	case slices.Contains(s.cfg.Operators, p.UID) && !s.cfg.OperatorsMayUseMCP:
		return errs.New(errs.Denied, "an operator's account may not use MCP").WithClass("operator").
			WithNext("run the MCP client as another user, or set operators_may_use_mcp = true in mcpd's settings")
	}
	return nil
}

func (s *Server) carry(ctx context.Context, nc net.Conn, seat *session.Seat, peer rpc.Peer) {
	conn, err := session.New(nc, seat, s.cfg.Log)
	if err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a session could not begin", logging.Err(err))
		return
	}
	conn.Plain = s.plain
	defer conn.Leave()
	s.mu.Lock()
	s.live[conn] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.live, conn)
		s.mu.Unlock()
	}()
	// Values alone: the session's own end ends its calls, and a stopping server
	// lets them finish.
	sctx := context.WithoutCancel(ctx)
	sctx = rpc.WithPeer(sctx, peer)
	sctx = context.WithValue(sctx, sessionKey{}, &sessionState{number: s.sessionSeq.Add(1)})
	ss, err := s.mcp.Connect(sctx, conn, nil)
	if err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "a session could not begin", logging.Err(err))
		return
	}
	if ctx.Err() != nil { // the server stopped between accept and here
		conn.Drain(0)
	}
	_ = ss.Wait() // how the peer left is nobody's concern
}

// sessionKey is the key of the session's *sessionState in its context.
type sessionKey struct{}

// sessionState is what this package knows of a session.
type sessionState struct {
	number   uint64
	sawWrite atomic.Bool // the write tool was offered to it
}

// stateOf returns the state of the session that ctx belongs to.
func stateOf(ctx context.Context) *sessionState {
	if st, ok := ctx.Value(sessionKey{}).(*sessionState); ok {
		return st
	}
	return &sessionState{}
}

// sdkLog lets through what concerns us of the SDK's log: its own internal
// errors, without their text. The rest tells of clients that break the
// protocol, and any client could fill the log with it.
type sdkLog struct{ log *slog.Logger }

func (h *sdkLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (h *sdkLog) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h *sdkLog) WithGroup(string) slog.Handler                { return h }

func (h *sdkLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "jsonrpc2 internal error" {
		h.log.LogAttrs(ctx, slog.LevelError, "the MCP library reported an internal error")
	}
	return nil
}

// known returns the names of the registered tools.
func (s *Server) known() []string {
	names := make([]string, 0, len(s.tools)+1)
	for _, t := range s.tools {
		names = append(names, t.name)
	}
	if s.offered() {
		names = append(names, s.write.tool.Name())
	}
	return names
}

// nearest returns the registered tool whose name is closest.
func (s *Server) nearest(name string) string { return catalog.Nearest(name, s.known()) }
