package readtool

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool/internal/row"
)

// How long a fact about the appliance is believed, and how long not knowing it.
// The package changes by hand; the DHCP server can stop at any time.
const (
	versionAge = 10 * time.Minute
	backendAge = time.Minute
	unknownAge = time.Minute
)

// fact is something that is known of the appliance. The credential is the
// server's own, so it is the same for every caller.
type fact struct {
	mu    sync.Mutex
	value string
	until time.Time
}

// recall returns a fact, read again when it is old; "" is not known.
func (r *Reader) recall(ctx context.Context, f *fact, age time.Duration, read func() string) string {
	now := r.cfg.Now()
	f.mu.Lock()
	value, fresh := f.value, now.Before(f.until)
	f.mu.Unlock()
	if fresh {
		return value
	}
	if value = read(); value == "" {
		age = unknownAge
	}
	if ctx.Err() == nil { // a call that was given up proves nothing for others
		f.mu.Lock()
		f.value, f.until = value, now.Add(age)
		f.mu.Unlock()
	}
	return value
}

// apiVersion returns the installed version of the REST API package, such as
// 2.10.0; "" when it cannot be read.
func (r *Reader) apiVersion(ctx context.Context, caller pfrest.Caller) string {
	return r.recall(ctx, &r.version, versionAge, func() string {
		ans, err := r.cfg.Client.Get(ctx, caller, catalog.PathRESTAPIVersion, pfrest.Page{})
		if err != nil {
			return ""
		}
		defer ans.Release()
		var member [1][]byte
		if !row.NewMembers().Find(ans.Data, member[:], "current_version") {
			return ""
		}
		v := strings.TrimPrefix(text(member[0]), "v")
		if _, ok := numbersOf(v); !ok {
			return ""
		}
		return v
	})
}

// text returns the text of a JSON string, "" for anything else.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// numbersOf takes a version of two to four numbers apart. What is none is never
// shown: it would be text of the appliance.
func numbersOf(version string) (n [4]int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || len(parts) > len(n) {
		return n, false
	}
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return n, false
		}
		n[i] = int(v)
	}
	return n, true
}

// older says whether version a is before b; both are versions.
func older(a, b string) bool {
	na, _ := numbersOf(a)
	nb, _ := numbersOf(b)
	return slices.Compare(na[:], nb[:]) < 0
}

// cautionNote says what the installed version answers wrongly.
func (c *call) cautionNote(ctx context.Context, add func(string, ...any)) {
	k := c.tool.Caution
	if k == nil {
		return
	}
	if v := c.apiVersion(ctx, c.caller); v != "" && !older(k.UpTo, v) {
		add("REST API %s: %s", v, k.Note)
	}
}

// unavailable tells an endpoint that the installed version does not have from a
// REST API that is not there at all: both are the web server's bare 404.
func (r *Reader) unavailable(ctx context.Context, caller pfrest.Caller, t *catalog.Tool, err error) error {
	v := r.apiVersion(ctx, caller)
	if v == "" || t.Since != "" && !older(v, t.Since) {
		return err
	}
	next := "update the REST API package"
	if t.Since != "" {
		next = "REST API " + t.Since + " is the first version that has it"
	}
	if t.Instead != "" {
		next += "; until then " + t.Instead + " shows the configuration"
	}
	return errs.Wrap(err, errs.NotFound, "the installed REST API "+v+" does not have this endpoint").
		WithClass("unavailable_on_this_version").WithNext(next)
}

// The DHCP servers, by the name of their service.
const (
	serviceKea = "kea-dhcp4"
	serviceISC = "dhcpd"
)

// dhcpBackend returns which DHCP server is set up and whether it runs; "" when
// the services do not say. Nothing in a list of leases names it.
func (r *Reader) dhcpBackend(ctx context.Context, caller pfrest.Caller) string {
	return r.recall(ctx, &r.backend, backendAge, func() string {
		backend, find := "", row.NewMembers()
		var member [2][]byte
		o := pfrest.WalkOptions{PageSize: pageSize, MaxRows: maxPackages, Restart: func() { backend = "" }}
		_, err := r.cfg.Client.Walk(ctx, caller, catalog.PathServices, o, func(raw jsontext.Value, _ int) bool {
			if !find.Find(raw, member[:], "name", "status") {
				return true
			}
			switch text(member[0]) {
			case serviceKea:
				backend = "kea"
			case serviceISC:
				backend = "isc"
			default:
				return true
			}
			if string(member[1]) == "true" {
				backend += ", running"
			} else {
				backend += ", not running"
			}
			return false
		})
		if err != nil {
			return ""
		}
		return backend
	})
}

// leaseNote names the back end, and says what an empty list of leases does not
// tell apart: with status 200 it also comes when the server is stopped, when its
// control socket is gone, and when the other server was chosen.
func (c *call) leaseNote(ctx context.Context, add func(string, ...any)) {
	if c.tool.Path != catalog.PathDHCPLeases {
		return
	}
	backend := c.dhcpBackend(ctx, c.caller)
	if backend == "" {
		backend = "unknown"
	}
	add("dhcp_backend: %s", backend)
	if c.scanned == 0 {
		add("an empty lease list does not tell no leases, a stopped server and a back end that does not answer apart")
	}
}
