package record

import (
	"encoding/binary"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/member"
)

// Audit is one row of the global chain: identifiers, digests and words of closed
// lists alone.
type Audit struct {
	Seq                                int64  // from 1, gapless
	Prev                               string // MAC of the row before
	StoreID                            string
	At                                 time.Time
	Event                              Event
	Actor                              Actor
	RequestID, ContractID, OperationID string
	TargetIdentity, Intent             string
	From, To                           string // states of a contract or statuses of a request
	Version                            *int64
	Reason                             Reason
	AnchorValue                        int64
	RecordDigest                       string // of the row that Event covers
	KeyID                              string
}

// Bucket returns audit.
func (r *Audit) Bucket() Bucket { return AuditLog }

// SeqKey returns the key of a row of the chain.
func SeqKey(seq int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(seq)) }

// Key returns the sequence number, big-endian.
func (r *Audit) Key() []byte { return SeqKey(r.Seq) }

// stepWords are the words of from and to.
var stepWords = steps()

func steps() []string {
	var all []string
	for _, s := range States() {
		all = append(all, string(s))
	}
	for _, s := range statuses() {
		all = append(all, string(s))
	}
	return all
}

func (r *Audit) list(c *member.List) {
	// What an audit row says of the change that it concerns is constant: there is
	// one. A row about nothing of the kind says null.
	about := func(key, is string) {
		said := ""
		if r.RequestID != "" || r.ContractID != "" {
			said = is
		}
		want := said
		member.Word(c, key, &said, true, func(s string) bool { return s == is })
		c.Check(said == want, key+" belongs to rows about a request or contract")
	}
	c.Num("seq", &r.Seq, 1, member.Most)
	c.Hex("prev", &r.Prev)
	c.Token("store_id", &r.StoreID)
	c.Time("at", &r.At)
	member.Word(c, "event", &r.Event, false, func(s string) bool { return Event(s).known() })
	member.Word(c, "actor", &r.Actor, false, actor)
	c.OptID("request_id", &r.RequestID, change.PrefixRequest)
	c.OptID("contract_id", &r.ContractID, change.PrefixContract)
	c.OptID("operation_id", &r.OperationID, change.PrefixOperation)
	about("capability", change.Capability)
	about("endpoint_symbol", change.EndpointSymbol)
	about("http_method", change.HTTPMethod)
	c.OptHex("target_identity_digest", &r.TargetIdentity)
	c.OptHex("intent_digest", &r.Intent)
	member.OptEnum(c, "from", &r.From, stepWords)
	member.OptEnum(c, "to", &r.To, stepWords)
	c.OptNum("state_version", &r.Version, 0, member.Most)
	member.Word(c, "reason", &r.Reason, true, reason)
	c.Num("anchor_value", &r.AnchorValue, 0, member.Most)
	c.OptHex("record_digest", &r.RecordDigest)
	c.Token("key_id", &r.KeyID)
	c.Check(r.RecordDigest == "" || r.Event.Covers() != "", "record_digest belongs to events about a row")
}
