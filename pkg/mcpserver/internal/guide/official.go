// Package guide owns the two guidance tools: their arguments, whom they ask and
// the shape of what they show. mcpserver alone imports it.
//
// What comes back is reading matter. It must never become an input to any
// decision here, and no argument becomes anything but the lookup key of a
// compiled table. The attack it stops: documentation, or a caller who names
// some, being taken for permission.
package guide

import (
	"context"
	"encoding/json/v2"
	"strings"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/pkg/mcpserver/internal/tool"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/guidance/v1"
)

// Official returns the tool pfsense_get_official_guidance, which
// guidanced answers. identity says what is known of the appliance; it is never
// taken from the caller. nil means that nothing is.
func Official(s *suite.Suite, identity func(context.Context, pfrest.Caller) *guidancepb.Identity) tool.Extra {
	g := guidanceTool{client: guidancepb.NewGuidanceClient(s.Conn(suite.Guidanced)), identity: identity}
	return tool.Extra{
		Name:  catalog.GuidanceTool,
		Desc:  "Official documentation for one capability of this server, as pinned excerpts with page links, judged against the appliance's version. Give capability or tool_name. Reading matter only: it permits nothing.",
		Class: tool.Guidance, OpenWorld: true, Answer: g.answer,
		Input: []byte(`{"type":"object","properties":{"capability":{"type":"string","enum":["` +
			strings.Join(catalog.ReadCapabilities(), `","`) + `"]},"tool_name":{"type":"string"}},"additionalProperties":false}`),
		Output: []byte(guidanceOutput),
	}
}

type guidanceTool struct {
	client   guidancepb.GuidanceClient
	identity func(context.Context, pfrest.Caller) *guidancepb.Identity
}

// guidanceArgs are the arguments; exactly one is set.
type guidanceArgs struct {
	Capability *string `json:"capability"`
	ToolName   *string `json:"tool_name"`
}

// The names are keys of compiled tables; what is longer is in none.
const maxKey = 64

// A daemon that is there and says nothing, a stopped one say, must be named well
// before the call's own deadline ends the call with an advice about rows.
// guidanced only looks things up, and has what a busy host adds to that; docfetchd
// may have to fetch first.
const (
	guidancedWithin = 10 * time.Second
	docfetchdWithin = 40 * time.Second
)

func (g guidanceTool) answer(ctx context.Context, caller pfrest.Caller, args []byte, _ func(int)) (tool.Answer, error) {
	var a guidanceArgs
	if len(args) > 0 {
		if err := json.Unmarshal(args, &a, json.RejectUnknownMembers(true)); err != nil {
			return tool.Answer{}, guidanceUsage("the arguments are capability or tool_name, a text each")
		}
	}
	if (a.Capability == nil) == (a.ToolName == nil) {
		return tool.Answer{}, guidanceUsage("give exactly one of capability and tool_name")
	}
	req := &guidancepb.LookupRequest{}
	for from, to := range map[*string]*string{a.Capability: &req.Capability, a.ToolName: &req.ToolName} {
		if from == nil {
			continue
		}
		if *from == "" || len(*from) > maxKey {
			return tool.Answer{}, guidanceUsage("a name has 1 to 64 characters")
		}
		*to = *from
	}
	if g.identity != nil {
		req.Identity = g.identity(ctx, caller)
	}
	ctx, cancel := context.WithTimeout(ctx, guidancedWithin)
	defer cancel()
	res, err := g.client.Lookup(ctx, req, grpc.MaxCallRecvMsgSize(1<<20))
	if err != nil {
		return tool.Answer{}, err
	}
	object, err := json.Marshal(guidanceResult(res))
	if err != nil {
		return tool.Answer{}, errs.Wrap(err, errs.Internal, "internal error")
	}
	return tool.Answer{JSON: object, Rows: len(res.GetGuidance())}, nil
}

func guidanceUsage(msg string) error {
	return errs.New(errs.Invalid, msg).WithClass("request_validation").WithNext(`example: {"capability": "FIREWALL_READ"}`)
}

// guidanceView is the tool's result, exactly these members.
type guidanceView struct {
	Capability string         `json:"requested_capability"`
	State      string         `json:"overall_state"`
	Identity   identityView   `json:"identity"`
	Guidance   []guidanceItem `json:"guidance"`
	Disclaimer string         `json:"disclaimer"`
}

