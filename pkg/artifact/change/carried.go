package change

import "pfsensemcp/pkg/artifact/internal/field"

// Carried lists the preimages that an executor's file carries for people to judge:
// the prepared change and the plan, with the three texts and the digest that must
// be theirs. The digest members of one file only are listed by the file.
func Carried(c *field.Codec, in *Intent, plan *Plan) {
	c.Object("prepared_execution_intent", in.Fields)
	c.Object("posture_plan", plan.Fields)
	c.Bind(in.Appliance == plan.Executor.ApplianceTarget, "posture_plan.executor_binding", "must name the appliance of the change")
	c.Echo("alias_name", in.Target.Name, aliasName)
	c.Echo("previous_description", in.Target.Descr, field.Any)
	c.Echo("requested_description", in.NewDescription, storable)
	c.Claim("execution_intent_digest", in.ExecutionDigest)
}
