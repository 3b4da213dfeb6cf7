package pfrest

import (
	"net/http"
	"time"

	"pfsensemcp/pkg/pfrest/internal/breaker"
	"pfsensemcp/pkg/pfrest/internal/fault"
)

// The classes of errors, closed. Every error about a call is an *errs.Error with
// one of them.
const (
	ClassAuthentication = fault.ClassAuthentication // the key was refused, or was and is not sent again
	ClassAuthorization  = fault.ClassAuthorization  // the key lacks the privilege: the caller names it from the table
	ClassPolicy         = fault.ClassPolicy         // an access list or interface rule of the API refused us
	ClassAPIDisabled    = fault.ClassAPIDisabled    // the REST API is switched off
	ClassUpdating       = fault.ClassUpdating       // the REST package is being installed or upgraded
	ClassPackageAbsent  = fault.ClassPackageAbsent  // an optional package that the endpoint needs is missing
	ClassNotFound       = fault.ClassNotFound       // the object does not exist
	ClassNotInstalled   = fault.ClassNotInstalled   // the web server does not know the path
	ClassNotREST        = fault.ClassNotREST        // something else than the REST API answered
	ClassUnreadable     = fault.ClassUnreadable     // one stored value makes a whole list unreadable
	ClassEncoding       = fault.ClassEncoding       // 200 with an empty body: PHP could not encode the answer
	ClassClientBug      = fault.ClassClientBug      // a request that should not have been made
	ClassBusy           = fault.ClassBusy           // the appliance has too much to do
	ClassAPI            = fault.ClassAPI            // any other error answer
	ClassShape          = fault.ClassShape          // the answer is not what pfREST sends, or too large
	ClassConnection     = fault.ClassConnection     // no connection, or it broke
	ClassTimeout        = fault.ClassTimeout        // no whole answer in time
	ClassTLS            = fault.ClassTLS            // the appliance was not believed
	ClassBreaker        = fault.ClassBreaker        // not sent: the endpoint is paused after time-outs
	ClassCancelled      = fault.ClassCancelled      // the caller left
)

// State is a snapshot for status, doctor and metrics. It holds no text of the
// appliance.
type State struct {
	InFlight int // requests that hold a slot
	Waiting  int // requests that wait for one
	Slots    int // how many there are now: 1 until the key has been accepted once

	KeyRefused   bool      // the breaker of the key is open: nothing is sent
	KeyRefusedAt time.Time // the last refusal of a key; zero for never
	Paths        []PathState

	Requests    uint64 // GETs made since New
	Joined      uint64 // calls that shared another's request
	Failed      uint64 // GETs that failed
	LastSuccess time.Time
	LastFailure time.Time
	LastClass   string // class of the last failure; "" for none

	Pin      string        // of the certificate of the newest connection; "" before the first
	NotAfter time.Time     // when that certificate ends; zero before the first
	Clock    time.Duration // by how much the appliance's clock was ahead of ours, to about a second
	ClockAt  time.Time     // when Clock was seen; zero for never
}

// PathState is an endpoint that timed out since it last answered.
type PathState struct {
	Endpoint Endpoint
	TimeOuts int       // in a row
	Open     bool      // paused
	Until    time.Time // when it may be tried again, while Open
}

// State returns what the client is doing now.
func (c *Client) State() State {
	c.mu.Lock()
	s := c.stats
	c.mu.Unlock()
	s.InFlight, s.Waiting, s.Slots = c.slots.Counts()
	var paths []breaker.Path
	peer := c.dialer.Peer()
	s.Pin, s.NotAfter = peer.Pin, peer.NotAfter
	s.KeyRefused, s.KeyRefusedAt, paths = c.breakers.Snapshot()
	for _, p := range paths {
		s.Paths = append(s.Paths, PathState{Endpoint(p.Name), p.TimeOuts, p.Open, p.Until})
	}
	return s
}

// noteClock compares the appliance's clock with ours. A header that is no date is
// nothing: it is an outsider's, and only the difference is kept.
func (c *Client) noteClock(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.ClockAt = c.now()
	c.stats.Clock = at.Sub(c.stats.ClockAt)
}

// note counts one GET and its end.
func (c *Client) note(err error, class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Requests++
	if err == nil {
		c.stats.LastSuccess = c.now()
		return
	}
	c.stats.Failed++
	c.stats.LastFailure, c.stats.LastClass = c.now(), class
}
