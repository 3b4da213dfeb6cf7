package reason

// What several words advise.
const (
	anew     = "mcpctl write preview REQUEST -o FILE, then both signatures anew"
	carry    = "carry the file again; if it stays like this, a file of another kind or version was handed in"
	owner    = "find out which key signed: compare authorities.json on the host with the owners' keys (mcpsign pins)"
	clocks   = "set the clocks of the host and of the signer's machine, then sign again"
	later    = "wait for what is under way (mcpctl write list), then hand the file in again while it is valid"
	counter  = "mcpctl anchor status; a counter that differs needs a signed rebaseline"
	posture  = "mcpctl discover and mcpctl doctor write say what changed; then a new preview and new signatures"
	settle   = "settle what is open first: mcpctl write list, then observe and reconcile"
	landing  = "wait until the time that mcpctl write list shows as may land has passed"
	target   = "look at the alias on the appliance: somebody changed, moved or removed it; if the change is still wanted, " + anew
	read     = "mcpctl doctor: see whether the appliance answers and the write identity has its seven privileges; then try again"
	busy     = "somebody is changing aliases on the appliance, or changed something seconds ago: let them finish and apply, then try again"
	stale    = "when no change works on the appliance, a request that died left its lock behind: remove the REST package's lock file or restart the appliance, then " + anew
	version  = "the write path is proven for other versions of the REST package than the one installed: do not write until this executord knows it"
	settings = "put the REST package's settings back (HATEOAS off, interface representation as it was), then " + anew
	observe  = "mcpctl write observe CONTRACT -o FILE, and have the reconciliation owner sign over that file"
	rollback = "mcpctl write rollback-request CONTRACT -o FILE, then both owners' signatures anew"
	limits   = "nothing is wrong with the file: wait until the limit has passed, then hand it in again while it is valid"
	restore  = "do not repair the store: mcpctl audit verify; executord verify when executord is down; then archive the file, settle its open contracts by hand and set up a new store"
)

