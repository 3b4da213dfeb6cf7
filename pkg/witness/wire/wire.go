// Package wire owns what executord and a witness host say to each other about the
// counter: two routes, four messages, a closed list of refusals.
//
// Package witness and the executor's anchor import it; it opens nothing and knows
// no key. A message is canonical JSON (package canon) of exactly its members;
// anything else is refused, never repaired.
//
// The attack it stops: two programs that read one message differently (a doubled
// key, a number as text, a value that wraps), one of which then believes that the
// counter is where it is not.
package wire

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
)

// The routes. There is no other.
const (
	ReadPath    = "/anchor/read"    // GET: a Reading
	AdvancePath = "/anchor/advance" // POST an Order: an Advanced
)

const (
	// MaxBody bounds every body in bytes.
	MaxBody = 2048
	// MaxAge is how old an order may be when the witness comes to execute it,
	// counted from the reading whose ticket it carries. What is older may be
	// from a caller who has given up.
	MaxAge = 5 * time.Second
	// TicketLen is the length of a ticket: 48 bytes in hex.
	TicketLen = 96
)

// The words of a Refusal. Those that begin with anchor_ and lockout are the
// classes of the executor's anchor.
const (
	Malformed   = "malformed"          // 400: not a message of ours
	Forbidden   = "forbidden"          // 403: this certificate may not do that
	NoRoute     = "no_route"           // 404
	Stale       = "stale"              // 503: the order is too old; nothing happened
	Refused     = "anchor_refused"     // 403: the TPM refused the witness's secret
	Conflict    = "anchor_conflict"    // 409: the counter holds another value
	Name        = "anchor_name"        // 409: the index is gone or not the pinned one
	Unavailable = "anchor_unavailable" // 503: nothing happened
	Lockout     = "lockout"            // 503: the TPM is in lockout; nothing happened
	Unreachable = "anchor_unreachable" // 503: it may have happened
)

// Status returns the HTTP status of a word, 0 for what is none.
func Status(word string) int {
	switch word {
	case Malformed:
		return 400
	case Forbidden, Refused:
		return 403
	case NoRoute:
		return 404
	case Conflict, Name:
		return 409
	case Stale, Unavailable, Lockout, Unreachable:
		return 503
	}
	return 0
}

// Facts is what a witness shows of its counter.
type Facts struct {
	Index        uint32 // the handle
	Name         string // 000b and 64 hex digits
	Manufacturer string // 1 to 16 characters of a token, "" when it cannot be read
	EKDigest     string // 64 hex digits, "" when it shows none
	Assurance    string // software, hardware_witness or unknown, as the witness detects it
}

// Reading is the answer to a read.
type Reading struct {
	Facts
	Value  int64
	Ticket string // allows one advance from Value within MaxAge
}

// Order asks for one increment.
type Order struct {
	Expected int64
	Ticket   string
}

// Advanced is the answer to an order that was carried out: the new value.
type Advanced struct{ Value int64 }

// Refusal is any other answer.
type Refusal struct{ Word string }

// Encode returns the message.
func (r Reading) Encode() ([]byte, error) {
	return canon.Encode(canon.Object{
		"value": r.Value, "ticket": r.Ticket, "nv_index": hex8(r.Index), "nv_index_name": r.Name,
		"tpm_manufacturer": r.Manufacturer, "ek_digest": r.EKDigest, "assurance": r.Assurance,
	})
}

// Encode returns the message.
func (o Order) Encode() ([]byte, error) {
	return canon.Encode(canon.Object{"expected_current": o.Expected, "ticket": o.Ticket})
}

// Encode returns the message.
func (a Advanced) Encode() ([]byte, error) { return canon.Encode(canon.Object{"value": a.Value}) }

// Encode returns the message.
func (r Refusal) Encode() ([]byte, error) { return canon.Encode(canon.Object{"error": r.Word}) }

// ParseReading reads the answer to a read.
func ParseReading(b []byte) (r Reading, err error) {
	o, err := object(b, "value", "ticket", "nv_index", "nv_index_name", "tpm_manufacturer", "ek_digest", "assurance")
	if err != nil {
		return r, err
	}
	var index string
	ok := number(o["value"], &r.Value) && ticket(o["ticket"], &r.Ticket) && text(o["nv_index"], &index) && handle(index, &r.Index) &&
		text(o["nv_index_name"], &r.Name) && strings.HasPrefix(r.Name, "000b") && change.Hex64(r.Name[4:]) &&
		text(o["tpm_manufacturer"], &r.Manufacturer) && (r.Manufacturer == "" || change.Token(r.Manufacturer) && len(r.Manufacturer) <= 16) &&
		text(o["ek_digest"], &r.EKDigest) && (r.EKDigest == "" || change.Hex64(r.EKDigest)) &&
		text(o["assurance"], &r.Assurance) && (r.Assurance == "software" || r.Assurance == "hardware_witness" || r.Assurance == "unknown")
	if !ok {
		return Reading{}, bad()
	}
	return r, nil
}

// ParseOrder reads an order.
func ParseOrder(b []byte) (r Order, err error) {
	o, err := object(b, "expected_current", "ticket")
	if err == nil && !(number(o["expected_current"], &r.Expected) && ticket(o["ticket"], &r.Ticket)) {
		err = bad()
	}
	if err != nil {
		return Order{}, err
	}
	return r, nil
}

// ParseAdvanced reads the answer to an order.
func ParseAdvanced(b []byte) (r Advanced, err error) {
	o, err := object(b, "value")
	if err == nil && !number(o["value"], &r.Value) {
		err = bad()
	}
	return r, err
}

// ParseRefusal reads a refusal that came with an HTTP status, which must be that
// of its word.
func ParseRefusal(b []byte, status int) (r Refusal, err error) {
	o, err := object(b, "error")
	if err == nil && !(text(o["error"], &r.Word) && Status(r.Word) == status) {
		err = bad()
	}
	if err != nil {
		return Refusal{}, err
	}
	return r, nil
}

func bad() error { return errs.New(errs.Invalid, "the message is not one of the witness's") }

// object reads an object of exactly these keys.
func object(b []byte, keys ...string) (canon.Object, error) {
	if len(b) > MaxBody {
		return nil, bad()
	}
	v, err := canon.DecodeExact(b)
	if err != nil {
		return nil, bad()
	}
	o, ok := v.(canon.Object)
	if !ok || len(o) != len(keys) {
		return nil, bad()
	}
	for _, k := range keys {
		if _, ok := o[k]; !ok {
			return nil, bad()
		}
	}
	return o, nil
}

// number reads a value of the counter: 0 or more, and one more is still a number.
func number(v any, p *int64) bool {
	n, ok := v.(int64)
	*p = n
	return ok && n >= 0 && n < 1<<63-1
}

func text(v any, p *string) (ok bool) {
	*p, ok = v.(string)
	return ok
}

func ticket(v any, p *string) bool {
	if !text(v, p) || len(*p) != TicketLen {
		return false
	}
	b, err := hex.DecodeString(*p)
	return err == nil && hex.EncodeToString(b) == *p
}

func hex8(h uint32) string {
	return "0x" + hex.EncodeToString([]byte{byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h)})
}

func handle(s string, p *uint32) bool {
	rest, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(rest, 16, 32)
	*p = uint32(n)
	return ok && err == nil && hex8(*p) == s
}
