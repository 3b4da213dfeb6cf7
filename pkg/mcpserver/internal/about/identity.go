// Package about owns what mcpd finds out about the appliance for its own use: the
// edition and version against which guidance is judged, and how interfaces are
// named in its answers.
//
// mcpserver alone imports it. It must never ask but the two compiled endpoints, nor
// take anything from a caller; what the appliance says is kept only when it is one of
// our words or has the form of a version. The attack it stops: a text of the
// appliance, or of a caller, that passes for a fact about it.
package about

import (
	"context"
	"strings"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/guidance/v1"
)

// How long the appliance's identity is believed, how long not knowing it, and
// how long guidance waits for it: a text about a page is worth less than a
// call's time, and an appliance that hangs must not take guidance along.
const (
	identityAge    = 10 * time.Minute
	noIdentityAge  = time.Minute
	identityWithin = 3 * time.Second
)

// The observed editions, as guidanced knows them.
const (
	knownCE        = "known_ce"
	knownPlus      = "known_plus"
	unknownEdition = "unknown"
)

// versionTool is the row whose answer says what the appliance is; the source
// says so to whoever reads a judgement.
const (
	versionTool    = "pfsense_get_system_version"
	identitySource = versionTool + ", field base"
)

// maxVersion is the longest version that is passed on, in bytes.
const maxVersion = 32

// Appliance is the part of the client that is needed here.
type Appliance interface {
	Get(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.Page) (pfrest.Answer, error)
}

// Identity knows edition and version of the appliance, for the judgement
// of guidance and for nothing else. It asks the appliance itself and takes
// nothing from a caller.
type Identity struct {
	appliance Appliance
	path      pfrest.Endpoint

	mu    sync.Mutex
	value *guidancepb.Identity
	until time.Time
}

// NewIdentity returns an Identity that asks on its first use.
func NewIdentity(a Appliance) *Identity {
	i := &Identity{appliance: a}
	if row, ok := catalog.Lookup(versionTool); ok {
		i.path = pfrest.Endpoint(row.Path)
	}
	return i
}

// Get returns what is known. Any failure is an identity that says unknown. The
// value is the caller's to read and nobody's to change.
func (i *Identity) Get(ctx context.Context, caller pfrest.Caller) *guidancepb.Identity {
	i.mu.Lock()
	value, fresh := i.value, time.Now().Before(i.until)
	i.mu.Unlock()
	if fresh {
		return value
	}
	// Callers who come at once share one request in pfrest.
	within, cancel := context.WithTimeout(ctx, identityWithin)
	answer, err := i.appliance.Get(within, caller, i.path, pfrest.Page{})
	cancel()
	defer answer.Release()
	unknown := &guidancepb.Identity{Edition: unknownEdition, Source: identitySource}
	if ctx.Err() != nil {
		return unknown // a call that was given up proves nothing for others
	}
	value, age := unknown, noIdentityAge
	if err == nil {
		if v, ok := jsonline.Member(answer.Data, "base"); ok {
			if base := jsonline.Text(v); plainVersion(base) {
				age = identityAge
				value = &guidancepb.Identity{
					Edition: editionOf(base), Version: &base,
					Source: identitySource, ResolvedAt: time.Now().Unix(),
				}
			}
		}
	}
	i.mu.Lock()
	i.value, i.until = value, time.Now().Add(age)
	i.mu.Unlock()
	return value
}

// editionOf derives the edition from a version: the number before the first dot
// is 1 to 9 for CE, and the year, 21 to 99, for Plus; ASCII digits alone.
// guidanced derives it again and refuses what disagrees.
func editionOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	for i := range len(major) {
		if major[i] < '0' || major[i] > '9' {
			return unknownEdition
		}
	}
	switch {
	case len(major) == 1 && major >= "1":
		return knownCE
	case len(major) == 2 && major >= "21":
		return knownPlus
	}
	return unknownEdition
}

// plainVersion says whether what the appliance calls its version is one: it is
// an outsider's text and is shown.
func plainVersion(s string) bool {
	return s != "" && len(s) <= maxVersion && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._+-", r)
	})
}
