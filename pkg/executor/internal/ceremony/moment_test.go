package ceremony_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/fakepf/php"
)

// lists is what executord reads aliases from.
const lists = "/api/v2/firewall/aliases"

// moments is a write path in which something happens at named points of the next
// attempts.
type moments struct {
	*ceremonytest.House
	at    map[string]func()
	reads *reads
}

// reads stands between executord and the appliance, and lets something happen beside a
// read of the list.
type reads struct {
	alias.Client
	mu     sync.Mutex
	before func() // every read, when it is set
	after  func() // the next read
	looks  []look
}

// look is when a read of the list began and ended.
type look struct{ began, ended time.Time }

func (r *reads) Get(ctx context.Context, who pfrest.Caller, ep pfrest.Endpoint, page pfrest.Page) (pfrest.Answer, error) {
	if ep != lists {
		return r.Client.Get(ctx, who, ep, page)
	}
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before != nil {
		before()
	}
	began := time.Now()
	a, err := r.Client.Get(ctx, who, ep, page)
	r.mu.Lock()
	r.looks = append(r.looks, look{began, time.Now()})
	after := r.after
	r.after = nil
	r.mu.Unlock()
	if after != nil {
		after()
	}
	return a, err
}

func during(t *testing.T, o ceremonytest.Options) *moments {
	t.Helper()
	m := &moments{at: map[string]func(){}, reads: &reads{}}
	o.Client = func(c alias.Client) alias.Client {
		m.reads.Client = c
		return m.reads
	}
	config := o.Config
	o.Config = func(c *ceremony.Config) {
		if config != nil {
			config(c)
		}
		c.Point = func(point string) {
			if do := m.at[point]; do != nil {
				delete(m.at, point)
				do()
			}
		}
	}
	m.House = ceremonytest.New(t, o)
	return m
}

// set changes a field of an alias on the appliance, as somebody else would.
func (m *moments) set(alias, field string, v any) {
	m.T.Helper()
	if err := m.FW.Set("FirewallAlias", m.position(alias), field, v); err != nil {
		m.T.Error(err)
	}
}

// insert puts an alias in front of all others.
func (m *moments) insert(alias string) {
	m.T.Helper()
	if err := m.FW.Insert("FirewallAlias", 0, php.Object{
		{Key: "name", Value: alias}, {Key: "type", Value: "host"}, {Key: "descr", Value: "x"}, {Key: "address", Value: []any{"192.0.2.7"}}, {Key: "detail", Value: []any{""}},
	}); err != nil {
		m.T.Error(err)
	}
}

func (m *moments) remove(alias string) {
	m.T.Helper()
	if err := m.FW.Delete("FirewallAlias", m.position(alias)); err != nil {
		m.T.Error(err)
	}
}

func (m *moments) position(alias string) int {
	m.T.Helper()
	for pos := range m.FW.Rows("FirewallAlias") {
		row := m.FW.Row("FirewallAlias", pos)
		if name, _ := row.Get("name"); name == alias {
			return pos
		}
	}
	m.T.Fatalf("there is no alias %s", alias)
	return 0
}

// edits are what somebody else can do to the target, with the reason that it must be
// seen for before the send.
func edits() map[string]struct {
	do  func(*moments)
	why record.Reason
} {
	return map[string]struct {
		do  func(*moments)
		why record.Reason
	}{
		"its description":       {func(m *moments) { m.set(ceremonytest.Alias, "descr", "Somebody else's words") }, "drift"},
		"its addresses":         {func(m *moments) { m.set(ceremonytest.Alias, "address", []any{"10.71.10.31", "10.71.10.99"}) }, "drift"},
		"their order":           {func(m *moments) { m.set(ceremonytest.Alias, "address", []any{"10.71.10.32", "10.71.10.31"}) }, "drift"},
		"a detail":              {func(m *moments) { m.set(ceremonytest.Alias, "detail", []any{"workshop label printer", "second floor"}) }, "drift"},
		"its position":          {func(m *moments) { m.insert("aaa") }, "locator_changed"},
		"its name":              {func(m *moments) { m.set(ceremonytest.Alias, "name", "Printers") }, "target_unresolved"},
		"another of its name":   {func(m *moments) { m.insert(ceremonytest.Alias) }, "target_unresolved"},
		"that there is none":    {func(m *moments) { m.remove(ceremonytest.Alias) }, "target_unresolved"},
		"that it is done":       {func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }, "drift"},
		"a pending change":      {func(m *moments) { m.FW.SetPending("aliases") }, "appliance_busy"},
		"links in answers":      {func(m *moments) { s := m.FW.Settings(); s.HATEOAS = true; m.FW.SetSettings(s) }, "appliance_settings"},
		"the interfaces' names": {func(m *moments) { s := m.FW.Settings(); s.InterfacesAs = "descr"; m.FW.SetSettings(s) }, "appliance_settings"},
	}
}

