package gate

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// The alias of the tests and what it is to become. The markers are looked for in every
// reason and error.
const (
	name    = "web_servers"
	text    = "DMZ web servers"
	locator = 7
)

// world is a World over a real store, a real reader of a pretend appliance, and a
// counter that is a number. It counts what is asked of it.
type world struct {
	*storetest.Play
	appliance  *aliastest.Appliance
	reader     *alias.Reader
	executor   change.Executor
	quarantine string
	owners     *authority.Set
	names      string
	policy     Policy
	planErr    error
	spoil      func(*change.Plan) // changes the plan that is made anew
	countErr   error
	counted    *int64 // instead of Witness, for the counter alone
	viewErr    error

	calls []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	clock := storetest.NewClock()
	config := storetest.Config(t, clock)
	config.Seam = storetest.Unsynced()
	s := storetest.Create(t, config)
	t.Cleanup(func() { _ = s.Close() })
	w := &world{
		Play: &storetest.Play{T: t, S: s, Clock: clock, Witness: 41}, appliance: aliastest.New(), executor: artifacttest.Plan().Executor,
		owners: artifacttest.Owners(), names: "id", policy: Policy{Enabled: true, AuthorizationMax: 30 * time.Minute, Charset: change.Printable},
	}
	in := artifacttest.Intent().Target
	w.appliance.Change(func(s *aliastest.State) {
		s.Rows = nil
		for _, n := range []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6"} {
			s.Rows = append(s.Rows, aliastest.Row{Name: n, Type: "host", Address: []string{"192.0.2.40"}, Detail: []string{"x"}})
		}
		s.Rows = append(s.Rows, aliastest.Row{Name: in.Name, Type: in.Type, Descr: in.Descr, Address: in.Address, Detail: in.Detail})
		s.Rows = append(s.Rows, aliastest.Row{Name: "last", Type: "port", Address: []string{"443"}, Detail: []string{""}})
		s.History = []time.Time{clock.Read().Wall.Add(-time.Hour)}
	})
	w.reader = w.appliance.Reader(t, func() time.Time { return clock.Read().Wall })
	return w
}

func (w *world) ask(what string) { w.calls = append(w.calls, what) }

func (w *world) View(f func(*store.View) error) error {
	w.ask("view")
	if w.viewErr != nil {
		return w.viewErr
	}
	return w.S.View(f)
}
func (w *world) Quarantine() string           { w.ask("quarantine"); return w.quarantine }
func (w *world) Authorities() *authority.Set  { w.ask("authorities"); return w.owners }
func (w *world) InterfaceNames(string) string { w.ask("names"); return w.names }
func (w *world) Policy() Policy               { w.ask("policy"); return w.policy }
func (w *world) Survey(ctx context.Context) (*alias.Survey, error) {
	w.ask("survey")
	return w.reader.Survey(ctx)
}

// Plan makes the plan from the store and the counter, as the ceremony does.
func (w *world) Plan(context.Context) (*change.Plan, error) {
	w.ask("plan")
	if w.planErr != nil {
		return nil, w.planErr
	}
	f := posture.Facts{
		Configured: true, ConfigValid: true, StoreExists: true, Seeded: true, Complete: true, WitnessConfigured: true, WitnessReachable: true,
		Assurance: change.AssuranceHardware, Witness: &w.Witness, ProvisionedAt: artifacttest.Plan().Evidence.ProvisionedAt, WriteGranted: true, Endpoints: 1,
	}
	if err := w.S.View(func(v *store.View) error {
		a, err := v.Anchor()
		if err == nil {
			f.Baseline = &a.Value
		}
		return err
	}); err != nil {
		return nil, err
	}
	p := posture.Steady(posture.Observe(f), w.executor)
	if w.spoil != nil {
		w.spoil(&p)
	}
	return &p, nil
}

func (w *world) Counter(context.Context) (int64, error) {
	w.ask("counter")
	if w.counted != nil {
		return *w.counted, w.countErr
	}
	return w.Witness, w.countErr
}

// row changes the row of the target, if it is there.
func (w *world) row(f func(*aliastest.Row)) {
	w.appliance.Change(func(s *aliastest.State) {
		s.Rows = slices.Clone(s.Rows)
		for i := range s.Rows {
			if s.Rows[i].Name == name {
				f(&s.Rows[i])
			}
		}
	})
}

// drop takes an alias off the appliance.
func (w *world) drop(alias string) {
	w.appliance.Change(func(s *aliastest.State) {
		s.Rows = slices.DeleteFunc(slices.Clone(s.Rows), func(r aliastest.Row) bool { return r.Name == alias })
	})
}

// live makes two reads with the time between them that settles.
func (w *world) live(ctx context.Context) (l [2]*alias.List, err error) {
	w.ask("live")
	for i := range l {
		if i > 0 {
			w.Clock.Pass(6 * time.Second)
		}
		if l[i], err = w.reader.List(ctx); err != nil {
			return l, err
		}
	}
	return l, nil
}

