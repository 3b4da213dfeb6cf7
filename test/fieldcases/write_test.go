package fieldcases

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/writepath"
)

const change = "/api/v2/firewall/alias"

const (
	verified       = executorpb.State_STATE_VERIFIED
	failed         = executorpb.State_STATE_FAILED
	reconciliation = executorpb.State_STATE_RECONCILIATION
)

// The wrong gateway was deleted: a position is the index in the file, and an earlier
// deletion moves all later ones.
func TestCase43APositionThatMovedChangesNobodyElse(t *testing.T) {
	t.Parallel()
	t.Run("after the approval", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, fakepf.Options{})
		h.before("Old_Hosts")
		c := h.approved(wanted)
		h.ok(h.FW.Delete(aliases, 0))
		before := h.texts()
		h.denied(h.Confirm(c), 0)
		if !maps.Equal(before, h.texts()) {
			t.Error("something was changed")
		}
		// A new approval is for where it stands now.
		if k := h.end(h.approved(wanted + ".")); k.GetState() != verified {
			t.Errorf("%v\n%s", k, h.Log())
		}
		before[writepath.Alias] = wanted + "."
		if !maps.Equal(before, h.texts()) {
			t.Errorf("got %v, want %v", h.texts(), before)
		}
	})
	t.Run("after the last look", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, fakepf.Options{})
		h.before("Old_Hosts")
		c := h.approved(wanted)
		before := h.texts()
		delete(before, "Old_Hosts")
		h.FW.Fault(fakepf.Fault{Kind: fakepf.DeleteRow, Row: 0, Path: change, Method: "PATCH"})
		// The appliance refuses, because the body names the alias. That another one went
		// in the same moment is for a person to look at.
		h.is(h.end(c), reconciliation, "collateral_suspected", 1)
		if !maps.Equal(before, h.texts()) {
			t.Errorf("got %v, want %v", h.texts(), before)
		}
	})
}

// Unknown fields are dropped and the call succeeds: a body has the four members that
// the appliance knows, each of its type, and nothing is believed before it is read back.
func TestCase44OnlyWhatTheApplianceKnowsIsSentAndOnlyWhatIsReadBackIsBelieved(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	h.is(h.end(h.approved(wanted)), verified, "", 1)
	for _, q := range h.FW.RequestsTo(change) {
		var body map[string]any
		if err := json.Unmarshal([]byte(q.Body), &body); err != nil {
			t.Fatal(err)
		}
		id, isNumber := body["id"].(float64)
		if want := []string{"apply", "descr", "id", "name"}; !slices.Equal(slices.Sorted(maps.Keys(body)), want) || !isNumber || int(id) != h.position(writepath.Alias) {
			t.Errorf("the body is %s", q.Body)
		}
	}

	// 200, and nothing of it is there: somebody's older file was written over it.
	h = newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	h.FW.Fault(fakepf.Fault{Kind: fakepf.Lost, Path: change, Method: "PATCH"})
	if k := h.end(c); k.GetState() != reconciliation || h.Descr() != writepath.Old {
		t.Errorf("%v", k)
	}
}

// Plural DELETE ignores dry_run, a misspelt filter matches everything, a rule's change is
// never pending, and an apply answers 200 whatever it did: none of them is ever asked for.
func TestCase46Case47Case49Case50AWholeLifeAsksTheApplianceForOneKindOfChangeAndNoApply(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	h.is(h.end(c), verified, "", 1)
	h.ok(h.Rollback(c))
	k, err := h.Settled(c)
	h.ok(err)
	h.is(k, executorpb.State_STATE_ROLLED_BACK, "", 2)
	for _, q := range h.FW.Requests() {
		switch {
		case q.Method == "GET" && q.BodyIn == 0:
		case q.Method == "PATCH" && q.Path == change && q.Query == "" && strings.Contains(q.Body, `"apply":false`) && !strings.Contains(q.Body, "dry_run"):
		default:
			t.Errorf("%s %s?%s %s", q.Method, q.Path, q.Query, q.Body)
		}
		for name := range q.Header {
			if strings.EqualFold(name, "prefer") {
				t.Errorf("%s %s asks for a trial", q.Method, q.Path)
			}
		}
	}
	if p := h.FW.Pending(); !slices.Contains(p, "aliases") {
		t.Errorf("pending are %v: somebody applied", p)
	}
}