func TestX9WhatChangesBeforeTheSendStopsItWithoutAByte(t *testing.T) {
	for what, edit := range edits() {
		points := []string{"connect after"} // all before the last look are alike
		if what == "its description" {
			points = append(points, "begin after", "tick after", "advance after")
		}
		for _, point := range points {
			t.Run(what+" at "+point, func(t *testing.T) {
				t.Parallel()
				m := during(t, ceremonytest.Options{})
				m.at[point] = func() { edit.do(m) }
				k, res := m.Changed(text)
				if k.State != record.Failed || res.Reason != edit.why || m.Sends() != 0 || m.Counter.Advances() != 1 {
					t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
				}
				if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Refused {
					t.Errorf("the poll says %s", got)
				}
			})
		}
	}
}

// Between the last look and the answer nothing can be stopped: the appliance's own
// guard refuses another alias, and what is read afterwards is never taken for proof.
func TestX9X5WhatChangesBetweenTheLastLookAndTheReadBackIsNoSuccess(t *testing.T) {
	for what, row := range map[string]struct {
		point string
		do    func(*moments)
		why   []record.Reason
	}{
		"the list shifted before the send":         {"preread after", func(m *moments) { m.insert("aaa") }, []record.Reason{"collateral_suspected"}},
		"the alias went before the send":           {"preread after", func(m *moments) { m.remove(ceremonytest.Alias) }, []record.Reason{"readback_mismatch", "collateral_suspected"}},
		"somebody else's words after it":           {"send after", func(m *moments) { m.set(ceremonytest.Alias, "descr", "Somebody else's words") }, []record.Reason{"readback_mismatch"}},
		"the former words again after it":          {"send after", func(m *moments) { m.set(ceremonytest.Alias, "descr", ceremonytest.Old) }, []record.Reason{"readback_mismatch"}},
		"other addresses after it":                 {"send after", func(m *moments) { m.set(ceremonytest.Alias, "address", []any{"10.71.10.31", "10.71.10.99"}) }, []record.Reason{"readback_mismatch"}},
		"another type after it":                    {"send after", func(m *moments) { m.set(ceremonytest.Alias, "type", "network") }, []record.Reason{"readback_mismatch"}},
		"another position after it":                {"send after", func(m *moments) { m.insert("aaa") }, []record.Reason{"readback_mismatch", "collateral_suspected"}},
		"no such alias after it":                   {"send after", func(m *moments) { m.remove(ceremonytest.Alias) }, []record.Reason{"readback_mismatch"}},
		"two of its name after it":                 {"send after", func(m *moments) { m.insert(ceremonytest.Alias) }, []record.Reason{"readback_mismatch"}},
		"the appliance cannot be read after it":    {"send after", func(m *moments) { m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, Path: lists, Count: -1}) }, []record.Reason{"readback_failed"}},
		"500 rows, of which none is surely all of": {"send after", func(m *moments) { m.FW.Fault(fakepf.Fault{Kind: fakepf.NullRow, Row: 1, Path: lists, Count: -1}) }, []record.Reason{"readback_failed"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			m.at[row.point] = func() { row.do(m) }
			k, res := m.Changed(text)
			if k.State != record.Reconciliation || k.Origin != record.Executing || !slices.Contains(row.why, res.Reason) || m.Sends() != 1 || m.Counter.Advances() != 1 {
				t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
			}
			if row.point == "preread after" && m.FW.Rows("FirewallAlias") > 0 {
				for pos := range m.FW.Rows("FirewallAlias") {
					row := m.FW.Row("FirewallAlias", pos)
					if d, _ := row.Get("descr"); d == text {
						t.Errorf("another alias was changed: row %d", pos)
					}
				}
			}
		})
	}
}

