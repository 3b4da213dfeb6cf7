package gate

import (
	"context"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/gate/internal/proof"
	"pfsensemcp/pkg/executor/internal/gate/internal/rule"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Types of the packages below that callers use.
type (
	// World is where facts come from.
	World = rule.World
	// Policy is what the settings allow.
	Policy = rule.Policy
	// Denied is the one error of every decision.
	Denied = rule.Denied
	// Evidence is a statement of the reconciliation owner that passed.
	Evidence = proof.Evidence
	// Live makes two reads of the appliance, one after the other, with the time between
	// them that settles.
	Live = proof.Live
)

// Reasoned returns the reason that an error of the store, the alias reader or the
// counter carries as its class, and otherwise when it carries none of the closed list.
func Reasoned(err error, otherwise record.Reason) record.Reason {
	return rule.Reasoned(err, otherwise)
}

// Reconciliation decides over evidence that settles a contract. Live is called once and
// last.
func Reconciliation(ctx context.Context, w World, file []byte, live Live) (*Evidence, *Denied) {
	return proof.Reconciliation(ctx, w, file, live)
}

// Release decides over evidence that lets the target of a failed rollback go.
func Release(ctx context.Context, w World, file []byte, live Live) (*Evidence, *Denied) {
	return proof.Release(ctx, w, file, live)
}

// Rebaseline decides over the reconciliation owner's acceptance of the counter's value.
// It alone is heard under quarantine, but for the kinds that no signature repairs.
func Rebaseline(ctx context.Context, w World, file []byte) (*artifact.Rebaseline, *Denied) {
	return proof.Rebaseline(ctx, w, file)
}

// Match says what a list shows of a contract's target, as the attempt that is in doubt
// would see it: an observation and the evidence over it are judged by the same look.
func Match(in *change.Intent, c *record.Contract, l *alias.List) (string, error) {
	return proof.Match(in, c, l)
}
