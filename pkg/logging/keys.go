package logging

// The attribute keys. The list is short on purpose: what is searched for in a log
// must be spelt one way.
const (
	KeyAudit      = "audit"             // true on audit lines
	KeyTool       = "tool"              // compiled name of an MCP tool
	KeyCallerUID  = "caller_uid"        // uid of the peer that asked
	KeyIdentity   = "upstream_identity" // the shared appliance credential's name
	KeyDurationMS = "duration_ms"       // whole milliseconds
	KeyOutcome    = "outcome"           // closed word: invoked, succeeded, failed, …
	KeyClass      = "class"             // class of an errs.Error
	KeyCode       = "code"              // code of an errs.Error
	KeyRows       = "rows"              // rows in an answer
	KeyDrift      = "drift"             // fields that did not fit their model
	KeyRequestID  = "request_id"        // one id from the MCP call through every hop
	KeySeq        = "seq"               // number of the audit line in this process
	KeyTruncated  = "truncated"         // the answer was cut to its budget
	KeyError      = "error"             // our message of an error
	KeyCause      = "cause"             // Go types of what an error wraps
	KeyNext       = "next"              // next step of an error
	KeyMethod     = "method"            // RPC or HTTP method
	KeyPath       = "path"              // endpoint, socket or file
	KeyStatus     = "status"            // HTTP status
	KeyResponseID = "response_id"       // pfREST response id from the closed list
	KeyService    = "service"           // a daemon or a socket by name
	KeySetting    = "setting"           // a setting by name, never its value
	KeyCount      = "count"             // how many
	KeyVersion    = "version"           // version or build id
	KeyDetail     = "detail"            // our own words, when no other key fits
)

// KnownKey says whether an attribute key is one of this package's. Tests refuse
// lines with others.
func KnownKey(key string) bool {
	switch key {
	case KeyAudit, KeyTool, KeyCallerUID, KeyIdentity, KeyDurationMS, KeyOutcome, KeyClass, KeyCode, KeyRows, KeyDrift,
		KeyRequestID, KeySeq, KeyTruncated, KeyError, KeyCause, KeyNext, KeyMethod, KeyPath, KeyStatus, KeyResponseID,
		KeyService, KeySetting, KeyCount, KeyVersion, KeyDetail:
		return true
	}
	return false
}