// onceRead does something when the list was read the next time, before anything else
// is read.
func (m *moments) onceRead(do func()) {
	m.reads.mu.Lock()
	defer m.reads.mu.Unlock()
	m.reads.after = do
}

// A change is verified by two reads that differ in time: the first alone proves
// nothing, neither that it is there nor that nothing was done.
func TestReview17X9BothReadsAfterTheSendMustShowIt(t *testing.T) {
	for what, row := range map[string]struct {
		fault fakepf.Fault
		do    func(*moments)
	}{
		"a success that comes late":          {fakepf.Fault{Kind: fakepf.Lost}, func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }},
		"a success whose text goes":          {fakepf.Fault{}, func(m *moments) { m.set(ceremonytest.Alias, "descr", ceremonytest.Old) }},
		"a success whose addresses change":   {fakepf.Fault{}, func(m *moments) { m.set(ceremonytest.Alias, "address", []any{"10.71.10.31"}) }},
		"a refusal whose text comes":         {fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID"}, func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }},
		"a refusal while another is changed": {fakepf.Fault{Kind: fakepf.Status, Status: 400, ResponseID: "FIELD_INVALID"}, func(m *moments) { m.set(ceremonytest.Other, "descr", text) }},
		"a lock whose text comes":            {fakepf.Fault{Kind: fakepf.Locked, Delay: time.Millisecond}, func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			if row.fault.Kind != "" {
				row.fault.Path, row.fault.Method = patch, "PATCH"
				m.FW.Fault(row.fault)
			}
			m.at["send after"] = func() { m.onceRead(func() { row.do(m) }) }
			if k, res := m.Changed(text); k.State != record.Reconciliation || m.Sends() != 1 {
				t.Errorf("%s %s, %d sends", k.State, res.Reason, m.Sends())
			}
		})
	}
}

// The two reads that prove something are apart by the time in which somebody else's apply
// can take a change back.
func TestReview17TheTwoReadsAfterTheSendAreApart(t *testing.T) {
	const settle = 300 * time.Millisecond
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) { c.Windows.Settle = settle }})
	sent := 0
	m.at["send after"] = func() { sent = len(m.reads.looks) }
	if k, res := m.Changed(text); k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	reads := m.reads.looks[sent:]
	if sent == 0 || len(reads) != 2 {
		t.Fatalf("%d reads before the send, %d after it", sent, len(reads))
	}
	if apart := reads[1].began.Sub(reads[0].ended); apart < settle {
		t.Errorf("the reads are %v apart", apart)
	}
}

// A read after the send may be repeated, the request may not.
func TestX1AReadThatFailsIsRepeatedAndTheRequestIsNot(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.at["send after"] = func() { m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, Path: lists, Count: 2}) }
	if k, res := m.Changed(text); k.State != record.Verified || m.Sends() != 1 || m.Counter.Advances() != 1 {
		t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
}

