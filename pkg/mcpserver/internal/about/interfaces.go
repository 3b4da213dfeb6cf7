package about

import (
	"context"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/pfrest"
)

// How long the appliance's way of naming interfaces is believed, and how long
// not knowing it: the setting changes by hand, and a key without the privilege
// must not cost a request with every call.
const (
	namesAge   = 10 * time.Minute
	unknownAge = time.Minute
)

// InterfaceNames knows how the appliance names interfaces in its answers: id,
// descr or if.
type InterfaceNames struct {
	appliance Appliance

	mu    sync.Mutex
	value string
	until time.Time
}

// NewInterfaceNames returns an InterfaceNames that asks on its first use.
func NewInterfaceNames(a Appliance) *InterfaceNames { return &InterfaceNames{appliance: a} }

// Get returns id, descr or if, or "" when the setting cannot be read.
func (n *InterfaceNames) Get(ctx context.Context, caller pfrest.Caller) string {
	n.mu.Lock()
	value, fresh := n.value, time.Now().Before(n.until)
	n.mu.Unlock()
	if fresh {
		return value
	}
	// Callers who come at once share one request in pfrest.
	answer, err := n.appliance.Get(ctx, caller, catalog.PathRESTAPISettings, pfrest.Page{})
	defer answer.Release()
	if ctx.Err() != nil {
		return value // a call that was given up proves nothing for others
	}
	value, age := "", unknownAge
	if v, ok := jsonline.Member(answer.Data, "represent_interfaces_as"); ok && err == nil {
		switch s := jsonline.Text(v); s {
		case "id", "descr", "if":
			value, age = s, namesAge
		}
	}
	n.mu.Lock()
	n.value, n.until = value, time.Now().Add(age)
	n.mu.Unlock()
	return value
}