// A change of somebody else's that is not applied yet would go live with ours: nothing is
// begun beside it. Our own pending change is no obstacle.
func TestCase49AChangeBesideSomebodyElsesPendingOneIsNotBegun(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	h.FW.SetPending("aliases")
	h.denied(h.Confirm(c), 0)
	h.unwilling(wanted + "!")

	h = newHouse(t, fakepf.Options{})
	c = h.approved(wanted)
	h.is(h.end(c), verified, "", 1)
	if len(h.FW.Pending()) == 0 {
		t.Fatal("our own change is not pending, so this shows nothing")
	}
	h.ok(h.Rollback(c))
	k, err := h.Settled(c)
	h.ok(err)
	h.is(k, executorpb.State_STATE_ROLLED_BACK, "", 2)
}

// A write lock that somebody left behind answers after a minute (here: a second and a
// half). The answer is waited for, it is no write, the approval is spent, nothing is sent
// again; the operator removes the lock and approves anew.
func TestCase52AStaleWriteLockIsWaitedForAndNotTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{LockWait: 1500 * time.Millisecond})
	request := h.wish(wanted)
	p, err := h.Admin.GetPreview(h.ctx(), &executorpb.GetPreviewRequest{RequestId: request})
	h.ok(err)
	file, err := writepath.SignPreview(t, p.GetArtifact())
	h.ok(err)
	s, err := h.Admin.SubmitAuthorization(h.ctx(), &executorpb.SubmitAuthorizationRequest{Authorization: file})
	h.ok(err)
	h.FW.HoldLock()
	k := h.end(s.GetContractId())
	h.is(k, failed, "locked", 1)
	if !strings.Contains(k.GetNext(), "remove the REST package's lock file") {
		t.Errorf("the next step is %q", k.GetNext())
	}
	_, err = h.Admin.SubmitAuthorization(h.ctx(), &executorpb.SubmitAuthorizationRequest{Authorization: file})
	h.denied(err, 1)
	h.FW.ReleaseLock()
	k = h.end(h.approved(wanted + "."))
	h.is(k, verified, "", 2)
}

// Addresses and details are two parallel lists. A text is changed beside them, and what
// they hold stays as it is; where there are more details than addresses the appliance
// would refuse, and so the wish is refused before anything is sent.
func TestCase53AddressesAndDetailsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	lists := func() (string, string) {
		row := h.FW.Row(aliases, h.position(writepath.Alias))
		a, _ := row.Get("address")
		d, _ := row.Get("detail")
		x, err1 := json.Marshal(a)
		y, err2 := json.Marshal(d)
		h.ok(err1)
		h.ok(err2)
		return string(x), string(y)
	}
	h.ok(h.FW.Set(aliases, h.position(writepath.Alias), "detail", []any{"only the first"}))
	h.FW.SetPending()
	a, d := lists()
	h.is(h.end(h.approved(wanted)), verified, "", 1)
	if a2, d2 := lists(); a2 != a || d2 != d {
		t.Errorf("%s %s became %s %s", a, d, a2, d2)
	}
	h = newHouse(t, fakepf.Options{})
	h.ok(h.FW.Set(aliases, h.position(writepath.Alias), "detail", []any{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}))
	h.FW.SetPending()
	h.unwilling(wanted)
	if h.Sends() != 0 {
		t.Error("it was sent")
	}
}

// The base address leads to the other node of a pair, or the node is a backup: the
// identity that was approved must answer, and whoever signs is told that CARP's state is
// not looked at (the banner is pkg/signer/internal/review's).
func TestCase55AnotherNodeBehindTheAddressIsNotChanged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	id := h.FW.Fault(fakepf.Fault{Kind: fakepf.Field, Path: "/api/v2/status/system", Field: "netgate_id", Value: `"0fedcba9876543210fed"`, Count: -1})
	h.denied(h.Confirm(c), 0)
	h.FW.RemoveFault(id)
	if h.Descr() != writepath.Old {
		t.Errorf("it says %q", h.Descr())
	}
}

// An alias in use can be deleted: between approval and confirmation it is gone. Nothing
// is sent, and no other alias is taken for it, nor one of the same name made later.
func TestCase56AnAliasThatIsDeletedMeanwhileIsNotChanged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, fakepf.Options{})
	c := h.approved(wanted)
	at := h.position(writepath.Alias)
	row := h.FW.Row(aliases, at)
	h.ok(h.FW.Delete(aliases, at))
	before := h.texts()
	h.denied(h.Confirm(c), 0)
	h.unwilling(wanted + "!")
	h.ok(h.FW.Insert(aliases, 0, row.Set("descr", "made anew")))
	if err := h.Confirm(c); err == nil || h.Sends() != 0 {
		t.Errorf("%v, %d sends", err, h.Sends())
	}
	before[writepath.Alias] = "made anew"
	if !maps.Equal(before, h.texts()) {
		t.Errorf("got %v, want %v", h.texts(), before)
	}
}