// A refusal proves nothing by itself (X6): only two reads of everything as it was do.
func TestX6ARefusalWithTheTextInPlaceIsUncertain(t *testing.T) {
	for what, row := range map[string]struct {
		status int
		do     func(*moments)
		state  record.State
	}{
		"400 and unchanged":               {400, func(*moments) {}, record.Failed},
		"400 and the text is there":       {400, func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }, record.Reconciliation},
		"403 and other words are there":   {403, func(m *moments) { m.set(ceremonytest.Alias, "descr", "z") }, record.Reconciliation},
		"409 and another alias changed":   {409, func(m *moments) { m.set(ceremonytest.Other, "descr", "z") }, record.Reconciliation},
		"404 and another alias went":      {404, func(m *moments) { m.remove(ceremonytest.Other) }, record.Reconciliation},
		"406, after which it may stand":   {406, func(*moments) {}, record.Reconciliation},
		"418, which is not of the list":   {418, func(*moments) {}, record.Reconciliation},
		"500 and unchanged":               {500, func(*moments) {}, record.Reconciliation},
		"500 and the text is there":       {500, func(m *moments) { m.set(ceremonytest.Alias, "descr", text) }, record.Reconciliation},
		"503 of no known kind":            {503, func(*moments) {}, record.Reconciliation},
		"a refusal of a shifted position": {400, func(*moments) {}, record.Failed},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			f := fakepf.Fault{Kind: fakepf.Status, Status: row.status, ResponseID: "SOMETHING", Path: patch, Method: "PATCH"}
			if what == "a refusal of a shifted position" {
				f.ResponseID = "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE"
			}
			m.FW.Fault(f)
			m.at["send after"] = func() { row.do(m) }
			k, res := m.Changed(text)
			if k.State != row.state || m.Sends() != 1 || m.Counter.Advances() != 1 {
				t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
			}
			if f.ResponseID[0] == 'F' && res.Reason != "shifted" {
				t.Errorf("the reason is %s", res.Reason)
			}
		})
	}
}

// Another alias that changes beside a good change is noted and blocks nothing.
func TestX5AnotherAliasThatChangedBesideIsNotedAndBlocksNothing(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.at["send after"] = func() { m.set(ceremonytest.Other, "descr", "z") }
	k, res := m.Changed(text)
	if k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	if !m.audited(record.SendRecorded, record.ReasonOthersChanged) {
		t.Error("nobody is told that another alias changed meanwhile")
	}
}

// audited says whether a row of the audit has the event and the reason.
func (m *moments) audited(event record.Event, why record.Reason) (found bool) {
	m.T.Helper()
	for _, row := range m.audit() {
		found = found || row.Event == event && row.Reason == why
	}
	return found
}

// audit is all rows of the audit.
func (m *moments) audit() (all []*record.Audit) {
	m.T.Helper()
	m.View(func(v *store.View) error {
		for seq := int64(1); ; seq++ {
			row, _, err := v.AuditRow(seq)
			if err != nil {
				return nil
			}
			all = append(all, row)
		}
	})
	return all
}

// An answer that names another alias than the one that was to be changed is never a
// success, whatever a read shows.
func TestX5AnAnswerThatNamesAnotherAliasIsUncertain(t *testing.T) {
	for _, body := range []string{
		`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":{"id":3,"name":"Print_Servers","descr":"` + text + `"}}`,
		`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":{"id":0,"name":"Shop_Ports","descr":"` + text + `"}}`,
		`{"code":200,"status":"ok","response_id":"SUCCESS","message":"","data":{"id":0,"name":"Print_Servers","descr":"z"}}`,
		`{"code":201,"status":"ok","response_id":"SUCCESS","message":"","data":{"id":0,"name":"Print_Servers","descr":"` + text + `"}}`,
	} {
		m := during(t, ceremonytest.Options{})
		m.FW.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Value: body, Path: patch, Method: "PATCH"})
		if k, res := m.Changed(text); k.State != record.Reconciliation || m.Sends() != 1 {
			t.Errorf("%s: %s %s", body, k.State, res.Reason)
		}
	}
}

// Nothing is sent on what was looked at too long ago, by either clock.
func TestReview06BetweenTheLastLookAndTheFirstByteAreTwoSeconds(t *testing.T) {
	for what, row := range map[string]struct {
		do   func(*moments)
		sent bool
	}{
		"a machine that is quick":         {func(m *moments) { m.Clock.Pass(2 * time.Second) }, true},
		"a machine that slept":            {func(m *moments) { m.Clock.Pass(3 * time.Second) }, false},
		"a wall clock that was set":       {func(m *moments) { m.Clock.Set(3 * time.Second) }, false},
		"a wall clock that was set back":  {func(m *moments) { m.Clock.Set(-3 * time.Second) }, false},
		"one that hides that it slept":    {func(m *moments) { m.Clock.Pass(3 * time.Second); m.Clock.Set(-3 * time.Second) }, false},
		"a machine that was set up again": {func(m *moments) { m.Clock.Reboot() }, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			m.at["preread after"] = func() { row.do(m) }
			k, res := m.Changed(text)
			want, why, sends := record.Failed, record.ReasonNotSent, 0
			if row.sent {
				want, why, sends = record.Verified, "", 1
			}
			if k.State != want || res.Reason != why || m.Sends() != sends || m.Counter.Advances() != 1 {
				t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
			}
		})
	}
}

