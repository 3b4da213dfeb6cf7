package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/pkg/pfrest"
)

const (
	web  = "web_servers"
	text = "DMZ web servers"
)

// looker calls before its reads, which it counts.
type looker struct {
	*alias.Reader
	n      int
	before func(n int)
}

func (l *looker) List(ctx context.Context) (*alias.List, error) {
	l.n++
	if l.before != nil {
		l.before(l.n)
	}
	return l.Reader.List(ctx)
}

// bench is an attempt that stands right behind T5, with the appliance it is about.
type bench struct {
	*run
	play   *storetest.Play
	fw     *aliastest.Appliance
	reader *looker
	now    time.Time // of the reader, whose clock stands still
}

func newBench(t *testing.T) *bench {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Create(t, storetest.Config(t, clock))
	t.Cleanup(func() { _ = s.Close() })
	b := &bench{play: &storetest.Play{T: t, S: s, Clock: clock, Witness: 41}, fw: aliastest.New(), now: time.Now()}
	b.fw.Change(func(st *aliastest.State) { // the position that the plays of the store know
		for n := range 6 {
			st.Rows = slices.Insert(st.Rows, 0, aliastest.Row{Name: fmt.Sprintf("other_%d", n), Type: "host", Address: []string{"192.0.2.40"}, Detail: []string{"x"}})
		}
	})
	b.reader = &looker{Reader: b.fw.Reader(t, func() time.Time { return b.now })}
	c, err := b.play.Authorize(web, text)
	if err == nil {
		c, err = b.play.Confirm(c)
	}
	if err == nil {
		c, err = s.BeginExecution(c.At(), b.play.Witness)
	}
	if err == nil {
		err = b.play.Advance(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.run = &run{
		Env:  &Env{Store: s, Clock: clock, Reader: b.reader, Settle: time.Millisecond},
		Plan: Plan{Contract: c, Until: c.ExpiresAt}, k: c, dir: forward,
	}
	if err := s.View(func(v *store.View) error {
		b.in, err = v.Intent(&c)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b.from, _ = b.dir.from(b.in)
	b.to, _ = b.dir.to(b.in)
	return b
}

// sent is T6 over what a look shows, and an exchange.
func (b *bench) sent(t *testing.T, r exchange.Result) {
	t.Helper()
	if why := b.look(t.Context()); why != "" {
		t.Fatalf("the look: %s", why)
	}
	c, err := b.Store.SendIntent(b.k.At(), b.collection)
	if err != nil {
		t.Fatal(err)
	}
	b.k, b.result, b.reader.n = c, r, 0
}

func (b *bench) stored(t *testing.T) (*record.Contract, *record.Result) {
	t.Helper()
	var c *record.Contract
	var r *record.Result
	if err := b.Store.View(func(v *store.View) (err error) {
		c, r, err = v.Contract(b.k.ContractID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return c, r
}

func answer(status int, id string, echo bool) exchange.Result {
	return exchange.Result{Sent: 400, Took: 90 * time.Millisecond, Answered: true, Status: status, ResponseID: id, EchoOK: echo}
}

var (
	accepted = answer(200, "SUCCESS", true)
	rejected = answer(422, "FIELD_INVALID", false)
	shifted  = answer(400, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", false)
	locked   = answer(503, "MODEL_WRITE_CONFIG_LOCKED", false)
	strange  = answer(200, "SUCCESS", false) // it shows another alias
	crashed  = answer(500, "X", false)
	lost     = exchange.Result{Sent: 400, Took: time.Second, Err: errs.New(errs.UnknownOutcome, "reset").WithClass("ambiguous_send")}
	cut      = exchange.Result{Sent: 400, Took: time.Second, Err: errs.New(errs.UnknownOutcome, "half an answer").WithClass("ambiguous_response")}
	unsent   = exchange.Result{Err: errs.New(errs.Unavailable, "closed before the first byte").WithClass("not_sent")}
)

// Every effect that an exchange can have is a row of the one table, and no row proves
// anything by itself but that of an exchange of which no byte left.
func TestEveryEffectHasARowAndNoneIsProofByItself(t *testing.T) {
	for _, r := range []exchange.Result{accepted, rejected, shifted, locked, strange, crashed, lost, cut, unsent} {
		row, known := outcomes[r.Effect()]
		if !known {
			t.Errorf("%s has no row", r.Effect())
		}
		if free := row.proof == nothing && row.settle != nil && r.Effect() != exchange.Ambiguous; free != (r.Effect() == exchange.None) {
			t.Errorf("%s settles without a read", r.Effect())
		}
	}
	if len(outcomes) != 6 {
		t.Errorf("%d rows", len(outcomes))
	}
	var names []string
	for _, row := range order {
		names = append(names, row.name)
	}
	if want := []string{"begin", "tick", "advance", "connect", "preread", "intent", "send", "settle"}; !slices.Equal(names, want) {
		t.Errorf("the order is %v", names)
	}
}

// What an exchange and the two reads after it come to: failed and verified by proof,
// everything else waits for people.
func TestX5X6X9WhatAnExchangeAndTwoReadsProve(t *testing.T) {
	done := func(b *bench) { b.fw.SetDescr(web, text) }
	other := func(b *bench) { b.fw.SetDescr("db_servers", "Somebody else's words") }
	drift := func(b *bench) { b.fw.SetDescr(web, "Somebody else's words") }
	broken := func(b *bench) {
		b.fw.Change(func(s *aliastest.State) {
			s.Fail = map[pfrest.Endpoint]error{"/api/v2/firewall/aliases": errors.New("away")}
		})
	}
	stranger := func(b *bench) { b.fw.Change(func(s *aliastest.State) { s.NetgateID = "ffffffffffffffffffff" }) }
	moved := func(b *bench) {
		b.fw.Change(func(s *aliastest.State) {
			s.Rows = slices.Insert(s.Rows, 0, aliastest.Row{Name: "aaa", Type: "host", Address: []string{"192.0.2.9"}, Detail: []string{""}})
		})
	}
	gone := func(b *bench) { b.fw.Change(func(s *aliastest.State) { s.Rows = s.Rows[:3] }) }
	for name, row := range map[string]struct {
		r       exchange.Result
		first   func(*bench) // before the first read
		second  func(*bench) // between the two
		state   record.State
		why     record.Reason
		reads   int
		another bool // another alias changed as well
	}{
		"not a byte left":                      {unsent, nil, nil, record.Failed, "not_sent", 0, false},
		"done":                                 {accepted, done, nil, record.Verified, "", 2, false},
		"done, and somebody else did more":     {accepted, func(b *bench) { done(b); other(b) }, nil, record.Verified, "", 2, true},
		"said to be done":                      {accepted, nil, nil, record.Reconciliation, "readback_mismatch", 1, false},
		"done, then taken back":                {accepted, done, func(b *bench) { b.fw.SetDescr(web, "Old text") }, record.Reconciliation, "readback_mismatch", 2, false},
		"done, then the list is away":          {accepted, done, broken, record.Reconciliation, "readback_failed", 2, false},
		"done, then another appliance":         {accepted, done, stranger, record.Reconciliation, "identity_changed", 2, false},
		"done, then it moved":                  {accepted, done, moved, record.Reconciliation, "collateral_suspected", 2, false},
		"said to be done of another":           {accepted, other, nil, record.Reconciliation, "collateral_suspected", 1, false},
		"said to be done, and the alias went":  {accepted, gone, nil, record.Reconciliation, "readback_mismatch", 1, false},
		"it shows another alias":               {strange, done, nil, record.Reconciliation, "ambiguous_response", 1, false},
		"an error of the appliance":            {crashed, nil, nil, record.Reconciliation, "ambiguous_response", 1, false},
		"no answer":                            {lost, nil, nil, record.Reconciliation, "ambiguous_send", 1, false},
		"no answer, and it is done":            {lost, done, nil, record.Reconciliation, "ambiguous_send", 1, false},
		"half an answer":                       {cut, done, nil, record.Reconciliation, "ambiguous_response", 1, false},
		"no answer, and another alias changed": {lost, other, nil, record.Reconciliation, "collateral_suspected", 1, false},
		"no answer, and nothing can be read":   {lost, broken, nil, record.Reconciliation, "ambiguous_send", 1, false},
		"refused":                              {rejected, nil, nil, record.Failed, "rejected", 2, false},
		"refused, and done":                    {rejected, done, nil, record.Reconciliation, "readback_mismatch", 1, false},
		"refused, and done after a while":      {rejected, nil, done, record.Reconciliation, "readback_mismatch", 2, false},
		"refused, and another alias changed":   {rejected, other, nil, record.Reconciliation, "collateral_suspected", 1, false},
		"refused, and another changed later":   {rejected, nil, other, record.Reconciliation, "collateral_suspected", 2, false},
		"refused, and nothing can be read":     {rejected, broken, nil, record.Reconciliation, "readback_failed", 1, false},
		"another alias at the position":        {shifted, nil, nil, record.Failed, "shifted", 2, false},
		"another one, and the target changed":  {shifted, drift, nil, record.Reconciliation, "readback_mismatch", 1, false},
		"the appliance is locked":              {locked, nil, nil, record.Failed, "locked", 2, false},
		"it is locked, and done all the same":  {locked, nil, done, record.Reconciliation, "readback_mismatch", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.sent(t, row.r)
			b.reader.before = func(n int) {
				if n == 1 && row.first != nil {
					row.first(b)
				}
				if n == 2 && row.second != nil {
					row.second(b)
				}
			}
			fin, err := b.settle(t.Context())
			if !fin || err != nil {
				t.Fatalf("%v, %v", fin, err)
			}
			c, res := b.stored(t)
			if c.State != row.state || res.Reason != row.why {
				t.Errorf("%s %s, want %s %s", c.State, res.Reason, row.state, row.why)
			}
			// A read that fails is tried three times; what it shows is not.
			if n := b.reader.n; n < row.reads || n > row.reads+2 || row.reads > 0 && res.Reason != "readback_failed" && row.r.Err == nil && n != row.reads {
				t.Errorf("%d reads, want %d", n, row.reads)
			}
			var last *record.Send
			_ = b.Store.View(func(v *store.View) (err error) {
				last, err = v.Send(c.ContractID)
				return err
			})
			if known := last.ExchangeMS != nil; known != (row.r.Answered || row.r.Sent == 0) {
				t.Errorf("that the write can still land is noted: %v", !known)
			}
		})
	}
}

// A caller who left, or a step whose time is over, does not keep what was sent from
// being settled.
func TestReview21WhatWasSentIsSettledAfterTheEndOfItsTime(t *testing.T) {
	b := newBench(t)
	b.sent(t, accepted)
	b.fw.SetDescr(web, text)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.settle(ctx); err != nil {
		t.Fatal(err)
	}
	if c, res := b.stored(t); c.State != record.Verified {
		t.Errorf("%s %s", c.State, res.Reason)
	}
}

// What the last look before a send must refuse, with its reason; nothing else is as it
// was approved.
func TestX9TheLastLookRefusesWhateverWasNotApproved(t *testing.T) {
	change := func(f func(*aliastest.State)) func(*bench) { return func(b *bench) { b.fw.Change(f) } }
	fail := func(ep pfrest.Endpoint) func(*bench) {
		return change(func(s *aliastest.State) { s.Fail = map[pfrest.Endpoint]error{ep: errors.New("away")} })
	}
	for name, row := range map[string]struct {
		do  func(*bench)
		why record.Reason
	}{
		"nothing happened":            {func(*bench) {}, ""},
		"another appliance":           {change(func(s *aliastest.State) { s.NetgateID = "ffffffffffffffffffff" }), "identity_changed"},
		"its identity is gone":        {change(func(s *aliastest.State) { s.NetgateID = "" }), "target_unresolved"},
		"another package version":     {change(func(s *aliastest.State) { s.Version = "v2.9.0" }), "appliance_version"},
		"links were switched on":      {change(func(s *aliastest.State) { s.Links = true }), "appliance_settings"},
		"it was made read-only":       {change(func(s *aliastest.State) { s.ReadOnly = true }), "appliance_settings"},
		"interfaces are named anew":   {change(func(s *aliastest.State) { s.InterfaceNames = "descr" }), "appliance_settings"},
		"somebody's pending change":   {change(func(s *aliastest.State) { s.Pending = []string{"aliases"} }), "appliance_busy"},
		"a change of just now":        {func(b *bench) { b.fw.Change(func(s *aliastest.State) { s.History = []time.Time{b.now} }) }, "appliance_busy"},
		"the history cannot be read":  {fail("/api/v2/diagnostics/config_history/revisions"), "appliance_busy"},
		"what is pending likewise":    {fail("/api/v2/firewall/apply"), "appliance_busy"},
		"the list cannot be read":     {fail("/api/v2/firewall/aliases"), "target_unresolved"},
		"another text":                {func(b *bench) { b.fw.SetDescr(web, "Somebody else's words") }, "drift"},
		"the very text":               {func(b *bench) { b.fw.SetDescr(web, text) }, "drift"},
		"another position":            {change(func(s *aliastest.State) { s.Rows = s.Rows[1:] }), "locator_changed"},
		"no such alias":               {change(func(s *aliastest.State) { s.Rows = s.Rows[:3] }), "target_unresolved"},
		"two of the name":             {change(func(s *aliastest.State) { s.Rows = append(s.Rows, s.Rows[7]) }), "target_unresolved"},
		"another alias, which is his": {func(b *bench) { b.fw.SetDescr("db_servers", "Somebody else's words") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Names = "id"
			row.do(b)
			fin, err := b.preread(t.Context())
			if err != nil || fin != (row.why != "") {
				t.Fatalf("%v, %v", fin, err)
			}
			c, res := b.stored(t)
			want := record.Failed
			if row.why == "" {
				want = record.Executing
			}
			if c.State != want || res.Reason != row.why || c.Boundary != record.BoundaryNone {
				t.Errorf("%s %s, want %s %s", c.State, res.Reason, want, row.why)
			}
		})
	}
}

// The reasons that an error may give to the audit are words of it; "lockout" is one of
// another thing.
func TestAnErrorGivesItsClassOnlyWhenTheAuditHasTheWord(t *testing.T) {
	for _, row := range []struct {
		err  error
		want record.Reason
	}{
		{errs.New(errs.Conflict, "x").WithClass("appliance_busy"), "appliance_busy"},
		{errs.New(errs.Conflict, "x").WithClass("no_word_of_it"), "drift"},
		{errs.New(errs.Unavailable, "x").WithClass("lockout"), "drift"},
		{errors.New("x"), "drift"},
	} {
		if got := reason(row.err, "drift"); got != row.want {
			t.Errorf("%v: %s", row.err, got)
		}
	}
}

// What each answer of the counter makes of an attempt that has noted its increment.
func TestN4WhatTheCounterSaysDecidesWhetherItGoesOn(t *testing.T) {
	for name, row := range map[string]struct {
		advance anchortest.Fault
		read    anchortest.Fault // of the read that is to prove it unmoved
		goesOn  bool
		state   record.State
		pending bool
	}{
		"incremented":                           {anchortest.Works, anchortest.Works, true, record.Executing, true},
		"away, and unmoved":                     {anchortest.Unavailable, anchortest.Works, false, record.Failed, false},
		"it refused the secret, and is unmoved": {anchortest.Refused, anchortest.Works, false, record.Failed, false},
		"away, and cannot be read":              {anchortest.Unavailable, anchortest.Unavailable, false, record.Executing, true},
		"another index":                         {anchortest.WrongName, anchortest.WrongName, false, record.Executing, true},
		"nobody knows, it did not":              {anchortest.Lost, anchortest.Works, false, record.Executing, true},
		"nobody knows, it did":                  {anchortest.Happened, anchortest.Works, false, record.Executing, true},
		"somebody else counts too":              {anchortest.Twice, anchortest.Works, false, record.Executing, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			s := storetest.Create(t, storetest.Config(t, clock))
			defer s.Close()
			p := &storetest.Play{T: t, S: s, Clock: clock, Witness: 41}
			c, err := p.Authorize(web, text)
			if err == nil {
				c, err = p.Confirm(c)
			}
			if err == nil {
				c, err = s.BeginExecution(c.At(), 41)
			}
			if err != nil {
				t.Fatal(err)
			}
			fake := anchortest.New(41)
			fake.OnAdvance(row.advance)
			fake.OnRead(row.read)
			a := &run{Env: &Env{Store: s, Clock: clock, Counter: fake}, k: c, dir: forward}
			fin, err := a.tick(t.Context())
			if fin == row.goesOn || row.pending && !row.goesOn && errs.Public(err).Class != anchor.ClassUnreachable || !row.pending && err != nil {
				t.Errorf("%v, %v", fin, err)
			}
			if err := s.View(func(v *store.View) error {
				got, res, err := v.Contract(c.ContractID)
				if err != nil {
					return err
				}
				row2, err := v.Anchor()
				if got.State != row.state || (row2.Pending != nil) != row.pending {
					t.Errorf("%s %s, pending %v", got.State, res.Reason, row2.Pending)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if fake.Advances() != 1 {
				t.Errorf("%d ticks", fake.Advances())
			}
		})
	}
}

// C3: the approvals end between T4 and T6: nothing is sent, and that is proven.
func TestC3AContractThatExpiresBetweenT4AndT6IsNotSent(t *testing.T) {
	b := newBench(t)
	if fin, err := b.preread(t.Context()); fin || err != nil {
		t.Fatalf("%v, %v", fin, err)
	}
	b.play.Clock.Pass(15 * time.Minute)
	if fin, err := b.intent(t.Context()); !fin || err != nil {
		t.Fatalf("%v, %v", fin, err)
	}
	if c, res := b.stored(t); c.State != record.Failed || res.Reason != record.ReasonNotSent || c.Boundary != record.BoundaryNone {
		t.Errorf("%s %s %s", c.State, res.Reason, c.Boundary)
	}
}

// A test build says how long; without a word it is as designed.
func TestReview06HowOldTheLastLookMayBe(t *testing.T) {
	for _, x := range []struct {
		fresh, age time.Duration
		failed     bool
	}{{0, 2 * time.Second, false}, {0, 3 * time.Second, true}, {fresh, 3 * time.Second, true}, {30 * time.Second, 30 * time.Second, false}, {30 * time.Second, 31 * time.Second, true}} {
		b := newBench(t)
		b.conn, b.Fresh = &exchange.Conn{}, x.fresh
		if why := b.look(t.Context()); why != "" {
			t.Fatalf("the look: %s", why)
		}
		b.looked = b.Clock.Read()
		b.play.Clock.Pass(x.age)
		done, err := b.intent(t.Context())
		if c, _ := b.stored(t); err != nil || done != x.failed || (c.State == record.Failed) != x.failed {
			t.Errorf("%v after %v: %v, %s, %v", x.age, x.fresh, done, c.State, err)
		}
	}
}

// An error before T4 leaves the contract as it was, whatever asked for it.
func TestReview04WhatStopsAnAttemptBeforeT4LeavesItAsItWas(t *testing.T) {
	stop := errs.New(errs.Conflict, "not now").WithClass("c6_digest")
	for name, row := range map[string]struct {
		check   error
		counter func(*anchortest.Fake)
	}{
		"a gate says no":              {stop, func(*anchortest.Fake) {}},
		"the counter cannot be read":  {nil, func(f *anchortest.Fake) { f.Break(anchortest.Unavailable) }},
		"the counter is another one":  {nil, func(f *anchortest.Fake) { f.Break(anchortest.WrongName) }},
		"the counter has moved on":    {nil, func(f *anchortest.Fake) { f.Set(42) }},
		"the counter has been set up": {nil, func(f *anchortest.Fake) { f.Set(40) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			s := storetest.Create(t, storetest.Config(t, clock))
			defer s.Close()
			p := &storetest.Play{T: t, S: s, Clock: clock, Witness: 41}
			c, err := p.Authorize(web, text)
			if err == nil {
				c, err = p.Confirm(c)
			}
			if err != nil {
				t.Fatal(err)
			}
			fake := anchortest.New(41)
			row.counter(fake)
			e := &Env{Store: s, Clock: clock, Counter: fake}
			k, err := e.Run(t.Context(), Plan{
				Contract: c, Until: c.ExpiresAt, Check: func(context.Context) error { return row.check },
				Began: func(record.Contract) { t.Error("it is said to have begun") },
			})
			if err == nil || k.At() != c.At() || fake.Advances() != 0 {
				t.Errorf("%v, %+v, %d ticks", err, k.At(), fake.Advances())
			}
			if err := s.View(func(v *store.View) error {
				got, _, err := v.Contract(c.ContractID)
				if err == nil && got.At() != c.At() {
					t.Errorf("it is %+v", got.At())
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
