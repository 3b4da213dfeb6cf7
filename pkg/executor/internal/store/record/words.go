package record

import (
	"slices"
	"strconv"
	"strings"
)

// Event names what an audit row is about.
type Event string

// The events.
const (
	RequestOpened         Event = "request_opened"
	RequestConcluded      Event = "request_concluded"
	PreviewIssued         Event = "preview_issued"
	AuthorizationDenied   Event = "authorization_denied"
	AuthorizationConsumed Event = "authorization_consumed" // and every other signed artifact: reason says which
	ContractCreated       Event = "contract_created"
	ContractConfirmed     Event = "contract_confirmed"
	ConfirmationDenied    Event = "confirmation_denied"
	StateTransition       Event = "state_transition"
	AnchorPending         Event = "anchor_pending"
	AnchorAdvanced        Event = "anchor_advanced"
	SendIntent            Event = "send_intent"
	SendRecorded          Event = "send_recorded" // the row of sends was written
	RevertedAfterVerify   Event = "reverted_after_verify"
	ReconcileObserved     Event = "reconciliation_observed"
	ReconcileDenied       Event = "reconciliation_denied"
	ReconcileResolved     Event = "reconciliation_resolved"
	RollbackAuthorized    Event = "rollback_authorized"
	RollbackDenied        Event = "rollback_denied"
	AnchorProvisioned     Event = "anchor_provisioned"
	AnchorRebaselined     Event = "anchor_rebaselined"
	QuarantineEntered     Event = "quarantine_entered"
	QuarantineLeft        Event = "quarantine_left"
	ArtifactsRotated      Event = "artifacts_rotated"
	KeyRotated            Event = "key_rotated"
	TextRemoved           Event = "text_removed" // retention: request text and preview are gone
	ClockRegressed        Event = "clock_regressed"
	Startup               Event = "startup"
	Shutdown              Event = "shutdown"
)

// covers says in which bucket the row stands whose digest an event carries. Events
// that are missing here carry none.
var covers = map[Event]Bucket{
	RequestOpened: Requests, RequestConcluded: Requests, PreviewIssued: Requests, TextRemoved: Requests,
	AuthorizationConsumed: Consumed,
	ContractCreated:       Contracts, ContractConfirmed: Contracts, StateTransition: Contracts, SendIntent: Contracts,
	ReconcileResolved: Contracts, ArtifactsRotated: Contracts,
	SendRecorded: Sends, RevertedAfterVerify: Sends,
	AnchorProvisioned: Anchors,
}

// Covers returns the bucket of the row whose digest stands in an event's row, ""
// when the event has none.
func (e Event) Covers() Bucket { return covers[e] }

// plain are the events without a digest.
var plain = []Event{
	AuthorizationDenied, ConfirmationDenied, AnchorPending, AnchorAdvanced, ReconcileObserved, ReconcileDenied, RollbackAuthorized,
	RollbackDenied, AnchorRebaselined, QuarantineEntered, QuarantineLeft, KeyRotated, ClockRegressed, Startup, Shutdown,
}

func (e Event) known() bool { return covers[e] != "" || slices.Contains(plain, e) }

// Actor is who caused an audit row: executord, signer, mcp or operator, the last
// two with the uid behind a colon when it is known.
type Actor string

// The actors without a uid.
const (
	Executord Actor = "executord"
	Signer    Actor = "signer"
)

// MCP returns the actor of an MCP client's uid, which is mcpd's claim.
func MCP(uid uint32) Actor { return Actor("mcp:" + strconv.FormatUint(uint64(uid), 10)) }

// Operator returns the actor of an operator's uid.
func Operator(uid uint32) Actor { return Actor("operator:" + strconv.FormatUint(uint64(uid), 10)) }

func actor(s string) bool {
	kind, uid, has := strings.Cut(s, ":")
	switch {
	case kind == "mcp" || kind == "operator":
		n, err := strconv.ParseUint(uid, 10, 32)
		return !has || err == nil && strconv.FormatUint(n, 10) == uid
	case has:
		return false
	}
	return kind == string(Executord) || kind == string(Signer)
}

// Reason is why: the closed list behind every denial and every transition. A gate
// that needs another word adds it here.
type Reason string

