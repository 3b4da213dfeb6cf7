// Package suite owns what mcpd knows of the other daemons: the connections to
// their sockets, whether they answer, and what they say about themselves.
//
// mcpserver and its inner packages import it. It must never wait for a daemon
// longer than a model waits for nothing: each runs alone, and the loss of one
// may only cost what needs it.
//
// The attack it stops: a daemon that was subverted, and holds up every tool by never
// answering.
package suite

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/admin/v1"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/proto/node/v1"
)

// statusWithin bounds one question to another daemon. They sit on the same host and
// answer in microseconds; what a busy host adds to that must not be told as a daemon
// that does not answer.
const statusWithin = 3 * time.Second

// The names of the daemons, in the order in which they are always shown.
const (
	Mcpd      = "mcpd"
	Guidanced = "guidanced"
	Docfetchd = "docfetchd"
	Executord = "executord"
)

// Suite is the other daemons as mcpd sees them. Connections are made on the
// first question and again whenever a daemon comes back. It is safe for
// concurrent use.
type Suite struct {
	self  *rpc.Node
	peers []peer
}

type peer struct {
	name string
	conn *grpc.ClientConn
}

// sockets are the daemons' sockets that mcpd may open, below the suite's socket
// directory.
var sockets = []struct{ name, dir string }{
	{Guidanced, "guidance"},
	{Docfetchd, "docs"},
	{Executord, "exec"},
}

// New returns the suite whose sockets are below dir; self is mcpd's own
// node.
func New(dir string, self *rpc.Node) (*Suite, error) {
	s := &Suite{self: self}
	for _, d := range sockets {
		conn, err := rpc.Dial(filepath.Join(dir, d.dir, d.dir+".sock"), d.name,
			rpc.Next("start it with `systemctl start pfsense-"+d.name+"`, or see `mcpctl status`; tools that do not need it answer as before"))
		if err != nil {
			s.Close()
			return nil, err
		}
		s.peers = append(s.peers, peer{d.name, conn})
	}
	return s, nil
}

// Close closes the connections.
func (s *Suite) Close() {
	for _, p := range s.peers {
		_ = p.conn.Close() // nothing is under way that anybody waits for
	}
}

// Conn returns the connection to a daemon; nil for a name that is none.
func (s *Suite) Conn(name string) *grpc.ClientConn {
	for _, p := range s.peers {
		if p.name == name {
			return p.conn
		}
	}
	return nil
}

// Status asks all daemons at once. One that does not answer is a row that says
// so, not an error.
func (s *Suite) Status(ctx context.Context) []*adminpb.Member {
	out := make([]*adminpb.Member, 1+len(s.peers))
	out[0] = &adminpb.Member{Name: Mcpd, Reachable: true, Status: s.self.Status()}
	s.each(ctx, func(ctx context.Context, i int, p peer) {
		m := &adminpb.Member{Name: p.name}
		out[i+1] = m
		st, err := nodepb.NewNodeClient(p.conn).Status(ctx, &nodepb.StatusRequest{})
		if err != nil {
			m.Problem, m.Next = problem(err)
			return
		}
		m.Reachable, m.Status = true, st
	})
	return out
}

// Metrics asks all daemons for their metrics.
func (s *Suite) Metrics(ctx context.Context) []*adminpb.MemberMetrics {
	out := make([]*adminpb.MemberMetrics, 1+len(s.peers))
	own := &adminpb.MemberMetrics{Name: Mcpd}
	out[0] = own
	text, err := s.self.Metrics()
	if own.Text = text; err != nil {
		own.Problem, _ = problem(err)
	}
	s.each(ctx, func(ctx context.Context, i int, p peer) {
		m := &adminpb.MemberMetrics{Name: p.name}
		out[i+1] = m
		res, err := nodepb.NewNodeClient(p.conn).Metrics(ctx, &nodepb.MetricsRequest{})
		if err != nil {
			m.Problem, _ = problem(err)
			return
		}
		m.Text = res.GetText()
	})
	return out
}

// WriteState says whether executord offers the write tool; known is false when
// it could not be asked.
func (s *Suite) WriteState(ctx context.Context) (constructible, known bool) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	res, err := executorpb.NewFrontClient(s.Conn(Executord)).GetWriteStatus(ctx, &executorpb.GetWriteStatusRequest{})
	if err != nil {
		return false, false
	}
	return res.GetConstructible(), true
}

// each asks every daemon in parallel, within statusWithin.
func (s *Suite) each(ctx context.Context, ask func(ctx context.Context, i int, p peer)) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	var asked sync.WaitGroup
	for i, p := range s.peers {
		asked.Go(func() { ask(ctx, i, p) })
	}
	asked.Wait()
}

// problem returns why a daemon did not answer, and what to do; each is at most
// 200 bytes of our words.
func problem(err error) (what, next string) {
	e := errs.Public(err)
	return e.Msg[:min(len(e.Msg), 200)], e.Next[:min(len(e.Next), 200)]
}