// table has a line for every word of executord's closed list: the word, what it
// means, what to do.
const table = `created | a record was made
restart | executord started anew: what was approved before and not yet sent is void | ` + anew + `
expired | its time ran out before it was used | ` + anew + `
operator_cancel | an operator ended it
interrupted | executord ended while the change may have been on its way | ` + observe + `
interrupted_before_anchor | executord ended before the counter moved, so nothing was sent | ` + anew + `
anchor_refused | the counter was not advanced, so nothing was sent | ` + counter + `
rebaseline | a signed rebaseline accepted the counter's value; what was open before it must be settled | ` + settle + `
released | the target of a failed rollback was let go by signature
attested_only | it was settled on a signature alone: the appliance no longer showed either text
denials_capped | so many denials came within the hour that they are counted and no longer written one by one | find out who hands in files: the rows before this one name the uid
rows_capped | so many quarantines began and ended within the hour that they are no longer written one by one | find out what comes and goes: mcpctl doctor write, and the journal of executord
authorization | an authorization was used up
confirmation | a confirmation was used up
reconciliation | a piece of evidence was used up
rollback | the confirmation owner's half of a rollback was used up
rollback_authorization | the authorization owner's half of a rollback was used up
not_sent | not a byte of the change left the host | ` + anew + `
ambiguous_send | the connection broke while the change was being sent: it may or may not have arrived | ` + observe + `
preflight_drift | the alias had changed before the change began; nothing was sent | ` + target + `
superseded | a newer request took its place
meta_fallback | the file's second head page was used: the last write to disk was cut off | mcpctl audit verify; check the disk
others_changed | other aliases changed at the same time; the target is as approved | look at the appliance's recent changes
unpreviewed | nobody made a preview in time
restored_backup | the store is a copy that was made by backup | a signed rebaseline: mcpctl anchor status -o FILE
g1_size | the file is larger than a signed file may be | ` + carry + `
g1_form | the file is not the exact form of an authorization | ` + carry + `
g1_version | the authorization is of another version | ` + carry + `
g1_request | the request it names is not open | mcpctl write list --all shows what became of it
g1_preview | the request has no preview | ` + anew + `
g1_quarantine | executord is in quarantine and takes no approvals | mcpctl discover names the cause
g2_signature | the signature does not fit the file | ` + owner + `
g2_authority | no pinned authorization owner has this name | ` + owner + `
g3_not_yet | it is signed for a time that has not come | ` + clocks + `
g3_expired | the authorization has expired | ` + anew + `
g3_lifetime | it would live longer than executord allows | ` + owner + `
g3_clock | the host's clock went back | set the host's clock; see mcpctl discover
g3_floor | it was signed before the last rebaseline, which voided it | ` + anew + `
g4_plan | it is for another plan than the newest preview's | ` + anew + `
g4_step | it names another step than the one that may be authorized | ` + carry + `
g4_intent | it is for another change than the newest preview's | ` + anew + `
g4_evidence | it copies other evidence than the preview's | ` + anew + `
g4_age | it was signed before the newest preview was made, or the preview is too old | ` + anew + `
g5a_digest | store, counter, policy, owners, program or appliance changed since the preview | ` + posture + `
g5a_unsafe | the plan is not safe to proceed with | ` + posture + `
g5a_evidence | the counter is not provisioned and verified | ` + counter + `
g5a_counter | the counter and the store differ, or an attempt is not finished | ` + counter + `
g5a_lockout | three or more changes have an open outcome | ` + settle + `
g5a_landing | an earlier write may still arrive at the appliance | ` + landing + `
g5a_in_flight | another change is under way | ` + later + `
g5a_unavailable | the counter could not be read | ` + counter + `
g5b_identity | the appliance is not the one that the preview was made for | mcpctl doctor; find out what stands at that address
g5b_target | the alias could not be found as it was, or is of a kind that is not changed here | ` + target + `
g5b_intent | the alias changed after the preview | ` + target + `
g5b_locator | the alias moved in the list after the preview | ` + target + `
g5b_no_op | the alias has the new text already | nothing: cancel the request
g5b_policy | the policy does not allow this kind of change | see write.enabled in executord.toml
g5b_rate | a limit on how often is used up | ` + limits + `
g5b_version | the REST package's version is not one the write path is proven for | ` + version + `
g5b_busy | the appliance has changes of somebody else pending, or was changed seconds ago | ` + busy + `
g5b_settings | the REST package's settings are not as at the preview | ` + settings + `
g5b_read | the appliance could not be read completely | ` + read + `
g6_consumed | this authorization was used before | ` + anew + `
g6_reserved | another contract holds this alias | ` + settle + `
g6_cooldown | the last change of this alias is less than 90 seconds ago | ` + limits + `
g6_limit | too many contracts are prepared | finish or cancel some: mcpctl write list
g6_feasible | there is too little time left, or the texts could not be sealed | ` + anew + `
g6_store | the store could not take it | mcpctl doctor write; check the disk
c1_size | the file is larger than a signed file may be | ` + carry + `
c1_form | the file is not the exact form of a confirmation | ` + carry + `
c2_signature | the signature does not fit the file | ` + owner + `
c2_authority | no pinned confirmation owner has this name | ` + owner + `
c3_contract | there is no such contract | mcpctl write list --all
c3_state | the contract is not waiting for a confirmation | mcpctl write show CONTRACT
c3_expired | the contract or the confirmation has expired | ` + anew + `
c3_not_yet | it is signed for a time that has not come | ` + clocks + `
c3_early | it was signed before the contract existed | ` + clocks + `
c3_clock | the host's clock went back | set the host's clock; see mcpctl discover
c3_floor | it was signed before the last rebaseline, which voided it | ` + anew + `
c3_consumed | this confirmation was used before | mcpctl write show CONTRACT
c4_binding | it is for another contract, or for other digests | mcpctl write pending CONTRACT -o FILE, then sign that file
c5_expired | the authorization beneath it has expired | ` + anew + `
c5_pinned | the first owner's key is no longer pinned | ` + owner + `
c5_floor | the authorization beneath it was signed before the last rebaseline, which voided it | ` + anew + `
c5_distinct | both approvals are by the same owner or key | two owners must sign, each with a key of its own
c6_digest | store, counter, policy, owners, program or appliance changed since the preview | ` + posture + `
c6_unsafe | the plan is not safe to proceed with | ` + posture + `
c6_evidence | the counter is not provisioned and verified | ` + counter + `
c6_counter | the counter and the store differ, or an attempt is not finished | ` + counter + `
c6_lockout | three or more changes have an open outcome | ` + settle + `
c6_landing | an earlier write may still arrive at the appliance | ` + landing + `
c6_in_flight | another change is under way | ` + later + `
c6_unavailable | the counter could not be read | ` + counter + `
c6_quarantine | executord is in quarantine and takes no approvals | mcpctl discover names the cause
c7_policy | the policy does not allow this kind of change | see write.enabled in executord.toml
c7_identity | the appliance is not the one that the preview was made for | mcpctl doctor; find out what stands at that address
c7_target | the alias could not be found as it was | ` + target + `
c7_intent | the alias changed after it was authorized | ` + target + `
c7_locator | the alias moved in the list | ` + target + `
c7_no_op | the alias has the new text already | nothing
c7_version | the REST package's version is not one the write path is proven for | ` + version + `
c7_busy | the appliance has changes of somebody else pending, or was changed seconds ago | ` + busy + `
c7_settings | the REST package's settings are not as at the preview | ` + settings + `
c7_read | the appliance could not be read completely | ` + read + `
r_form | the file is not the exact form of signed evidence | ` + carry + `
r_quarantine | executord is in quarantine; only a rebaseline can help there, and not with a broken store or another counter | mcpctl discover names the cause
r_signature | the signature does not fit the file | ` + owner + `
r_authority | no pinned reconciliation owner has this name | ` + owner + `
r_contract | there is no such contract | mcpctl write list --all
r_state | the contract has no open outcome | mcpctl write show CONTRACT
r_version | the contract has moved since it was observed | ` + observe + `
r_outcome | that outcome is not possible for what was under way | ` + observe + `
r_observation | the evidence cites an observation that executord does not know any more | ` + observe + `
r_clock | the host's clock went back | set the host's clock; see mcpctl discover
r_time | it was signed too early, too late or in the future | ` + observe + `
r_floor | it was signed before the last rebaseline, which voided it | ` + observe + `
r_locator | the position in the evidence is not the observed one | ` + observe + `
r_fingerprint | the evidence is for another state of the alias | ` + observe + `
r_contradicted | the appliance shows something else than the evidence says | ` + observe + `
r_landing | the observation was made too soon: the write could still have arrived after it | wait until the time shown as may land, then ` + observe + `
r_consumed | this evidence was used before | mcpctl write show CONTRACT
r_read | the appliance could not be read completely, so nothing could be compared | ` + read + `
r_identity | the appliance is not the one of the contract | mcpctl doctor; find out what stands at that address
b_form | one of the two files is not the exact form of a rollback signature | ` + carry + `
b_quarantine | executord is in quarantine and takes no approvals | mcpctl discover names the cause
b_signature | a signature does not fit: perhaps the two files are swapped | hand them in under the right flags: --confirmation and --authorization
b_authority | no pinned owner of that kind has this name | ` + owner + `
b_distinct | both halves are by the same owner or key | two owners must sign, each with a key of its own
b_contract | there is no such contract | mcpctl write list --all
b_state | the contract is not verified, so there is nothing to undo | mcpctl write show CONTRACT
b_version | the contract has moved since the request for rollback was made | ` + rollback + `
b_clock | the host's clock went back | set the host's clock; see mcpctl discover
b_time | a signature is too old or of the future | ` + rollback + `
b_floor | it was signed before the last rebaseline, which voided it | ` + rollback + `
b_window | the change is older than a day: it can no longer be undone this way | ask for the old text as a new change
b_later | a later change of this alias was made: it can no longer be undone this way | ask for the old text as a new change
b_rate | a limit on how often is used up | ` + limits + `
b_reserved | another contract holds this alias | ` + settle + `
b_consumed | one of these signatures was used before | ` + rollback + `
b6_unavailable | the counter could not be read | ` + counter + `
b6_unsafe | the plan is not safe to proceed with | ` + posture + `
b6_evidence | the counter is not provisioned and verified | ` + counter + `
b6_counter | the counter and the store differ, or an attempt is not finished | ` + counter + `
b6_in_flight | another change is under way | ` + later + `
b6_lockout | three or more changes have an open outcome | ` + settle + `
b6_landing | an earlier write may still arrive at the appliance | ` + landing + `
b7_policy | the policy does not allow this kind of change | see write.enabled in executord.toml
b7_identity | the appliance is not the one of the contract | mcpctl doctor; find out what stands at that address
b7_target | the alias is no longer as the change left it | look at the alias on the appliance; ask for the old text as a new change
b7_intent | the undo would not change anything, or its texts do not agree | look at the alias on the appliance; ask for the old text as a new change
b7_locator | the alias moved in the list | ask for the old text as a new change
b7_version | the REST package's version is not one the write path is proven for | ` + version + `
b7_busy | the appliance has changes of somebody else pending, or was changed seconds ago | ` + busy + `
b7_settings | the REST package's settings are not as they must be | ` + settings + `
b7_read | the appliance could not be read completely | ` + read + `
drift | the alias was changed by somebody just before the send; nothing was sent | ` + target + `
locator_changed | the alias moved in the list just before the send; nothing was sent | ` + target + `
target_unresolved | the alias was not there exactly once | ` + target + `
identity_changed | the appliance is not the one that was approved | mcpctl doctor; find out what stands at that address
no_op | the alias has the new text already | nothing
policy | the policy does not allow this kind of change | see write.enabled in executord.toml
rate_open | too many requests are open | mcpctl write list; cancel what nobody wants
rate_minute | too many requests came within a minute | ` + limits + `
rate_day | too many requests came within a day | ` + limits + `
rate_sends | too many changes were sent within the hour or day | ` + limits + `
rate_prepared | too many contracts are prepared | finish or cancel some: mcpctl write list
cooldown | the last change of this alias is less than 90 seconds ago | ` + limits + `
reserved | another contract holds this alias | ` + settle + `
in_flight | another change is under way | ` + later + `
lockout | three or more changes have an open outcome | ` + settle + `
landing_window | an earlier write may still arrive at the appliance | ` + landing + `
anchor_unavailable | the counter could not be read | ` + counter + `
anchor_conflict | the counter was not at the expected value | ` + counter + `
anchor_mismatch | the counter and the store have different values: the store may be an old copy, or something else advanced the counter | ` + counter + `
anchor_unreachable | the counter could not be read, so it is not known whether it moved | bring the TPM or the witness back; executord looks again by itself
anchor_name | the counter is not the pinned one: it was removed and made anew, or this is another TPM | ` + restore + `
rejected | the appliance refused the change, and was seen unchanged after it | find the cause in the appliance's log, then ` + anew + `
shifted | the appliance refused because the position held another alias by then; nothing was changed | ` + anew + `
locked | the appliance's configuration was locked by somebody else; nothing was changed | ` + stale + `
ambiguous_response | the appliance's answer does not prove what it did | ` + observe + `
readback_failed | the appliance could not be read after the change | ` + observe + `
readback_mismatch | after the change the alias was not as it should be | ` + observe + `
collateral_suspected | after the change other aliases were different: look at all aliases on the appliance | ` + observe + `
conflict_before_rollback | somebody changed the alias, so it was not put back: nobody's later edit is overwritten | ` + observe + `
appliance_busy | the appliance has changes of somebody else pending, or was changed seconds ago | ` + busy + `
appliance_version | the REST package's version is not one the write path is proven for | ` + version + `
appliance_settings | the REST package's settings are not as they must be | ` + settings + `
target_too_large | the alias has more members than are handled here | change its description on the appliance itself
invalid_value | the name or text breaks a rule | ask with another text
contended | the exchange waited for a lock: another person's change made meanwhile may be lost | look at the appliance's recent changes
look_held | the text was still there about a minute later
look_reverted | the text was gone again about a minute later | look at the alias and at the appliance's recent changes
look_skipped | the later look was left out: another change or an undo came first
look_unreadable | the appliance could not be read a minute later | look at the alias on the appliance
clock_regressed | the host's clock went back by more than it may | set the host's clock
clock_jump | the host's clock jumped against the time since boot | set the host's clock; the state ends by itself when it agrees
clock_poisoned | the store remembers a time that has not come | set the clock, then a signed rebaseline with the reason clock_poisoned: mcpctl anchor status -o FILE
store_integrity | the store does not agree with itself | ` + restore + `
disk_full | the disk is full; nothing was sent | make room, then mcpctl doctor write
store_restored_from_backup | the reconciliation owner stated: the store was restored from a copy
counter_advanced_elsewhere | the reconciliation owner stated: something else advanced the counter
interrupted_attempt_lost | the reconciliation owner stated: the record of an attempt is lost
store_read | the store could not be read | ` + restore + `
internal | a fault of executord itself: it refused because it could not judge | see the log of executord at that time; mcpctl doctor write
verified | the change is there as approved
failed | nothing was changed, with proof | ` + anew + `
rolled_back | the old text is there again
rollback_failed | the old text was not put back, with proof | ` + observe + `
reconciled | its outcome was established by signature
landed | a write that was given up arrived after all | ` + observe + `
settled | it has its final state`
