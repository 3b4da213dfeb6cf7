package admin

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/admin/v1"
)

// About is what operators may know of mcpd's settings.
type About struct {
	TLSMode  string // strict, auto or insecure
	Pinned   bool
	Identity string          // the READ user's name
	Tools    []*catalog.Tool // those that are offered
}

// The rows whose endpoints say what the appliance is. They are looked up in the
// table: an endpoint that no tool has, no fact has either.
const (
	versionTool = "pfsense_get_system_version"
	carpTool    = "pfsense_get_carp_status"
	vipsTool    = "pfsense_get_firewall_virtual_ips"
)

// Bounds of an answer.
const (
	maxPrivileges = 128 // of the tools that are offered
	maxVersion    = 32  // bytes of a version
	maxProblem    = 200 // bytes of our words
)

// ApplianceFacts implements admin.v1. What cannot be read is unknown, and is no
// failure: doctor asks when things are broken.
func (a *Admin) ApplianceFacts(ctx context.Context, _ *adminpb.ApplianceFactsRequest) (*adminpb.ApplianceFactsResponse, error) {
	peer, _ := rpc.PeerFrom(ctx)
	caller := pfrest.Caller{UID: peer.UID}
	out := &adminpb.ApplianceFactsResponse{TlsMode: a.about.TLSMode, Pinned: a.about.Pinned, Identity: a.about.Identity, Privileges: offered(a.about.Tools)}
	r := &reads{a: a, ctx: ctx, caller: caller}
	if settings, ok := r.object(catalog.PathRESTAPISettings); ok {
		out.Hateoas = known(settings, "hateoas")
		out.ReadOnly = known(settings, "read_only")
		out.LoginProtection = known(settings, "login_protection")
		out.ExposesSecrets = exposes(settings)
		switch s := text(settings, "represent_interfaces_as"); s {
		case "id", "descr", "if":
			out.InterfaceNames = s
		}
	}
	if carp, ok := r.object(pathOf(carpTool)); ok {
		out.CarpMaintenance = known(carp, "maintenance_mode")
	}
	vips, err := a.list(ctx, caller, vipsTool)
	if r.note(err); err == nil && len(vips) < maxListed {
		out.Carp, out.CarpBackup = shared(vips)
	}
	if version, ok := r.object(pathOf(versionTool)); ok {
		out.PfsenseVersion = plain(text(version, "base"))
	}
	ix, _, problem := a.doc.Get(ctx, caller)
	if ix != nil {
		out.PackageVersion, out.DocumentPublic = plain(ix.Version), adminpb.Known_KNOWN_YES
	} else {
		out.DocumentProblem = problem[:min(len(problem), maxProblem)]
	}
	out.LastClass = r.class()
	a.reached(out)
	return out, nil
}

// reached fills in how the connections went, after everything else was tried.
func (a *Admin) reached(out *adminpb.ApplianceFactsResponse) {
	s := a.appliance.State()
	out.Pin, out.KeyRefused = s.Pin, s.KeyRefused
	if !s.NotAfter.IsZero() {
		out.CertificateNotAfter = s.NotAfter.Unix()
	}
	if !s.ClockAt.IsZero() {
		out.ClockSeen, out.ClockAheadMs = true, s.Clock.Milliseconds()
	}
}

// reads are the questions of one answer that carry the key: the document, which needs
// none, says nothing about whether the appliance lets us in.
type reads struct {
	a      *Admin
	ctx    context.Context
	caller pfrest.Caller
	ok     bool
	failed string // class of the first failure
}

// note keeps how one question ended.
func (r *reads) note(err error) {
	switch {
	case err == nil:
		r.ok = true
	case r.failed == "":
		r.failed = class(err)
	}
}

// class returns why the appliance answered nothing, "" when it answered something.
func (r *reads) class() string {
	if r.ok {
		return ""
	}
	return r.failed
}

// object reads one object of the appliance; the bytes are the caller's.
func (r *reads) object(path pfrest.Endpoint) (jsontext.Value, bool) {
	if path == "" {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(r.ctx, factWithin)
	defer cancel()
	answer, err := r.a.appliance.Get(ctx, r.caller, path, pfrest.Page{})
	defer answer.Release()
	if r.note(err); err != nil {
		return nil, false
	}
	return slices.Clone(answer.Data), true
}

// shared says whether there are CARP addresses, and whether this node is not the
// master of one.
func shared(vips []jsontext.Value) (carp, backup adminpb.Known) {
	carp, backup = adminpb.Known_KNOWN_NO, adminpb.Known_KNOWN_NO
	for _, v := range vips {
		if text(v, "mode") != "carp" {
			continue
		}
		carp = adminpb.Known_KNOWN_YES
		if text(v, "carp_status") != "MASTER" {
			backup = adminpb.Known_KNOWN_YES
		}
	}
	return carp, backup
}

// factWithin bounds one fact: the appliance may hang, and the others are wanted.
const factWithin = 10 * time.Second

// pathOf returns the endpoint of a row, "" for a row that is gone.
func pathOf(tool string) pfrest.Endpoint {
	row, _ := catalog.Lookup(tool)
	if row == nil {
		return ""
	}
	return pfrest.Endpoint(row.Path)
}

// offered returns the privileges that the tools need.
func offered(tools []*catalog.Tool) []string {
	all := catalog.NeededBy(tools)
	return all[:min(len(all), maxPrivileges)]
}

// known reads a boolean member.
func known(obj jsontext.Value, name string) adminpb.Known {
	v, ok := jsonline.Member(obj, name)
	switch {
	case ok && string(v) == "true":
		return adminpb.Known_KNOWN_YES
	case ok && string(v) == "false":
		return adminpb.Known_KNOWN_NO
	}
	return adminpb.Known_KNOWN_UNSPECIFIED
}

// exposes says whether sensitive fields are returned, all or some.
func exposes(settings jsontext.Value) adminpb.Known {
	all := known(settings, "expose_sensitive_fields")
	some, ok := jsonline.Member(settings, "override_sensitive_fields")
	if ok && some.Kind() == '[' && strings.ContainsRune(string(some), '"') {
		return adminpb.Known_KNOWN_YES
	}
	return all
}

// text reads a text member, "" when it is none.
func text(obj jsontext.Value, name string) string {
	v, ok := jsonline.Member(obj, name)
	if !ok || v.Kind() != '"' {
		return ""
	}
	return jsonline.Text(v)
}

// plain returns a version, "" for a text that is none: it is an outsider's and is
// shown.
func plain(s string) string {
	if len(s) > maxVersion || strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._+-", r)
	}) {
		return ""
	}
	return s
}

// class returns the closed class of an error of the client.
func class(err error) string {
	if c := errs.Public(err).Class; c != "" {
		return c
	}
	return "internal"
}