type identityView struct {
	Edition    string  `json:"edition"`
	Version    *string `json:"version"`
	Source     string  `json:"source"`
	ResolvedAt *string `json:"resolved_at"` // RFC 3339, UTC
}

type guidanceItem struct {
	Capability      string   `json:"capability"`
	SourceID        string   `json:"source_id"`
	Title           string   `json:"title"`
	CanonicalURL    string   `json:"canonical_url"`
	Excerpt         string   `json:"content_excerpt"`
	Hash            string   `json:"content_hash"`
	Edition         string   `json:"pfsense_edition"`
	TrustLabel      string   `json:"trust_label"`
	Applicability   string   `json:"applicability"`
	EvidenceLevel   string   `json:"evidence_level"`
	Overlays        []string `json:"applicable_overlay_chain"`
	ObservedEdition string   `json:"observed_edition_used"`
	ObservedVersion *string  `json:"observed_version_used"`
	Mismatch        bool     `json:"version_mismatch"`
	RetrievalMode   string   `json:"retrieval_mode"`
	Snapshot        string   `json:"snapshot_version"`
}

func guidanceResult(r *guidancepb.LookupResponse) guidanceView {
	id := r.GetIdentity()
	out := guidanceView{
		Capability: r.GetRequestedCapability(), State: r.GetOverallState(), Disclaimer: r.GetDisclaimer(),
		Identity: identityView{Edition: id.GetEdition(), Source: id.GetSource()},
		Guidance: []guidanceItem{},
	}
	if id != nil {
		out.Identity.Version = id.Version
		if at := id.GetResolvedAt(); at > 0 {
			text := time.Unix(at, 0).UTC().Format(time.RFC3339)
			out.Identity.ResolvedAt = &text
		}
	}
	for _, g := range r.GetGuidance() {
		out.Guidance = append(out.Guidance, guidanceItem{
			Capability: g.GetCapability(), SourceID: g.GetSourceId(), Title: g.GetTitle(), CanonicalURL: g.GetCanonicalUrl(),
			Excerpt: g.GetContentExcerpt(), Hash: g.GetContentHash(), Edition: g.GetPfsenseEdition(), TrustLabel: g.GetTrustLabel(),
			Applicability: g.GetApplicability(), EvidenceLevel: g.GetEvidenceLevel(), Overlays: g.GetApplicableOverlayChain(),
			ObservedEdition: g.GetObservedEditionUsed(), ObservedVersion: g.ObservedVersionUsed, Mismatch: g.GetVersionMismatch(),
			RetrievalMode: g.GetRetrievalMode(), Snapshot: g.GetSnapshotVersion(),
		})
	}
	return out
}

// officialDisclaimer is what guidanced says with every answer; a test holds the
// two equal.
const officialDisclaimer = "Documentation, not live state and not authorization: it permits nothing and says nothing about this appliance now. Use the READ tools for state."

const guidanceOutput = `{"type":"object","properties":{` +
	`"requested_capability":{"type":"string"},"overall_state":{"type":"string"},` +
	`"identity":{"type":"object","properties":{"edition":{"type":"string"},"version":{"anyOf":[{"type":"string"},{"type":"null"}]},"source":{"type":"string"},"resolved_at":{"anyOf":[{"type":"string"},{"type":"null"}]}}},` +
	`"guidance":{"type":"array","items":{"type":"object","properties":{` +
	`"capability":{"type":"string"},"source_id":{"type":"string"},"title":{"type":"string"},"canonical_url":{"type":"string"},` +
	`"content_excerpt":{"type":"string"},"content_hash":{"type":"string"},"pfsense_edition":{"type":"string"},"trust_label":{"type":"string"},` +
	`"applicability":{"type":"string"},"evidence_level":{"type":"string"},"applicable_overlay_chain":{"type":"array","items":{"type":"string"}},` +
	`"observed_edition_used":{"type":"string"},"observed_version_used":{"anyOf":[{"type":"string"},{"type":"null"}]},"version_mismatch":{"type":"boolean"},` +
	`"retrieval_mode":{"type":"string"},"snapshot_version":{"type":"string"}}}},` +
	`"disclaimer":{"type":"string","const":"` + officialDisclaimer + `"}},"required":["requested_capability","overall_state","identity","guidance","disclaimer"]}`
