// Package fault owns the text and class of everything that can go wrong between
// us and the appliance. Only pfrest may import it; of ours it imports errs alone.
//
// It must never take a word from an answer: every message and next step is a constant
// of ours, chosen by status and by pfREST's response_id from a closed table. The attack it stops: text of the
// appliance, which may quote names, paths, traces and what somebody stored,
// reaching a model or a log as an error message.
package fault

import (
	"errors"
	"fmt"
	"net/http"

	"pfsensemcp/pkg/errs"
)

// The classes, closed; pfrest exports them and says what each means.
const (
	ClassAuthentication = "authentication"
	ClassAuthorization  = "authorization"
	ClassPolicy         = "policy"
	ClassAPIDisabled    = "api_disabled"
	ClassUpdating       = "package_updating"
	ClassPackageAbsent  = "package_absent"
	ClassNotFound       = "not_found"
	ClassNotInstalled   = "rest_api_not_installed"
	ClassNotREST        = "not_rest_api"
	ClassUnreadable     = "unreadable_stored_value"
	ClassEncoding       = "upstream_encoding_failure"
	ClassClientBug      = "client_bug"
	ClassBusy           = "busy"
	ClassAPI            = "api"
	ClassShape          = "response_shape"
	ClassConnection     = "connection"
	ClassTimeout        = "timeout"
	ClassTLS            = "tls"
	ClassBreaker        = "breaker_open"
	ClassCancelled      = "cancelled"
)

// The two causes that callers ask for with errors.Is.
var (
	ErrSalvageable = errors.New("a smaller page may be readable")
	ErrTooLarge    = errors.New("the answer exceeds the limit")
)

// Fault is one thing that can go wrong: our text, complete. It is a value;
// change a copy freely.
type Fault struct {
	Code      errs.Code
	Class     string
	Msg, Next string
	Mark      error // ErrSalvageable, ErrTooLarge or nil
}

// Err returns the fault as an error about one path, a constant of ours. cause is
// kept for errors.Is; the mark, where there is one, takes its place.
func (f Fault) Err(path string, cause error) error {
	if f.Mark != nil {
		cause = f.Mark
	}
	return errs.Wrap(cause, f.Code, path+": "+f.Msg).WithClass(f.Class).WithNext(f.Next)
}

const (
	askAgain = "call again; when it persists, look at the appliance's web interface and system log"
	findIt   = "find and correct the entry in the web interface; smaller pages show where it is"
	notOurs  = "check host and port of the API URL: it must reach the firewall's web server itself"
)

// The faults that no response_id names.
var (
	KeyRefused = Fault{
		errs.Denied, ClassAuthentication, "the appliance refused the API key",
		"put a valid key in place with mcpctl rotate-key; until then nothing more is sent, so that login protection does not lock this host out", nil,
	}
	NotREST = Fault{
		errs.Unavailable, ClassNotREST, "a web page was answered instead of the REST API's JSON",
		"check host and port of the API URL, and that the REST API package is installed and enabled", nil,
	}
	EmptyBody = Fault{
		errs.Unavailable, ClassEncoding, "the appliance answered 200 with an empty body: it could not encode a text that is not UTF-8",
		"smaller pages show which entry it is; correct its text in the web interface", ErrSalvageable,
	}
	TooLarge  = Fault{errs.Exhausted, ClassShape, "the answer is larger than the limit for one answer", "ask for fewer rows", ErrTooLarge}
	Broken    = Fault{errs.Unavailable, ClassConnection, "the connection to the appliance broke before the answer was whole", askAgain, nil}
	Late      = Fault{errs.Expired, ClassTimeout, "the appliance did not answer in time", "call again later, or ask for fewer rows", nil}
	Cancelled = Fault{errs.Expired, ClassCancelled, "the call was cancelled", "call again if the answer is still wanted", nil}
	Expired   = Fault{errs.Expired, ClassTimeout, "the call's own deadline passed", "call again with more time", nil}
)

// Shape is an answer that is not what pfREST sends.
func Shape(rule string) Fault {
	return Fault{errs.Unavailable, ClassShape, "the answer " + rule, askAgain, nil}
}

