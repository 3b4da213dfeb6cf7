package canon

import (
	"crypto/sha256"
	"encoding/hex"
)

// Purpose is what a digest is for, with the context that belongs to it. The set
// is closed: nobody can pair a purpose with another's context.
type Purpose uint8

// The purposes.
const (
	ApplianceTarget   Purpose = iota // the configured appliance
	TargetIdentity                   // which alias
	TargetFingerprint                // the state of an alias
	Intent                           // what is to become of it, with its locator
	Snapshot                         // the state that an undo restores
	Collection                       // all other aliases
	Idempotency                      // one contract's content
	ExecutionIntent                  // all of a prepared change
	Plan                             // a security-posture plan
	PlanAuthorization                // a signed authorization, with its proof
	Confirmation                     // a signed confirmation, with its proof
	Reconciliation                   // signed evidence, with its proof
	Rollback                         // a signed rollback of either owner, with its proof
	Rebaseline                       // a signed rebaseline, with its proof
	Observation                      // an observation's payload
	Request                          // a request's content
	Policy                           // the effective limits
	AuthoritySet                     // the pinned public keys
)

// context3 is the context of everything about the one kind of change.
var context3 = [...]string{"ALIAS_WRITE", "FIREWALL_ALIAS_DESCRIPTION", "PATCH"}

// purposes gives each Purpose its name and context.
var purposes = [...]struct {
	name    string
	context []string
}{
	ApplianceTarget:   {"target-identity", []string{"configured-pfsense-appliance-v1"}},
	TargetIdentity:    {"target-identity", context3[:1]},
	TargetFingerprint: {"target-fingerprint", context3[:]},
	Intent:            {"intent", context3[:]},
	Snapshot:          {"snapshot", context3[:]},
	Collection:        {"collection", context3[:]},
	Idempotency:       {"idempotency", context3[:]},
	ExecutionIntent:   {"execution-intent", []string{"PreparedExecutionIntentV1"}},
	Plan:              {"plan", nil},
	PlanAuthorization: {"plan-authorization-v2", nil},
	Confirmation:      {"confirmation", nil},
	Reconciliation:    {"reconciliation", nil},
	Rollback:          {"rollback", nil},
	Rebaseline:        {"anchor-rebaseline", nil},
	Observation:       {"observation", nil},
	Request:           {"request", nil},
	Policy:            {"policy", nil},
	AuthoritySet:      {"authority-set", nil},
}

// Digest returns the digest of v for the purpose: SHA-256 in lower-case hex over
// the domain, the purpose, its context and the canonical bytes, each framed.
func (p Purpose) Digest(v any) (string, error) {
	if int(p) >= len(purposes) {
		return "", broken("a digest of no known purpose")
	}
	return digest(purposes[p].name, purposes[p].context, v)
}

// RecordDigest returns the digest of a stored record, whose context is the bucket
// that holds it.
func RecordDigest(bucket string, v any) (string, error) {
	return digest("record", []string{bucket}, v)
}

func digest(purpose string, context []string, v any) (string, error) {
	b, err := Encode(v)
	if err != nil {
		return "", err
	}
	parts := [][]byte{[]byte(purpose)}
	for _, c := range context {
		parts = append(parts, []byte(c))
	}
	return Hash(inDomain(append(parts, b)...)), nil
}

// Hash returns SHA-256 of b in lower-case hex, without domain or purpose: for
// bytes that are framed already, or files that are named by their plain hash.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