// must ends the test when a step of the set-up fails.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// read returns something of the store.
func read[T any](t *testing.T, w *world, f func(*store.View) (T, error)) (v T) {
	t.Helper()
	if err := w.S.View(func(view *store.View) (err error) {
		v, err = f(view)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return v
}

// draft is a file before it is signed: any member can be made anything.
type draft struct {
	role    canon.Role
	key     ed25519.PrivateKey
	payload canon.Object
}

// of takes a signed artifact's members.
func of(t testing.TB, a artifact.Signed, key ed25519.PrivateKey) *draft {
	t.Helper()
	p, err := artifact.Payload(a)
	if err != nil {
		t.Fatal(err)
	}
	return &draft{a.Role(), key, p}
}

// sign signs whatever stands there, without a rule.
func (d *draft) sign(t testing.TB) []byte {
	t.Helper()
	msg, err := canon.SigMessage(d.role, d.payload)
	if err != nil {
		t.Fatal(err)
	}
	whole := canon.Object{"proof": base64.StdEncoding.EncodeToString(ed25519.Sign(d.key, msg))}
	for k, v := range d.payload {
		whole[k] = v
	}
	b, err := canon.Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// set changes a member of the draft.
func (d *draft) set(key string, v any) { d.payload[key] = v }

// at moves a time of the draft.
func (d *draft) at(key string, t time.Time) { d.set(key, t.UTC().Format(time.RFC3339)) }

// leaves visits every value of an object that is no container, with its path.
func leaves(o any, path string, visit func(path string, value any, set func(any))) {
	switch o := o.(type) {
	case canon.Object:
		for _, k := range slices.Sorted(func(yield func(string) bool) {
			for k := range o {
				if !yield(k) {
					return
				}
			}
		}) {
			leaf(o[k], path+"/"+k, func(v any) { o[k] = v }, visit)
		}
	case canon.Array:
		for i := range o {
			leaf(o[i], path+"/0", func(v any) { o[i] = v }, visit)
		}
	}
}

func leaf(v any, path string, set func(any), visit func(string, any, func(any))) {
	switch v.(type) {
	case canon.Object, canon.Array:
		leaves(v, path, visit)
	default:
		visit(path, v, set)
	}
}

// other returns another value of the same form.
func other(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(time.Second).Format(time.RFC3339)
		}
		last := v[len(v)-1]
		if last == '0' {
			return v[:len(v)-1] + "1"
		}
		return v[:len(v)-1] + "0"
	case int64:
		return v + 1
	case bool:
		return !v
	}
	return "x"
}

// fault is one thing that is wrong, with the reason that it must be denied for. A list of
// faults stands in the order of the gates.
type fault[K any] struct {
	name   string
	reason record.Reason
	do     func(*testing.T, K)
}

// single tries each fault alone, pairs each two of them: the first gate that fails gives
// the reason, whatever is wrong further on.
func single[K any](t *testing.T, faults []fault[K], build func(*testing.T) K, submit func(*testing.T, K) *Denied) {
	t.Helper()
	if d := submit(t, build(t)); d != nil {
		t.Fatalf("the valid case is denied: %v, %v", d, d.Err)
	}
	for _, f := range faults {
		k := build(t)
		f.do(t, k)
		check(t, f.name, f.reason, submit(t, k))
	}
}

func pairs[K any](t *testing.T, faults []fault[K], build func(*testing.T) K, submit func(*testing.T, K) *Denied) {
	t.Helper()
	if testing.Short() {
		return // some hundred stores
	}
	for i, first := range faults {
		for _, second := range faults[i+1:] {
			if first.reason == second.reason {
				continue
			}
			k := build(t)
			first.do(t, k)
			second.do(t, k)
			check(t, first.name+" and "+second.name, first.reason, submit(t, k))
		}
	}
}

func check(t *testing.T, what string, want record.Reason, d *Denied) {
	t.Helper()
	switch {
	case d == nil:
		t.Errorf("%s: passed", what)
	case d.Reason != want:
		t.Errorf("%s: %s, want %s (%v)", what, d.Reason, want, d.Err)
	default:
		silent(t, what, d)
	}
}

// silent checks that a denial tells nothing of the file, the request or the appliance.
func silent(t *testing.T, what string, d *Denied) {
	t.Helper()
	if !d.Reason.Known() || d.Error() != "denied: "+string(d.Reason) {
		t.Errorf("%s: %v is not of the closed list", what, d)
	}
	if _, ok := errors.AsType[*artifact.Fault](error(d)); ok {
		t.Errorf("%s: a rule of the file leaves", what)
	}
	if _, ok := errors.AsType[*canon.Error](error(d)); ok {
		t.Errorf("%s: a rule of the form leaves", what)
	}
	for err := error(d); err != nil; err = errors.Unwrap(err) {
		said := err.Error()
		if e, ok := err.(*errs.Error); ok {
			said += e.Next + e.Class
		}
		for _, marker := range []string{name, text, "Old text", "192.0.2", "web", "DMZ", "fw-edge"} {
			if strings.Contains(said, marker) || strings.Contains(string(d.Reason), marker) {
				t.Errorf("%s: %q holds %q", what, said, marker)
			}
		}
	}
	if d.Err != nil && errs.Public(d.Err).Class == "" {
		t.Errorf("%s: an error without a class: %v", what, d.Err)
	}
}

// asked checks that nothing was asked but what is allowed, and what is dear once at most.
func asked(t *testing.T, w *world, what string, allowed ...string) {
	t.Helper()
	for _, c := range w.calls {
		if !slices.Contains(allowed, c) {
			t.Errorf("%s: %s was asked", what, c)
		}
	}
	for _, dear := range []string{"plan", "counter", "survey", "live"} {
		n := 0
		for _, c := range w.calls {
			if c == dear {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%s: %s was asked %d times", what, dear, n)
		}
	}
	if len(w.appliance.Calls()) > 0 && !slices.Contains(allowed, "survey") && !slices.Contains(allowed, "live") {
		t.Errorf("%s: the appliance saw %v", what, w.appliance.Calls())
	}
}
