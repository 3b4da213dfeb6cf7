package exchange

import (
	"net/http"
	"time"
)

// Effect is what an exchange alone says about the appliance. Only None is proof;
// each other one, Ambiguous apart, names what reads must still confirm.
type Effect string

// The effects.
const (
	None      Effect = "none"      // not one byte was given to TLS
	Rejected  Effect = "rejected"  // refused by pfREST before it writes
	Shifted   Effect = "shifted"   // refused: another alias stands at the position
	Locked    Effect = "locked"    // refused: the appliance's write lock is held
	Accepted  Effect = "accepted"  // said to be done, of this alias and with this text
	Ambiguous Effect = "ambiguous" // anything else: it may have been done, or may still be
)

// Result is what one exchange came to.
type Result struct {
	Sent       int64         // application bytes given to TLS on this connection; 0 is proof that nothing happened
	Took       time.Duration // from before the first byte to the end of the answer, or to giving up
	Answered   bool          // a complete pfREST envelope came whose code is the HTTP status
	Status     int           // HTTP status; 0 when no response header came
	ResponseID string        // pfREST's; "" unless Answered
	EchoOK     bool          // Answered, 2xx, and the alias that it shows is the one that was sent as far as it shows one
	Err        error         // of class not_sent, ambiguous_send or ambiguous_response; nil when Answered
}

// effects is what an answer means, first row that fits. An answer that fits none
// is ambiguous: 1xx, 3xx, every other 5xx, 406 (which pfREST gives after it has
// written), and a 2xx that shows another alias.
func effects() []struct {
	from, to int    // statuses
	id       string // response_id; "" is any
	echo     bool   // the answer must show what was sent
	effect   Effect
} {
	type row = struct {
		from, to int
		id       string
		echo     bool
		effect   Effect
	}
	return []row{
		{200, 299, "", true, Accepted},
		{http.StatusBadRequest, http.StatusBadRequest, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", false, Shifted},
		{http.StatusServiceUnavailable, http.StatusServiceUnavailable, "MODEL_WRITE_CONFIG_LOCKED", false, Locked},
		{http.StatusBadRequest, http.StatusBadRequest, "", false, Rejected},
		{http.StatusUnauthorized, http.StatusUnauthorized, "", false, Rejected},
		{http.StatusForbidden, http.StatusMethodNotAllowed, "", false, Rejected}, // 403, 404, 405
		{http.StatusConflict, http.StatusConflict, "", false, Rejected},
		{http.StatusUnsupportedMediaType, http.StatusUnsupportedMediaType, "", false, Rejected},
		{http.StatusUnprocessableEntity, http.StatusUnprocessableEntity, "", false, Rejected},
		{http.StatusTooManyRequests, http.StatusTooManyRequests, "", false, Rejected},
	}
}

// Effect returns what the exchange alone says.
func (r Result) Effect() Effect {
	switch {
	case r.Sent == 0:
		return None
	case !r.Answered:
		return Ambiguous
	}
	for _, row := range effects() {
		if r.Status >= row.from && r.Status <= row.to && (row.id == "" || row.id == r.ResponseID) && (!row.echo || r.EchoOK) {
			return row.effect
		}
	}
	return Ambiguous
}

// contention is how long an exchange takes that waited for the appliance's write
// lock: the lock is tried once a second.
const contention = 1500 * time.Millisecond

// Contended says whether the exchange may have waited for another writer. One that
// did writes back the whole configuration as it was before, so somebody else's
// change elsewhere can be gone.
func (r Result) Contended() bool { return r.Took > contention }
