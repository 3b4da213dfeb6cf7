// Package aliastest owns an appliance in memory for tests of what reads through
// package alias: gates, the ceremony, the services. Only tests import it.
//
// It is used through the real alias.New, so that what a test proves holds for what
// the reader makes of real answers. Envelopes, connections and TLS are not here:
// test/fakepf has those.
package aliastest

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/pfrest"
)

// What Reader binds to.
const (
	BaseURL  = "https://fw-edge.example.invalid"
	CADigest = "abababababababababababababababababababababababababababababababab"
)

// Row is one alias. Its position is its id.
type Row struct {
	Name, Type, Descr string
	Address, Detail   []string
	Raw               string // the row as JSON, instead of all others
}

// State is what an Appliance answers.
type State struct {
	Rows           []Row
	NetgateID      string // "" is null
	HostID         string // "" is null
	Version        string
	Links          bool
	ReadOnly       bool
	InterfaceNames string
	Pending        []string
	History        []time.Time // newest first

	Fail map[pfrest.Endpoint]error // instead of an answer
	// On is called before each answer is made, with the state still unlocked to
	// Change; nil for nothing.
	On func(pfrest.Endpoint)
}

// Appliance is an alias.Client. Safe for concurrent use.
type Appliance struct {
	mu    sync.Mutex
	state State
	calls []pfrest.Endpoint
}

// New returns an appliance with three aliases, of which web_servers stands at
// position 1, a history of an hour ago and nothing pending.
func New() *Appliance {
	return &Appliance{state: State{
		Rows: []Row{
			{Name: "db_servers", Type: "host", Address: []string{"192.0.2.40"}, Detail: []string{"x"}},
			{Name: "web_servers", Type: "host", Descr: "Old text", Address: []string{"192.0.2.10", "192.0.2.11"}, Detail: []string{"a", "b"}},
			{Name: "blocklist", Type: "urltable", Descr: "a list of others", Address: []string{"https://lists.example.invalid/drop.txt"}, Detail: []string{""}},
		},
		NetgateID: "0123456789abcdef0123", Version: "v2.10.0", InterfaceNames: "id",
		History: []time.Time{time.Now().Add(-time.Hour)},
	}}
}

// Reader returns a reader of a; now nil is time.Now.
func (a *Appliance) Reader(tb testing.TB, now func() time.Time) *alias.Reader {
	tb.Helper()
	r, err := alias.New(alias.Config{Client: a, BaseURL: BaseURL, TLSMode: "auto", CADigest: CADigest, Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Change changes the state under its lock.
func (a *Appliance) Change(f func(*State)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.state)
}

// SetDescr changes the description of the alias of that name.
func (a *Appliance) SetDescr(name, descr string) {
	a.Change(func(s *State) {
		rows := slices.Clone(s.Rows)
		for i := range rows {
			if rows[i].Name == name {
				rows[i].Descr = descr
			}
		}
		s.Rows = rows
	})
}

// Calls returns what was asked since New or the last Forget, in order.
func (a *Appliance) Calls() []pfrest.Endpoint {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// Forget empties Calls.
func (a *Appliance) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = nil
}

// begin notes a call and returns the state that answers it.
func (a *Appliance) begin(ctx context.Context, ep pfrest.Endpoint) (State, error) {
	a.mu.Lock()
	a.calls = append(a.calls, ep)
	on := a.state.On
	a.mu.Unlock()
	if on != nil {
		on(ep)
	}
	if err := ctx.Err(); err != nil {
		return State{}, errs.Wrap(err, errs.Unavailable, "the caller has left").WithClass(pfrest.ClassCancelled)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.state.Fail[ep]
}

// Get answers the reads of the write identity, all others with an error.
func (a *Appliance) Get(ctx context.Context, _ pfrest.Caller, ep pfrest.Endpoint, page pfrest.Page) (pfrest.Answer, error) {
	s, err := a.begin(ctx, ep)
	if err != nil {
		return pfrest.Answer{}, err
	}
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	var data any
	switch ep {
	case "/api/v2/status/system":
		data = map[string]any{"platform": "test", "temp_c": 41.5, "netgate_id": orNull(s.NetgateID)}
	case "/api/v2/system/hasync":
		data = map[string]any{"pfsyncenabled": false, "pfhostid": orNull(s.HostID)}
	case "/api/v2/firewall/apply":
		data = map[string]any{"applied": len(s.Pending) == 0, "pending_subsystems": append([]string{}, s.Pending...)}
	case "/api/v2/system/restapi/settings":
		data = map[string]any{"enabled": true, "read_only": s.ReadOnly, "hateoas": s.Links, "represent_interfaces_as": s.InterfaceNames}
	case "/api/v2/diagnostics/config_history/revisions":
		rows := []any{}
		for i, at := range s.History[:min(len(s.History), page.Limit)] {
			rows = append(rows, map[string]any{"id": i, "time": at.Unix(), "description": "admin@192.0.2.1: a change", "version": "23.9", "filesize": 1})
		}
		data = rows
	case "/api/v2/firewall/aliases":
		return pfrest.Answer{Data: aliases(s.Rows[:min(len(s.Rows), page.Limit)]), Links: s.Links}, nil
	default:
		return pfrest.Answer{}, errs.New(errs.Internal, "not an endpoint of the write identity").WithClass(pfrest.ClassClientBug)
	}
	b, err := json.Marshal(data)
	return pfrest.Answer{Data: b, Links: s.Links}, err
}

func aliases(rows []Row) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		if r.Raw != "" {
			b.WriteString(r.Raw)
			continue
		}
		texts := func(l []string) string {
			j, err := json.Marshal(append([]string{}, l...))
			if err != nil {
				panic(err) // a test's own text that is not UTF-8
			}
			return string(j)
		}
		one := func(s string) string { l := texts([]string{s}); return l[1 : len(l)-1] }
		fmt.Fprintf(&b, `{"id":%d,"name":%s,"type":%s,"descr":%s,"address":%s,"detail":%s}`, i, one(r.Name), one(r.Type), one(r.Descr), texts(r.Address), texts(r.Detail))
	}
	b.WriteByte(']')
	return b.Bytes()
}

// Schema answers with the head of an OpenAPI document.
func (a *Appliance) Schema(ctx context.Context, _ pfrest.Caller) (io.ReadCloser, error) {
	s, err := a.begin(ctx, pfrest.SchemaEndpoint)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"test","version":%q},"paths":{}}`, s.Version))), nil
}
