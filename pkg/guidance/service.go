package guidance

import (
	"context"
	"strings"
	"time"
	"unicode"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/guidance/v1"
)

// Disclaimer goes with every answer.
const Disclaimer = "Documentation, not live state and not authorization: it permits nothing and says nothing about this appliance now. Use the READ tools for state."

// Bounds of what a caller sends, in bytes.
const (
	maxName    = 64
	maxSource  = 200
	maxRequest = 1 << 10 // two names, a version and a source, with room
)

// nearestShown is how many names an error offers.
const nearestShown = 3

// Methods is the method table: a row for every RPC of the service.
func Methods() []rpc.Method {
	row := func(full string) rpc.Method {
		// A lookup takes microseconds; two seconds are for a machine that swaps.
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: maxRequest, MaxDuration: 2 * time.Second}
	}
	return []rpc.Method{
		row(guidancepb.Guidance_Lookup_FullMethodName),
		row(guidancepb.Guidance_ToolGuidance_FullMethodName),
	}
}

// Service answers guidance.v1 from a registry. It is safe for concurrent use.
type Service struct {
	guidancepb.UnsafeGuidanceServer
	registry *Registry
}

// NewService returns the service of a registry.
func NewService(r *Registry) *Service { return &Service{registry: r} }

// Lookup answers a capability, or the capability of a tool.
func (s *Service) Lookup(_ context.Context, req *guidancepb.LookupRequest) (*guidancepb.LookupResponse, error) {
	capability, err := s.capability(req.GetCapability(), req.GetToolName())
	if err != nil {
		return nil, err
	}
	id := req.GetIdentity()
	if id == nil {
		id = &guidancepb.Identity{Edition: Unknown}
	}
	seen, err := Observe(id.GetEdition(), id.Version)
	if err != nil {
		return nil, err
	}
	if !plainSource(id.GetSource()) || id.GetResolvedAt() < 0 {
		return nil, refused("the identity's source or time is out of bounds")
	}
	judged, overall := s.registry.Lookup(capability, seen)
	res := &guidancepb.LookupResponse{
		RequestedCapability: capability,
		OverallState:        string(overall),
		Identity:            &guidancepb.Identity{Edition: seen.Edition, Version: id.Version, Source: id.GetSource(), ResolvedAt: id.GetResolvedAt()},
		Disclaimer:          Disclaimer,
	}
	for _, j := range judged {
		res.Guidance = append(res.Guidance, s.item(capability, j, seen, id.Version))
	}
	return res, nil
}

// item is what an entry shows: the anchor and the licence note stay here.
func (s *Service) item(capability string, j Judged, seen Observed, version *string) *guidancepb.Item {
	e := j.Entry
	return &guidancepb.Item{
		Capability: capability, SourceId: e.SourceID, Title: e.Title, CanonicalUrl: e.URL,
		ContentExcerpt: e.Excerpt, ContentHash: e.Hash, PfsenseEdition: e.Edition,
		TrustLabel: TrustLabel, Applicability: string(j.State), EvidenceLevel: e.Evidence,
		ApplicableOverlayChain: j.Chain, ObservedEditionUsed: seen.Edition, ObservedVersionUsed: version,
		VersionMismatch: j.Mismatch, RetrievalMode: e.Mode, SnapshotVersion: s.registry.Snapshot(),
	}
}

// capability settles which capability is asked for. A name that is known
// nowhere is answered with the nearest ones and never repeated.
func (s *Service) capability(name, toolName string) (string, error) {
	switch {
	case (name == "") == (toolName == ""):
		return "", errs.New(errs.Invalid, "give exactly one of capability and tool_name").WithClass("request_validation")
	case len(name) > maxName || len(toolName) > maxName:
		return "", errs.Newf(errs.Invalid, "a name has at most %d bytes", maxName).WithClass("request_validation")
	case toolName != "":
		t, err := tool(toolName)
		if err != nil {
			return "", err
		}
		return t.Capability, nil
	case !s.registry.Known(name):
		return "", notFound("capability", name, catalog.ReadCapabilities())
	}
	return name, nil
}

// ToolGuidance answers how to read one tool's answer.
func (s *Service) ToolGuidance(_ context.Context, req *guidancepb.ToolGuidanceRequest) (*guidancepb.ToolGuidanceResponse, error) {
	name := req.GetToolName()
	if name == "" || len(name) > maxName {
		return nil, errs.Newf(errs.Invalid, "a name has 1 to %d bytes", maxName).WithClass("request_validation")
	}
	t, err := tool(name)
	if err != nil {
		return nil, err
	}
	g := Guide(t)
	return &guidancepb.ToolGuidanceResponse{
		ToolName: g.ToolName, ResultKind: g.Kind, Interpretation: g.Text, RelatedTools: g.Related,
		EmptyResultIsMeaningful: g.Empty, SecretsIntentionallyOmitted: g.Omitted, Provenance: ProjectAuthored,
	}, nil
}

func tool(name string) (*catalog.Tool, error) {
	if t, ok := catalog.Lookup(name); ok {
		return t, nil
	}
	names := make([]string, 0, 128)
	for _, t := range catalog.Tools() {
		names = append(names, t.Name)
	}
	return nil, notFound("READ tool", name, names)
}

func notFound(what, name string, known []string) error {
	near := make([]string, 0, nearestShown)
	for len(near) < nearestShown && len(known) > 0 {
		n := catalog.Nearest(name, known)
		near = append(near, n)
		rest := make([]string, 0, len(known))
		for _, k := range known {
			if k != n {
				rest = append(rest, k)
			}
		}
		known = rest
	}
	return errs.New(errs.NotFound, "there is no "+what+" of this name").WithClass("request_validation").
		WithNext("the nearest names are " + strings.Join(near, ", "))
}

// plainSource says whether an identity's source can be shown as it is.
func plainSource(s string) bool {
	return len(s) <= maxSource && !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) })
}
