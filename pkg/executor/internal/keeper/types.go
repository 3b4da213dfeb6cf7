package keeper

import (
	"log/slog"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/keyfile"
)

// Windows are the times that only a test build may change.
type Windows struct {
	Settle   time.Duration // between an answer and the read that proves it
	Patience time.Duration // between two reads that prove a counter unmoved
	Tend     time.Duration // between the writer's own looks after what is due; 0 is 5 s
	Fresh    time.Duration // at most between the last look and the first byte; 0 is the attempt's own
}

// DefaultWindows returns the windows as designed.
func DefaultWindows() Windows { return Windows{Settle: 6 * time.Second, Patience: 10 * time.Second} }

// Config is what a ceremony works with. All of it is required but Counter's Planner
// side, Next, Observe, Point and Log.
type Config struct {
	Store       store.Config
	Authorities *authority.Set
	Attestation keyfile.Attestation
	Next        *store.Key // the root key to rotate to; nil when none is given
	Counter     anchor.Backend
	Reader      *alias.Reader
	Exchanger   *exchange.Exchanger
	Challenge   func(challenge [32]byte) [32]byte // HMAC-SHA256 under the write API key

	Enabled          bool          // write.enabled: the one policy tuple is in force
	Relaying         bool          // write.relay
	AuthorizationMax time.Duration // the longest life of an authorization, at most 30 min
	Charset          change.Charset
	Windows          Windows
	TestBuild        bool
	BuildID          string // "sha256:" and 64 hex digits
	Account          string // the appliance's user of the write key
	Index            uint32 // anchor.nv_index; 0: the store's own

	Observe func(Event)        // for metrics; called by the writer, must not block
	Point   func(point string) // test builds: called at each named point of an attempt
	Log     *slog.Logger
}

// Event is something that happened in the ceremony, for logs and metrics.
type Event struct {
	Kind       Kind
	RequestID  string
	ContractID string
	State      record.State // of the contract now
	Gate       string       // of a denial: its letter and number, such as g5a or c7
	Seq        int64        // of the audit row, 0 without one
	Took       time.Duration
}

// Kind names an event.
type Kind string

// The kinds.
const (
	KindRequested   Kind = "requested"
	KindPreviewed   Kind = "previewed"
	KindDenied      Kind = "denied"
	KindAuthorized  Kind = "authorized"
	KindConfirmed   Kind = "confirmed"
	KindBegun       Kind = "begun"
	KindSent        Kind = "sent"
	KindSettled     Kind = "settled"
	KindObserved    Kind = "observed"
	KindLooked      Kind = "looked"
	KindExpired     Kind = "expired"
	KindQuarantined Kind = "quarantined"
	KindReleased    Kind = "released" // a quarantine was left
)

// Status is what is known without a read of anything outside.
type Status struct {
	Constructible  bool   // a change may be asked for
	Quarantine     string // closed word, "" for none
	Why            string // closed word for why it is not constructible, "" when it is
	Lab, TestBuild bool
	Unfinished     int // contracts that hold a target
}

// Discovery is the evidence of both axes with what binds an approval to here.
type Discovery struct {
	Status        Status
	Evidence      change.Evidence
	Facts         anchor.Facts
	Witness       *int64          // the counter's value, nil when it cannot be read; before a store stands on it too
	Unread        error           // why the counter cannot be read; nil when it can, and when there is nothing to read yet
	Executor      change.Executor // members that are not known are ""
	AttestationID string
	Account       string
	StoreExists   bool
	Seeded        bool
	Complete      bool
	Endpoints     int
}

// AnchorState is how far the counter's provisioning has come.
type AnchorState struct {
	Discovery Discovery
	Step      anchor.State
}