// The reasons that the store itself writes.
const (
	ReasonCreated          Reason = "created"
	ReasonRestart          Reason = "restart"
	ReasonExpired          Reason = "expired"
	ReasonOperatorCancel   Reason = "operator_cancel"
	ReasonInterrupted      Reason = "interrupted"
	ReasonBeforeAnchor     Reason = "interrupted_before_anchor"
	ReasonAnchorRefused    Reason = "anchor_refused"
	ReasonRebaseline       Reason = "rebaseline"
	ReasonReleased         Reason = "released"
	ReasonAttested         Reason = "attested_only"
	ReasonDenialsCapped    Reason = "denials_capped"
	ReasonRowsCapped       Reason = "rows_capped"
	ReasonAuthorization    Reason = "authorization"
	ReasonConfirmation     Reason = "confirmation"
	ReasonReconciliation   Reason = "reconciliation"
	ReasonRollback         Reason = "rollback"
	ReasonRollbackAuth     Reason = "rollback_authorization"
	ReasonNotSent          Reason = "not_sent"
	ReasonAmbiguousSend    Reason = "ambiguous_send"
	ReasonPreflightDrift   Reason = "preflight_drift"
	ReasonSuperseded       Reason = "superseded"
	ReasonMetaFallback     Reason = "meta_fallback"
	ReasonOthersChanged    Reason = "others_changed"
	ReasonUnpreviewed      Reason = "unpreviewed"
	ReasonRestoredFromCopy Reason = "restored_backup"
)

// reasons is the closed list.
var reasons = words(`created restart expired operator_cancel interrupted interrupted_before_anchor anchor_refused rebaseline released attested_only
denials_capped authorization confirmation reconciliation rollback rollback_authorization not_sent ambiguous_send preflight_drift superseded
meta_fallback others_changed unpreviewed restored_backup rows_capped
g1_size g1_form g1_version g1_request g1_preview g1_quarantine g2_signature g2_authority g3_not_yet g3_expired g3_lifetime g3_clock g3_floor
g4_plan g4_step g4_intent g4_evidence g4_age g5a_digest g5a_unsafe g5a_evidence g5a_counter g5a_lockout g5a_landing g5a_in_flight g5a_unavailable
g5b_identity g5b_target g5b_intent g5b_locator g5b_no_op g5b_policy g5b_rate g5b_version g5b_busy g5b_settings g5b_read
g6_consumed g6_reserved g6_cooldown g6_limit g6_feasible g6_store
c1_size c1_form c2_signature c2_authority c3_contract c3_state c3_expired c3_not_yet c3_early c3_clock c3_floor c3_consumed c4_binding c5_expired
c5_pinned c5_floor c5_distinct
c6_digest c6_unsafe c6_evidence c6_counter c6_lockout c6_landing c6_in_flight c6_unavailable c6_quarantine c7_policy c7_identity c7_target c7_intent c7_locator
c7_no_op c7_version c7_busy c7_settings c7_read
r_form r_quarantine r_signature r_authority r_contract r_state r_version r_outcome r_observation r_clock r_time r_floor r_locator r_fingerprint
r_contradicted r_landing r_consumed r_read r_identity
b_form b_quarantine b_signature b_authority b_distinct b_contract b_state b_version b_clock b_time b_floor b_window b_later b_rate b_reserved b_consumed
b6_unavailable b6_unsafe b6_evidence b6_counter b6_in_flight b6_lockout b6_landing
b7_policy b7_identity b7_target b7_intent b7_locator b7_version b7_busy b7_settings b7_read
drift locator_changed target_unresolved identity_changed no_op policy rate_open rate_minute rate_day rate_sends rate_prepared cooldown reserved in_flight lockout
landing_window anchor_unavailable anchor_conflict anchor_mismatch anchor_unreachable anchor_name rejected shifted locked ambiguous_response readback_failed readback_mismatch
collateral_suspected conflict_before_rollback appliance_busy appliance_version appliance_settings target_too_large invalid_value
contended look_held look_reverted look_skipped look_unreadable clock_regressed clock_jump clock_poisoned store_integrity disk_full
store_restored_from_backup counter_advanced_elsewhere interrupted_attempt_lost store_read internal verified failed rolled_back rollback_failed reconciled landed settled`)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

func reason(s string) bool { return reasons[s] }

// Known says whether r is in the closed list.
func (r Reason) Known() bool { return reasons[string(r)] }