// An approval that ends while an attempt is on its way ends the attempt, up to the
// last moment before the first byte.
func TestC3Review06AnApprovalThatEndsOnTheWaySendsNothing(t *testing.T) {
	for _, point := range []string{"begin before", "begin after", "advance after", "connect after", "preread after"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			k := m.Authorized(text)
			m.Clock.Pass(15*time.Minute - time.Second)
			m.at[point] = func() { m.Clock.Pass(time.Second) }
			_, err := m.Confirm(k)
			done, res := m.Contract(k.ContractID)
			if m.Sends() != 0 {
				t.Errorf("%d sends", m.Sends())
			}
			switch {
			case point == "begin before":
				m.Tend()
				if done, _ = m.Contract(k.ContractID); err == nil || done.State != record.Expired || m.Counter.Advances() != 0 {
					t.Errorf("%v: %s, %d ticks", err, done.State, m.Counter.Advances())
				}
			case done.State != record.Failed || res.Reason != record.ReasonNotSent:
				t.Errorf("%s %s", done.State, res.Reason)
			}
		})
	}
}

// A confirmation is stored before the attempt begins; what was signed is looked at
// once more in between.
func TestReview04WhatWasSignedIsLookedAtAgainRightBeforeT4(t *testing.T) {
	for what, do := range map[string]func(*moments){
		"another counter": func(m *moments) { m.Counter.Set(43) },
		"an emulated TPM": func(m *moments) {
			m.Counter.Change(func(f *anchor.Facts) { f.Assurance = anchor.Software })
		},
		"a clock that jumped": func(m *moments) { m.Clock.Set(-10 * time.Minute) },
	} {
		t.Run(what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			k := m.Authorized(text)
			m.at["begin before"] = func() { do(m) }
			if _, err := m.Confirm(k); err == nil {
				t.Error("an attempt began")
			}
			done, _ := m.Contract(k.ContractID)
			if done.State != record.Prepared || !done.Confirmed() || m.Sends() != 0 || m.Counter.Advances() != 0 {
				t.Errorf("%s, %d sends, %d ticks", done.State, m.Sends(), m.Counter.Advances())
			}
		})
	}
}

func TestX2WhatCannotBeReachedIsNotSent(t *testing.T) {
	for what, at := range map[string]string{
		"nobody listens": "advance after", "nobody listens, and the look fails": "begin after", "the connection is closed before the first byte": "intent after",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			m.at[at] = func() {
				m.FW.Close()
				m.carried()
			}
			k, res := m.Changed(text)
			if k.State != record.Failed || res.Reason != record.ReasonNotSent || m.Sends() != 0 || m.Counter.Advances() != 1 {
				t.Errorf("%s %s, %d sends, %d ticks", k.State, res.Reason, m.Sends(), m.Counter.Advances())
			}
		})
	}
}

// carried waits until the loopback has carried the end of every connection to an
// appliance that is closed.
func (m *moments) carried() {
	m.T.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(m.FW.URL(), "https://"))
	n, err2 := strconv.Atoi(port)
	if err := errors.Join(err, err2); err != nil {
		m.T.Fatal(err)
	}
	const remote, state, established = 2, 3, "01"
	for open := true; open; time.Sleep(time.Millisecond) {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			m.T.Fatal(err)
		}
		open = false
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			open = open || len(f) > state && strings.HasSuffix(f[remote], fmt.Sprintf(":%04X", n)) && f[state] == established
		}
	}
}

func TestAmbiguousExchangesAreMarkedAsContendedWhenTheyTookLong(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Delay, Delay: 1600 * time.Millisecond, Path: patch, Method: "PATCH"})
	if k, res := m.Changed(text); k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	if !m.audited(record.SendRecorded, "contended") {
		t.Error("nobody is told that another write was under way")
	}
}
