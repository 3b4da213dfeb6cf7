// Package admin owns what operators ask of mcpd: admin.v1, and the READ key in
// its file. mcpserver alone imports it.
//
// It must never change the appliance, and no answer may hold a key, a row or a text
// of the appliance. The attack it stops: an operator's question used to wear
// out the appliance's login protection, to guess the key, or to take the
// appliance from the models.
package admin

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/schema"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/pkg/pause"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/admin/v1"
)

// Appliance is the part of *pfrest.Client that operators' questions need.
type Appliance interface {
	Get(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.Page) (pfrest.Answer, error)
	State() pfrest.State
	ResetBreakers()
}

// Methods is the table of admin.v1.
func Methods() []rpc.Method {
	row := func(name string, max int, d time.Duration) rpc.Method {
		return rpc.Method{Full: "/admin.v1.Mcpd/" + name, Callers: rpc.Operators, MaxRequest: max, MaxDuration: d}
	}
	return []rpc.Method{
		row("Suite", 0, 2*time.Second),
		row("Metrics", 0, 2*time.Second),
		row("Probe", 256, 60*time.Second), // a queue of probes, and one slow answer
		{Full: adminpb.Mcpd_ApplianceContract_FullMethodName, Callers: rpc.Operators, MaxDuration: 90 * time.Second, Once: true},
		row("ResetBreakers", 0, 2*time.Second),
		row("Reload", 0, 10*time.Second),
		row("KeyChallenge", 64, 2*time.Second),
		row("ApplianceFacts", 0, 100*time.Second), // three objects that may hang, and the document
		row("AccountPrivileges", 128, 30*time.Second),
	}
}

// probeEvery is the least time between two probes: 94 privileges in a row must
// not look like an attack, nor take the appliance from the models.
const probeEvery = 250 * time.Millisecond

// Admin answers operators on mcpd-admin.sock. Key is the READ key's file.
type Admin struct {
	adminpb.UnsafeMcpdServer

	suite     *suite.Suite
	appliance Appliance
	key       *Key
	doc       *schema.Cache
	about     About

	mu    sync.Mutex // held by a probe: one at a time
	last  time.Time
	asked []time.Time // answered key challenges of the last minute
}

// New returns the service.
func New(s *suite.Suite, a Appliance, k *Key, doc *schema.Cache, about About) *Admin {
	return &Admin{suite: s, appliance: a, key: k, doc: doc, about: about}
}

// Register adds the service to a server.
func (a *Admin) Register(r grpc.ServiceRegistrar) { adminpb.RegisterMcpdServer(r, a) }

// Suite implements admin.v1.
func (a *Admin) Suite(ctx context.Context, _ *adminpb.SuiteRequest) (*adminpb.SuiteResponse, error) {
	return &adminpb.SuiteResponse{Members: a.suite.Status(ctx)}, nil
}

// Metrics implements admin.v1.
func (a *Admin) Metrics(ctx context.Context, _ *adminpb.MetricsRequest) (*adminpb.MetricsResponse, error) {
	return &adminpb.MetricsResponse{Members: a.suite.Metrics(ctx)}, nil
}

// Probe implements admin.v1: one row, or one object, of an endpoint that the
// privilege guards. Whatever the appliance answers after it let the key in
// shows that the privilege is there.
func (a *Admin) Probe(ctx context.Context, req *adminpb.ProbeRequest) (*adminpb.ProbeResponse, error) {
	out := &adminpb.ProbeResponse{Privilege: req.GetPrivilege()}
	var row *catalog.Tool
	for _, t := range catalog.Tools() {
		if t.Path == "" || !slices.Contains(catalog.Privileges(t), req.GetPrivilege()) {
			continue
		}
		out.Tools = append(out.Tools, t.Name)
		if catalog.Privilege(t) == req.GetPrivilege() {
			row = t
		}
	}
	if row == nil {
		return nil, errs.New(errs.NotFound, "no tool needs this privilege").WithClass("request_validation").
			WithNext("mcpctl privileges prints those that are needed")
	}
	peer, _ := rpc.PeerFrom(ctx)
	var page pfrest.Page
	if row.List {
		page.Limit = 1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = pause.For(ctx, time.Until(a.last.Add(probeEvery)))
	if err := ctx.Err(); err != nil {
		return nil, errs.Wrap(err, errs.Expired, "the probe did not get its turn in time").WithClass("timeout")
	}
	answer, err := a.appliance.Get(ctx, pfrest.Caller{UID: peer.UID}, pfrest.Endpoint(row.Path), page)
	answer.Release()
	a.last = time.Now()
	out.Verdict, out.Problem = verdict(err)
	return out, nil
}

// verdict reads an answer as a statement about the privilege.
func verdict(err error) (adminpb.ProbeResponse_Verdict, string) {
	if err == nil {
		return adminpb.ProbeResponse_VERDICT_GRANTED, ""
	}
	switch e := errs.Public(err); e.Class {
	case pfrest.ClassAuthorization:
		return adminpb.ProbeResponse_VERDICT_MISSING, ""
	case pfrest.ClassPackageAbsent, pfrest.ClassNotFound, pfrest.ClassUnreadable, pfrest.ClassEncoding, pfrest.ClassShape:
		return adminpb.ProbeResponse_VERDICT_GRANTED, ""
	default:
		return adminpb.ProbeResponse_VERDICT_UNKNOWN, e.Class
	}
}

// ResetBreakers implements admin.v1.
func (a *Admin) ResetBreakers(context.Context, *adminpb.ResetBreakersRequest) (*adminpb.ResetBreakersResponse, error) {
	out := &adminpb.ResetBreakersResponse{}
	state := a.appliance.State()
	if state.KeyRefused {
		out.Closed = append(out.Closed, "credential")
	}
	for _, p := range state.Paths {
		if p.Open {
			out.Closed = append(out.Closed, string(p.Endpoint))
		}
	}
	a.appliance.ResetBreakers()
	return out, nil
}

// Reload implements admin.v1.
func (a *Admin) Reload(context.Context, *adminpb.ReloadRequest) (*adminpb.ReloadResponse, error) {
	changed, err := a.key.Reload()
	if err != nil {
		return nil, err
	}
	return &adminpb.ReloadResponse{KeyChanged: changed}, nil
}

// challengesAMinute bounds how often the key answers a challenge.
const challengesAMinute = 6

// KeyChallenge implements admin.v1.
func (a *Admin) KeyChallenge(_ context.Context, req *adminpb.KeyChallengeRequest) (*adminpb.KeyChallengeResponse, error) {
	if len(req.GetChallenge()) != 32 {
		return nil, errs.New(errs.Invalid, "a challenge has 32 bytes").WithClass("request_validation")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.asked = slices.DeleteFunc(a.asked, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(a.asked) >= challengesAMinute {
		return nil, errs.New(errs.Exhausted, "the key answers six challenges a minute").WithClass("rate").WithNext("wait a minute")
	}
	a.asked = append(a.asked, now)
	return &adminpb.KeyChallengeResponse{Hmac: a.key.Answer(req.GetChallenge())}, nil
}
