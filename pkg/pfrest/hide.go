package pfrest

import (
	"bytes"
	"strings"
)

// minHidden is the length from which our key is looked for in answers. A shorter
// one could be an ordinary word of an answer; pfREST's own have 32 and more.
const minHidden = 16

// hideKey overwrites our key wherever an answer holds it. Somebody pastes the
// call that worked into a rule's description or a cron job, and whoever may ask
// us what the appliance says is not therefore one who may hold its key. The
// length stays, so the JSON does; a key that JSON would write differently cannot
// be found and is left to the scrubber.
func hideKey(body []byte, cred *credential) {
	key := cred.header[keyHeader][0]
	if len(key) < minHidden || strings.ContainsAny(key, `"\\`) {
		return
	}
	for rest := body; ; {
		i := bytes.Index(rest, []byte(key))
		if i < 0 {
			return
		}
		copy(rest[i:], strings.Repeat("*", len(key)))
		rest = rest[i+len(key):]
	}
}
