// Package change owns what is being approved: the one kind of change, the state of
// an alias before it, the new text, the appliance and executor it is bound to, and
// every digest over them.
//
// The executor, pkg/artifact and the signer import it; it imports canon, textsafe
// and the codec alone. It must never compute a digest of something that breaks a
// rule, and its structs never hold one fact twice: where a file repeats a fact, the
// two are compared while reading.
//
// The attacks it stops: a prepared change whose parts name different aliases, so
// that one is shown and another changed; text that the appliance stores as
// something else, loses its configuration over, or that people cannot see; and a
// plan that has the right digest and the wrong health.
package change

// The fixed identifiers of the one change that exists.
const (
	Operation           = "set_firewall_alias_description_v1"
	Capability          = "ALIAS_WRITE"
	EndpointSymbol      = "FIREWALL_ALIAS_DESCRIPTION"
	HTTPMethod          = "PATCH"
	Adapter             = "firewall-alias-description-v1"
	RollbackPlanVersion = "firewall-alias-description-rollback-v1"
	StepID              = "capability_posture.milestone_9_activation"
	RiskClass           = LevelActivation
)

// LabPrefix begins the id of every store of a laboratory, and of no other.
const LabPrefix = "lab-"
