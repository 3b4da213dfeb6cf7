// Package node owns what a daemon says about itself on every socket: node.v1
// and health. rpc alone imports it. It must say nothing that one admitted peer
// may know and another may not.
//
// The attack it stops: a peer of one role that learns from a daemon's health what is
// for another role alone.
package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/proto/node/v1"
)

// Bounds of what a node says about itself.
const (
	maxNotices = 8
	maxNotice  = 200 // bytes
	maxWalls   = 16
	maxMetrics = 200 << 10 // bytes
)

// Config is what stays true of a daemon while it runs.
type Config struct {
	Name      string // "guidanced"
	Version   string
	BuildID   string // see BuildID
	StartedAt time.Time
	Lab       bool
	TestBuild bool
	Metrics   *metrics.Registry // nil: an empty text is served
}

// Node is what a daemon says about itself on all of its sockets: node.v1 and
// health. It is not serving until SetServing(true).
type Node struct {
	cfg Config

	mu      sync.Mutex
	serving bool
	sandbox *nodepb.Sandbox
	notices []string
}

// New returns the node of one process; its servers share it.
func New(cfg Config) *Node {
	return &Node{cfg: cfg, sandbox: &nodepb.Sandbox{}}
}

// SetSandbox records what the kernel enforces on the process and what it could
// not, by the names of the walls; at most 16 each are kept.
func (n *Node) SetSandbox(mode string, enforced, missing []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sandbox = &nodepb.Sandbox{
		Mode:     mode,
		Enforced: slices.Clone(enforced[:min(len(enforced), maxWalls)]),
		Missing:  slices.Clone(missing[:min(len(missing), maxWalls)]),
	}
}

// SetServing sets the health that the daemon reports.
func (n *Node) SetServing(serving bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serving = serving
}

// SetNotices replaces what an operator should know: our own words, at most 8
// texts of 200 bytes; what is longer is cut.
func (n *Node) SetNotices(notices ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notices = nil
	for _, s := range notices[:min(len(notices), maxNotices)] {
		n.notices = append(n.notices, strings.ToValidUTF8(s[:min(len(s), maxNotice)], ""))
	}
}

// Status returns what Node.Status answers. mcpd uses it for its own row of the
// suite.
func (n *Node) Status() *nodepb.StatusResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &nodepb.StatusResponse{
		Name:      n.cfg.Name,
		Version:   n.cfg.Version,
		BuildId:   n.cfg.BuildID,
		StartedAt: n.cfg.StartedAt.Unix(),
		Sandbox:   n.sandbox,
		Lab:       n.cfg.Lab,
		TestBuild: n.cfg.TestBuild,
		Notices:   n.notices,
	}
}

// Metrics returns the node's OpenMetrics text.
func (n *Node) Metrics() (string, error) {
	text := n.cfg.Metrics.Text()
	if len(text) > maxMetrics {
		return "", errs.Newf(errs.Internal, "the metrics have more than %d bytes", maxMetrics)
	}
	return text, nil
}

// Service is a description with what implements it.
type Service struct {
	Desc *grpc.ServiceDesc
	Impl any
}

// Services returns what every socket serves: node.v1, and of health Check
// alone, because a watch would be a call without an end.
func (n *Node) Services() []Service {
	health := grpc_health_v1.Health_ServiceDesc
	health.Streams = nil
	health.Methods = slices.DeleteFunc(slices.Clone(health.Methods), func(m grpc.MethodDesc) bool {
		return m.MethodName != "Check"
	})
	return []Service{
		{&nodepb.Node_ServiceDesc, nodeService{node: n}},
		{&health, healthService{node: n}},
	}
}

type nodeService struct {
	nodepb.UnsafeNodeServer
	node *Node
}

func (s nodeService) Status(context.Context, *nodepb.StatusRequest) (*nodepb.StatusResponse, error) {
	return s.node.Status(), nil
}

func (s nodeService) Metrics(context.Context, *nodepb.MetricsRequest) (*nodepb.MetricsResponse, error) {
	text, err := s.node.Metrics()
	if err != nil {
		return nil, err
	}
	return &nodepb.MetricsResponse{Text: text}, nil
}

type healthService struct {
	grpc_health_v1.UnimplementedHealthServer // the interface asks for the methods that are not registered
	node                                     *Node
}

// Check answers for the process; a service's name in the request is accepted
// and means the same.
func (s healthService) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if s.node.serving {
		status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	return &grpc_health_v1.HealthCheckResponse{Status: status}, nil
}

// BuildID returns "sha256:" and the digest of the running executable. Call it
// before the sandbox closes the file system.
func BuildID() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", errs.Wrap(err, errs.Internal, "the running executable cannot be read")
	}
	defer f.Close() // only read from
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", errs.Wrap(err, errs.Internal, "the running executable cannot be read")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
