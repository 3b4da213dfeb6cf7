// Package catalog owns THE tables: tools, models, toolsets, capabilities,
// profiles, privileges. It is data and checks of the data, nothing else: it
// opens nothing, keeps no state and imports no package of ours but errs.
//
// Everything from L2 up may import it, and pfrest is built with its Endpoints.
// The rows are shared and must not be changed by anybody who looks at them.
//
// Adding a READ tool is one row in one file. Everything that depends on a row
// is derived from it and never written twice: registration, schemas,
// annotations, argument checks, decoding, the disclosure gate, the privilege
// list, tool guidance, the reference page, the smoke test of every tool and the
// check against the appliance's OpenAPI document.
//
// The attack it stops: a field, a path or a secret that reaches a model because
// nobody looked at it. What no row names does not leave the server.
package catalog

// Kind is the JSON type of a field's value, or of each entry of a list.
type Kind uint8

// The kinds a field can have.
const (
	String Kind = iota
	Integer
	Number
	Boolean
	Object // rows of Field.Model
)

// Gate is the kind of identifying data a field holds. A gated field is null
// ([] for a list) unless the caller asked for identifying metadata.
type Gate uint8

// The kinds of identifying data, by kind of data and not by tool.
const (
	Shown    Gate = iota // not gated
	Network              // addresses, networks, ports bound to a host, MAC addresses
	Naming               // host, domain, gateway and peer names, certificate names
	Personal             // user names, admin attribution, e-mail addresses, public keys of people
	Device               // serial numbers and persistent device ids
)

// Mark is a set of properties of a field's value.
type Mark uint16

// The marks.
const (
	FreeText      Mark = 1 << iota // text written by outsiders or administrators
	MayEmbed                       // free text in which people put secrets: the scrubber's strict rules
	Address                        // IP address, network, host with port, or MAC address: compared as such by where
	TrimEnd                        // the appliance leaves stray line ends on it
	RequestTime                    // the time of the request when the appliance has none stored: null unless Companion is set
	Volatile                       // counters and ages that change between two reads of an unchanged row
	Key                            // names the row; a row without it is unusable
	InterfaceName                  // an interface, named as represent_interfaces_as says: descr, id or real name
	Derived                        // not in the appliance's answer: read out of another field of the row by us
	OrID                           // the id stands for it in rows without it
)

// Field is one field of a model, in the order it is shown.
type Field struct {
	Name      string   // as shown
	Up        string   // the name upstream where it differs from Name
	Kind      Kind     //
	List      bool     // a list of Kind
	Model     *Model   // of each object when Kind is Object
	Values    []string // closed set known from upstream; a value outside it is passed through and noted
	Gate      Gate     // identifying metadata
	Mark      Mark     //
	Companion string   // for RequestTime: the upstream field that is null when nothing is stored
	Desc      string   // unit, meaning or trap in a few of our words; "" where the name says it
}

// Model is a closed record: what it does not name is dropped.
type Model struct {
	Name     string // ours
	Upstream string // the model's name in pfREST's OpenAPI document
	Fields   []Field
	Excluded []Exclusion // upstream fields left out on purpose
}

// Exclusion is an upstream field that no model shows, and why.
type Exclusion struct {
	Field  string
	Secret bool   // it is or may be a secret: counts for secrets_intentionally_omitted
	Why    string // for the reviewer
}

// Result kinds: what an answer is evidence of.
const (
	Configuration  = "configuration"   // what is stored, applied or not
	ApplyStatus    = "apply_status"    // whether stored changes were pushed
	RuntimeStatus  = "runtime_status"  // live state, changes between calls
	DerivedState   = "derived_state"   // computed or observed now: tables, leases, states
	History        = "history"         // past events
	CapabilityList = "capability_list" // what could be used or installed
	Identity       = "identity"        // what the appliance or package says it is
)

// Via says that a tool's rows stand in a nested list of another endpoint,
// because upstream's own endpoint answers an empty list whatever the truth is.
type Via struct {
	Path  string // the parent's endpoint
	Field string // the nested list upstream; rows get the parent's id as parent_id
}

// Tool is one READ tool: one fixed GET on one endpoint.
type Tool struct {
	Name       string // pfsense_get_…, the contract's
	Title      string // a few words for people
	Desc       string // for the model: at most 250 characters, ours
	Toolset    string // firewall, interfaces, routing, dns, dhcp, vpn, system, services, extended
	Core       bool   // also in the toolset core
	Capability string // FIREWALL_READ, …; each tool belongs to exactly one
	Path       string // /api/v2/…; "" for pfsense_mcp_info, which asks no appliance
	Package    string // the pfSense package it is bound to; "" for none. Rows that came are shown even when it is absent
	List       bool   // list endpoint (rows) or object endpoint (object)
	MaxLimit   int    // bound of limit, 100 or 500; 0 for objects
	Kind       string // result kind
	Model      *Model // the shape of a row or of the object
	Interpret  string // what the answer means and what it does not, in our words
	Related    []string
	Log        bool     // a log endpoint: limit alone, newest rows, coverage stated
	Reads      *Via     // set where upstream's own endpoint lies
	Since      string   // first version of the REST API package that has the endpoint; "" when 2.7.1 did
	Instead    string   // the tool that shows most of it on older versions; "" for none
	Caution    *Caution // what older versions get wrong
}

// Caution is what the REST API package up to a version is known to answer wrongly.
type Caution struct {
	UpTo string // the last version that does
	Note string // what is wrong, for the notes of an answer
}
