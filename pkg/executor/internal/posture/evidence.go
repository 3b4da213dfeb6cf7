package posture

import (
	"time"

	"pfsensemcp/pkg/artifact/change"
)

// Facts are what was found out about this executor.
type Facts struct {
	Configured  bool // there is a write configuration
	ConfigValid bool // and all of it is sound
	StoreExists bool // there is a store's file; nobody makes one by looking
	StoreBroken bool // it cannot be read, or a MAC in it is wrong
	Seeded      bool // it was founded on a counter
	Complete    bool // the provisioning record is there

	WitnessConfigured bool // the settings say where the counter is
	WitnessReachable  bool // it was read just now

	// Assurance is what was detected of the counter (change.AssuranceSoftware or
	// change.AssuranceHardware); while it cannot be reached, what the provisioning
	// record kept. Anything else is not known.
	Assurance string
	Lab       bool

	Baseline, Witness *int64    // counter values of the store and of the TPM, not below 0; nil when there is none
	ProvisionedAt     time.Time // zero until provisioned

	WriteGranted bool // the policy holds the tuple of the change
	Endpoints    int  // entries of the compiled table
}

// state is one row of the decision table.
type state struct {
	when      bool
	anchor    string
	assurance string
}

// Observe decides the evidence state; the first row that fits wins.
func Observe(f Facts) change.Evidence {
	stands := standing(f.Assurance, f.Lab)
	read := f.WitnessReachable && f.Witness != nil
	var is state
	for _, is = range []state{
		{f.Configured && !f.ConfigValid, change.EvidenceInvalid, change.AssuranceUnknown},
		{!f.Configured, change.EvidenceUnconfigured, change.AssuranceNone},
		{!f.StoreExists, change.EvidenceNotCreated, change.AssuranceNone},
		{f.StoreBroken, change.EvidenceStoreError, change.AssuranceUnknown},
		{!f.Seeded || !f.Complete || f.Baseline == nil, change.EvidenceUnprovisioned, change.AssuranceNone},
		{!f.WitnessConfigured, change.EvidenceUnverified, stands},
		{!read, change.EvidenceUnreachable, stands},
		{read && f.Baseline != nil && *f.Baseline == *f.Witness, change.EvidenceVerified, stands},
		{true, change.EvidenceMismatch, stands},
	} {
		if is.when {
			break
		}
	}
	ev := change.Evidence{Posture: change.PostureReadOnly, Assurance: is.assurance, Anchor: is.anchor}
	if f.WriteGranted && f.Endpoints > 0 {
		ev.Posture = change.PostureWriteProtected
	}
	switch is.anchor {
	case change.EvidenceVerified, change.EvidenceMismatch:
		ev.Witness = number(f.Witness)
		fallthrough
	case change.EvidenceUnverified, change.EvidenceUnreachable:
		ev.ProvisionedAt = f.ProvisionedAt
		fallthrough
	case change.EvidenceUnprovisioned:
		ev.Baseline = number(f.Baseline)
	}
	return ev
}

// standing returns what a counter counts as. A software TPM keeps its state in an
// ordinary file, which the snapshot that turns back the store turns back too: it is a
// witness in a laboratory alone, where the store's id and every preview say so.
func standing(detected string, lab bool) string {
	switch detected {
	case change.AssuranceHardware:
		return change.AssuranceHardware
	case change.AssuranceSoftware:
		if lab {
			return change.AssuranceHardware
		}
		return change.AssuranceSoftware
	}
	return change.AssuranceUnknown
}

// number returns a copy that the caller's facts do not share.
func number(n *int64) *int64 {
	if n == nil {
		return nil
	}
	v := *n
	return &v
}
