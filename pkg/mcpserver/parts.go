package mcpserver

import (
	"context"
	"log/slog"

	"pfsensemcp/pkg/mcpserver/internal/about"
	"pfsensemcp/pkg/mcpserver/internal/admin"
	"pfsensemcp/pkg/mcpserver/internal/guide"
	"pfsensemcp/pkg/mcpserver/internal/relay"
	"pfsensemcp/pkg/mcpserver/internal/schema"
	"pfsensemcp/pkg/mcpserver/internal/suite"
	"pfsensemcp/pkg/mcpserver/internal/tool"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/proto/guidance/v1"
)

// The inner parts that a program puts together.
type (
	// Suite is the other daemons as mcpd sees them.
	Suite = suite.Suite
	// Extra is a tool that is no row of the catalog.
	Extra = tool.Extra
	// Answer is what a tool answers with.
	Answer = tool.Answer
	// Handler answers one call.
	Handler = tool.Handler
	// Class says what kind of tool it is.
	Class = tool.Class
	// Admin answers operators on mcpd-admin.sock.
	Admin = admin.Admin
	// Key is the READ key in its file.
	Key = admin.Key
	// Schema is the appliance's own OpenAPI document, indexed.
	Schema = schema.Cache
	// About is what operators may know of mcpd's settings.
	About = admin.About
	// ApplianceIdentity is what guidance is judged against.
	ApplianceIdentity = about.Identity
	// InterfaceNames is how the appliance names interfaces.
	InterfaceNames = about.InterfaceNames
	// Relay passes the signed files of an inbox on to executord.
	Relay = relay.Relay
	// Appliance is the part of the client that operators' questions need.
	Appliance = admin.Appliance
)

// The classes of tools.
const (
	Read     = tool.Read
	Guidance = tool.Guidance
)

// NewSuite returns the suite whose sockets are below dir; self is mcpd's own
// node.
func NewSuite(dir string, self *rpc.Node) (*Suite, error) { return suite.New(dir, self) }

// NewKey reads the READ key and registers it for redaction. read reads the
// file, redact hides a secret from the log.
func NewKey(read func() (secretfile.Secret, error), redact func([]byte)) (*Key, error) {
	return admin.NewKey(read, redact)
}

// NewSchema returns the appliance's own document; nothing is read before the first
// question about it.
func NewSchema(a schema.Appliance) *Schema { return schema.New(a) }

// NewApplianceIdentity returns an ApplianceIdentity that asks on its first use.
func NewApplianceIdentity(a Appliance) *ApplianceIdentity { return about.NewIdentity(a) }

// NewInterfaceNames returns an InterfaceNames that asks on its first use.
func NewInterfaceNames(a Appliance) *InterfaceNames { return about.NewInterfaceNames(a) }

// NewRelay opens the inbox at dir; Run passes its files on.
func NewRelay(dir string, s *Suite, log *slog.Logger) (*Relay, error) {
	return relay.New(dir, s.Conn(suite.Executord), log)
}

// NewAdmin returns the operators' service. doc is the appliance's own document;
// nil means that no contract of it is handed out.
func NewAdmin(s *Suite, a Appliance, k *Key, doc *Schema, about About) *Admin {
	return admin.New(s, a, k, doc, about)
}

// WatchAppliance adds to a registry what the client knows of the appliance.
func WatchAppliance(r *metrics.Registry, a Appliance) { admin.Watch(r, a) }

// AdminMethods is the method table of admin.v1.
func AdminMethods() []rpc.Method { return admin.Methods() }

// GuidanceTools returns the two guidance tools. doc is the appliance's own document,
// or nil. identity says what is known of
// the appliance and is never taken from a caller; nil means that nothing is.
func GuidanceTools(s *Suite, doc *Schema, identity func(context.Context, pfrest.Caller) *guidancepb.Identity) []Extra {
	return []Extra{guide.Official(s, identity), guide.API(s, doc)}
}
