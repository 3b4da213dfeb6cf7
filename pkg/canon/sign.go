package canon

import "maps"

// Role is what a signature is for. It stands in the signed frame, outside the
// payload, so a signature of one role never verifies as one of another even over
// equal bytes. The set is closed.
type Role string

// The roles of the owners.
const (
	RolePlanAuthorization     Role = "plan-authorization-v2"
	RoleConfirmation          Role = "confirmation"
	RoleReconciliation        Role = "reconciliation"
	RoleRollback              Role = "rollback"               // by the confirmation owner
	RoleRollbackAuthorization Role = "rollback-authorization" // by the authorization owner
	RoleRebaseline            Role = "anchor-rebaseline"
)

// The roles of the executor's attestations.
const (
	RolePreview         Role = "executor-preview"
	RolePending         Role = "executor-pending"
	RoleObservation     Role = "executor-observation"
	RoleExport          Role = "executor-export"
	RoleRollbackRequest Role = "executor-rollback-request"
	RoleAnchorStatus    Role = "executor-anchor-status"
)

// Known says whether r is one of the roles.
func (r Role) Known() bool {
	switch r {
	case RolePlanAuthorization, RoleConfirmation, RoleReconciliation, RoleRollback, RoleRollbackAuthorization, RoleRebaseline,
		RolePreview, RolePending, RoleObservation, RoleExport, RoleRollbackRequest, RoleAnchorStatus:
		return true
	}
	return false
}

// SigMessage returns the bytes that an Ed25519 signature of the role covers: the
// domain, "signature", the role and the payload without its own proof or
// attestation, each framed.
func SigMessage(r Role, payload Object) ([]byte, error) {
	if !r.Known() {
		return nil, broken("a signature of no known role")
	}
	bare := maps.Clone(payload)
	delete(bare, "proof")
	delete(bare, "attestation")
	b, err := Encode(bare)
	if err != nil {
		return nil, err
	}
	return inDomain([]byte("signature"), []byte(r), b), nil
}
