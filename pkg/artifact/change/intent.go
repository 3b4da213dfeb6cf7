package change

import (
	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// Intent is a prepared change (PreparedExecutionIntentV1): the state that was
// read, the new text and the appliance. The file says the target's name four times
// and its state twice; here each stands once, and a file in which they differ is
// refused.
type Intent struct {
	Target         AliasState // as read: precondition, and what an undo restores
	NewDescription string
	Appliance      string // appliance_target_digest
}

// Fields lists the members. A new text equal to the old one is no change.
func (in *Intent) Fields(c *field.Codec) {
	name, snapshot := in.Target.Name, in.Target
	c.Version(1)
	c.Const("capability", Capability)
	c.Const("endpoint_symbol", EndpointSymbol)
	c.Const("http_method", HTTPMethod)
	c.Const("adapter_version", Adapter)
	c.Object("target_precondition", in.Target.Fields)
	c.Object("resource_target", named(&name))
	c.Bind(name == in.Target.Name, "resource_target", "must name the alias of target_precondition")
	c.Object("normalized_mutation_intent", in.mutation)
	c.Object("rollback_snapshot", snapshot.Fields)
	c.Bind(snapshot.equal(&in.Target), "rollback_snapshot", "must be the state of target_precondition")
	c.Const("rollback_plan_version", RollbackPlanVersion)
	c.Bind(in.NewDescription != in.Target.Descr, "normalized_mutation_intent", "must change the description")
}

// named lists the members of an identity object.
func named(name *string) func(*field.Codec) {
	return func(c *field.Codec) { c.Text("alias_name", name, aliasName) }
}

// mutation lists the members of the normalized mutation intent.
func (in *Intent) mutation(c *field.Codec) {
	hint := in.Target.Name
	c.Const("operation", Operation)
	c.Object("raw_target_hint", named(&hint))
	c.Bind(hint == in.Target.Name, "raw_target_hint", "must name the alias of target_precondition")
	c.Text("new_description", &in.NewDescription, storable)
	c.Hex64("appliance_target_digest", &in.Appliance)
}

// Digests are the digests of a prepared change at one position of its alias.
type Digests struct {
	ExecutionIntent, TargetIdentity, TargetFingerprint, Intent, Snapshot string
}

// Digests computes all five. Locator is the alias's position when it was read.
func (in *Intent) Digests(locator int64) (d Digests, err error) {
	whole, err := field.Encode(in.Fields)
	if err != nil {
		return d, err
	}
	if locator < 0 || locator > MaxLocator {
		return d, field.Refuse(field.Structure, "lifecycle_locator", "must be an integer from 0 to 2147483647")
	}
	target, err := in.Target.Object()
	if err != nil {
		return d, err
	}
	observed, err := in.Target.Object()
	if err != nil {
		return d, err
	}
	observed["id"] = locator
	for _, one := range []struct {
		to      *string
		purpose canon.Purpose
		of      any
	}{
		{&d.ExecutionIntent, canon.ExecutionIntent, whole},
		{&d.TargetIdentity, canon.TargetIdentity, canon.Object{"alias_name": in.Target.Name}},
		{&d.TargetFingerprint, canon.TargetFingerprint, target},
		{&d.Snapshot, canon.Snapshot, target},
		// The hint gives way to all that was observed, with the position.
		{&d.Intent, canon.Intent, canon.Object{
			"operation": Operation, "raw_target_hint": observed,
			"new_description": in.NewDescription, "appliance_target_digest": in.Appliance,
		}},
	} {
		if *one.to, err = field.Digest(one.purpose, one.of); err != nil {
			return Digests{}, err
		}
	}
	return d, nil
}

// ExecutionDigest returns the execution-intent digest, which does not depend on the
// position.
func (in *Intent) ExecutionDigest() (string, error) {
	d, err := in.Digests(0)
	return d.ExecutionIntent, err
}

// ExpectedPost returns the fingerprint that the target has once the change is
// made.
func (in *Intent) ExpectedPost() (string, error) {
	after := in.Target
	after.Descr = in.NewDescription
	return after.Fingerprint()
}

// IdempotencyKey returns the digest of a contract's content.
func IdempotencyKey(requestID string, d Digests, locator int64) (string, error) {
	return field.Digest(canon.Idempotency, canon.Object{
		"request_id": requestID, "intent_digest": d.Intent, "lifecycle_locator": locator, "rollback_plan_version": RollbackPlanVersion,
		"snapshot_digest": d.Snapshot, "target_fingerprint": d.TargetFingerprint, "target_identity_digest": d.TargetIdentity,
	})
}

// Members are the three canonical texts that a contract keeps sealed.
type Members struct{ Identity, Intent, Snapshot []byte }

// Members returns what a contract seals.
func (in *Intent) Members() (Members, error) {
	mutation, err := field.Encode(in.mutation)
	if err != nil {
		return Members{}, err
	}
	snapshot, err := in.Target.Object()
	if err != nil {
		return Members{}, err
	}
	var m Members
	for _, one := range []struct {
		to *[]byte
		of canon.Object
	}{{&m.Identity, canon.Object{"alias_name": in.Target.Name}}, {&m.Intent, mutation}, {&m.Snapshot, snapshot}} {
		if *one.to, err = field.Bytes(one.of); err != nil {
			return Members{}, err
		}
	}
	return m, nil
}

// Open builds the prepared change again from what a contract sealed, under all the
// rules of a file.
func (m Members) Open() (*Intent, error) {
	var in Intent
	var name string
	for _, one := range []struct {
		b    []byte
		list func(*field.Codec)
	}{
		{m.Snapshot, in.Target.Fields},
		{m.Intent, in.mutation},
		{m.Identity, func(c *field.Codec) {
			named(&name)(c)
			c.Bind(name == in.Target.Name, "alias_name", "must name the alias of the snapshot")
		}},
	} {
		if err := field.Read(one.b, one.list); err != nil {
			return nil, err
		}
	}
	return &in, nil
}