// byID is what pfREST's response_id means together with its status.
var byID = map[string]struct {
	status int
	Fault
}{
	"AUTH_AUTHORIZATION_FAILED": {403, Fault{
		errs.Denied, ClassAuthorization, "the appliance's API user lacks the privilege for this endpoint",
		"grant the API user exactly the privilege that this tool needs (mcpctl privileges lists them)", nil,
	}},
	"ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL": {403, Fault{
		errs.Denied, ClassPolicy, "the REST API's access list refuses this host",
		"add this host's address to the access list in the REST API settings", nil,
	}},
	"ENDPOINT_INTERFACE_NOT_ALLOWED": {403, Fault{
		errs.Denied, ClassPolicy, "the REST API does not answer on the interface that the request came in on",
		"allow the interface in the REST API settings, or set the API URL to an address on an allowed one", nil,
	}},
	"ENDPOINT_REST_API_IS_NOT_ENABLED": {503, Fault{
		errs.Unavailable, ClassAPIDisabled, "the REST API is switched off on the appliance",
		"enable it in the REST API settings of the web interface", nil,
	}},
	"ENDPOINT_UNAVAILABLE": {503, Fault{
		errs.Unavailable, ClassUpdating, "the REST API package is being installed or upgraded",
		"wait until the package manager has finished, then call again", nil,
	}},
	"DISPATCHER_TOO_MANY_QUEUED_PROCESSES": {503, Fault{
		errs.Unavailable, ClassBusy, "too many apply jobs wait on the appliance",
		"wait some minutes, then call again", nil,
	}},
	"MODEL_WRITE_CONFIG_LOCKED": {503, Fault{
		errs.Unavailable, ClassBusy, "the appliance's configuration is locked by another change",
		"wait a minute, then call again", nil,
	}},
	"MODEL_MISSING_REQUIRED_PACKAGE": {404, Fault{
		errs.NotFound, ClassPackageAbsent, "the package that this endpoint belongs to is not installed on the appliance",
		"install the package on the appliance, or leave this tool unused", nil,
	}},
	"MODEL_OBJECT_NOT_FOUND":        {404, Fault{errs.NotFound, ClassNotFound, "the appliance has no such object", "list the objects first", nil}},
	"MODEL_PARENT_OBJECT_NOT_FOUND": {404, Fault{errs.NotFound, ClassNotFound, "the appliance has no such parent object", "list the parent objects first", nil}},
	"INTEGER_FIELD_WITH_NON_INTEGER_INTERNAL_VALUE": {500, Fault{
		errs.Unavailable, ClassUnreadable,
		"one stored value that should be a whole number is not, and makes the whole list unreadable", findIt, ErrSalvageable,
	}},
	"FLOAT_FIELD_WITH_NON_FLOAT_INTERNAL_VALUE": {500, Fault{
		errs.Unavailable, ClassUnreadable,
		"one stored value that should be a number is not, and makes the whole list unreadable", findIt, ErrSalvageable,
	}},
	"QUERY_FILTER_NOT_FOUND":             {404, clientBug(404)},
	"MODEL_REQUIRES_ID":                  {400, clientBug(400)},
	"ENDPOINT_LIMIT_FIELD_INVALID_TYPE":  {400, clientBug(400)},
	"ENDPOINT_OFFSET_FIELD_INVALID_TYPE": {400, clientBug(400)},
}

func clientBug(status int) Fault {
	return Fault{
		errs.Internal, ClassClientBug, fmt.Sprintf("the appliance refused the form of our request (status %d)", status),
		"this is a fault of pfsense-mcp, or a REST API version that it does not know: report both versions", nil,
	}
}

// Of judges an answer that is not 200. id is the response_id of a whole envelope
// whose code is the status, or ""; isJSON says whether it was JSON at all.
func Of(status int, id string, isJSON bool) Fault {
	if f, ok := byID[id]; ok && f.status == status {
		return f.Fault
	}
	f := Fault{errs.Unavailable, ClassAPI, fmt.Sprintf("the appliance answered with status %d", status), askAgain, nil}
	switch {
	case status == http.StatusUnauthorized:
		return KeyRefused
	case status >= 200 && status < 300:
		return Shape("has a status that no read is answered with")
	case status >= 300 && status < 400:
		f.Class, f.Msg, f.Next = ClassNotREST, fmt.Sprintf("the appliance answered with a redirect (status %d), which is never followed", status), notOurs
	case status == http.StatusForbidden && !isJSON:
		f.Code, f.Class, f.Msg, f.Next = errs.Denied, ClassNotREST, "a web server, not the REST API, refused the request", notOurs
	case status == http.StatusNotFound && isJSON:
		f.Code, f.Class, f.Msg, f.Next = errs.NotFound, ClassNotFound, "the appliance has no such object", "list the objects first"
	case status == http.StatusNotFound:
		f.Class, f.Msg = ClassNotInstalled, "the appliance's web server does not know this path"
		f.Next = "install the REST API package again (an upgrade of the firewall removes it), or check whether its version has this endpoint"
	case status == http.StatusMethodNotAllowed, status == http.StatusNotAcceptable, status == http.StatusUnsupportedMediaType:
		return clientBug(status)
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		f.Class, f.Msg, f.Next = ClassBusy, fmt.Sprintf("the appliance is too busy to answer (status %d)", status), "wait a minute, then call again"
	case status == http.StatusInternalServerError:
		f.Msg, f.Mark = "the appliance's PHP failed while it made the answer (status 500)", ErrSalvageable
		f.Next = "call again; when it persists, look for a PHP error in the appliance's system log (memory, or one damaged entry)"
	}
	return f
}
