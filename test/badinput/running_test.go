package badinput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/keyfile"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/writepath"
)

const text = "Printers of the first floor"

// within gives a call its time.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// quarantine is the word for why nothing is begun.
func (s *site) quarantine() string {
	s.t.Helper()
	d, err := s.Admin.Discover(within(s.t), &executorpb.DiscoverRequest{})
	s.ok(err)
	return d.GetPosture().GetQuarantine()
}

// until waits for a quarantine, "" for its end.
func (s *site) until(word string) {
	s.t.Helper()
	s.proc.Until("the quarantine "+strconv.Quote(word), func() bool { return s.quarantine() == word })
}

// check is one finding of executord's doctor.
func (s *site) check(id string) *executorpb.Check {
	s.t.Helper()
	r, err := s.Admin.Doctor(within(s.t), &executorpb.DoctorRequest{})
	s.ok(err)
	for _, c := range r.GetChecks() {
		if c.GetCheckId() == id {
			return c
		}
	}
	s.t.Fatalf("the doctor has no check %s", id)
	return nil
}

// fails holds a finding: it fails, and says what to do.
func (s *site) fails(id, detail, next string) {
	s.t.Helper()
	c := s.check(id)
	if c.GetStatus() != executorpb.Check_STATUS_FAIL || !strings.Contains(c.GetDetail(), detail) || !strings.Contains(c.GetNext(), next) {
		s.t.Errorf("%s: %v", id, c)
	}
}

// request asks for a change and returns the request's id.
func (s *site) request() string {
	s.t.Helper()
	if st, err := s.Ask(text); err != nil || st != executorpb.WriteState_WRITE_STATE_REQUESTED {
		s.t.Fatalf("%v, %v", st, err)
	}
	all, err := s.Requests()
	s.ok(err)
	return all[0].GetRequestId()
}

// refused asks for a change, which may not become a request.
func (s *site) refused() {
	s.t.Helper()
	st, err := s.Ask(text)
	if err != nil || st != executorpb.WriteState_WRITE_STATE_REFUSED {
		s.t.Errorf("a wish is %v, %v", st, err)
	}
	if all, err := s.Requests(); err != nil || len(all) != 0 {
		s.t.Errorf("%d requests were kept, %v", len(all), err)
	}
}

// changes takes one change from the wish to its proof.
func (s *site) changes() {
	s.t.Helper()
	c, err := s.Authorize(s.request())
	s.ok(err)
	s.ok(s.Confirm(c))
	got, err := s.Settled(c)
	s.ok(err)
	if got.GetState() != executorpb.State_STATE_VERIFIED || s.Sends() != 1 || s.Descr() != text {
		s.t.Errorf("%v, %d sends, %q\n%s", got, s.Sends(), s.Descr(), s.proc.Output())
	}
}

// sent confirms a contract; its one request has then reached the appliance, which does
// nothing with it yet.
func (s *site) sent(contract string) *fakepf.Held {
	s.t.Helper()
	held := s.HoldChange()
	s.ok(s.Confirm(contract))
	select {
	case <-held.Reached:
	case <-time.After(writepath.Patience):
		s.t.Fatalf("nothing was sent:\n%s", s.proc.Output())
	}
	return held
}

// says holds an error: its class, and that it has a next step.
func says(t *testing.T, err error, class string) {
	t.Helper()
	e := errs.Public(err)
	if err == nil || e.Class != class || e.Next == "" || e.Msg == "" {
		t.Errorf("want class %s and a next step: %v (class %s, next %q)", class, err, e.Class, e.Next)
	}
	silent(t, e.Msg+e.Next, []string{fakepf.WriteKey})
}

// done stops the process and looks through everything it has said.
func (s *site) done() {
	s.t.Helper()
	s.proc.Stop()
	silent(s.t, s.proc.Output(), s.secrets())
}

// back starts the TPM again; its new socket is made reachable.
func (s *site) back() {
	s.t.Helper()
	s.tpm.Start()
	if root() {
		s.ok(os.Chmod(s.tpm.Socket(), 0o777))
	}
}

func TestWithoutItsTPMANewExecutordMakesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.tpm.Stop()
	_ = os.Remove(s.tpm.Socket())
	s.serve()
	_, err := s.Admin.AnchorPlan(within(t), &executorpb.AnchorPlanRequest{})
	says(t, err, "anchor_unavailable")
	says(t, s.Provision(), "anchor_unavailable")
	s.unready("unprovisioned")
	if _, err := os.Lstat(s.path("store/store.db")); err == nil {
		t.Error("a store was made without a counter")
	}
	s.back()
	s.ok(s.Provision())
	s.changes()
	s.done()
}

// unready asks an executord that has no store yet.
func (s *site) unready(why string) {
	s.t.Helper()
	if st, err := s.Ask(text); err != nil || st != executorpb.WriteState_WRITE_STATE_REFUSED {
		s.t.Errorf("a wish is %v, %v", st, err)
	}
	d, err := s.Admin.Discover(within(s.t), &executorpb.DiscoverRequest{})
	if err != nil || d.GetPosture().GetWhy() != why {
		s.t.Errorf("why not: %q, %v", d.GetPosture().GetWhy(), err)
	}
}

func TestATPMThatIsAwayAtTheStartStopsChangesUntilItIsBack(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.tpm.Stop()
	_ = os.Remove(s.tpm.Socket())
	s.serve()
	s.until("anchor_unreachable")
	s.refused()
	s.fails("anchor.verified", "", "TPM")
	s.back()
	s.until("")
	s.changes()
	s.done()
}

func TestATPMThatGoesAwayStopsTheNextStepAndNothingIsSent(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.serve()
	id := s.request()
	contract, err := s.Authorize(id)
	s.ok(err)
	s.tpm.Stop()
	err = s.Confirm(contract)
	says(t, err, "write_denied")
	if s.Sends() != 0 {
		t.Errorf("%d sends", s.Sends())
	}
	s.until("anchor_unreachable")
	s.back()
	s.until("")
	s.done()
}

func TestAWrongCounterSecretStopsBeforeTheTPMLocksAndALockoutIsNamed(t *testing.T) {
	t.Parallel()
	s := founded(t)
	good := s.read("keys/auth")
	other, err := keyfile.NewCounterAuth()
	s.ok(err)
	s.put("keys/auth", other)
	s.serve()
	s.until("anchor_unreachable")
	for range 6 { // whoever looks again and again
		s.refused()
		s.fails("anchor.verified", "the TPM refused the counter's secret", "nv_auth")
	}
	if c := s.check("anchor.lockout"); c.GetStatus() != executorpb.Check_STATUS_PASS {
		t.Errorf("one start with a wrong secret locked the TPM: %v", c)
	}
	s.done()
	s.put("keys/auth", good)
	s.serve()
	s.until("")
	s.done()
	for range 3 { // started again and again with the wrong one
		s.put("keys/auth", other)
		s.serve()
		s.done()
	}
	s.put("keys/auth", good)
	s.serve()
	s.until("anchor_unreachable")
	s.unready("quarantine")
	s.fails("anchor.lockout", "lockout after wrong secrets", "the lockout ends with time")
	s.fails("anchor.verified", "", "")
	s.done()
}

// Each is an appliance that may not be believed, or is not there.
func TestAnApplianceThatIsNotTheOneIsAskedNothingAndNamed(t *testing.T) {
	for what, spoil := range map[string]func(*site){
		"nobody listens": func(s *site) { s.set(s.FW.URL(), "https://127.0.0.1:9") },
		"another authority": func(s *site) {
			s.put("ca.pem", fakepf.Start(s.t, fakepf.Options{}).CAPEM())
		},
		"another name": func(s *site) { s.set(s.FW.URL(), strings.Replace(s.FW.URL(), "127.0.0.1", "127.0.0.2", 1)) },
		"another key":  func(s *site) { s.set("[write]", "pin = \""+strings.Repeat("ab", 32)+"\"\n[write]") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := founded(t)
			spoil(s)
			before := len(s.FW.Requests())
			s.serve()
			s.refused()
			if n := len(s.FW.Requests()); n != before {
				t.Errorf("it was sent %d requests", n-before)
			}
			if c := s.check("appliance.identity"); c.GetStatus() != executorpb.Check_STATUS_UNKNOWN || c.GetNext() == "" {
				t.Errorf("the doctor says %v", c)
			}
			s.done()
		})
	}
}

func TestAnotherApplianceBehindTheSameNameIsRefused(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.serve()
	contract, err := s.Authorize(s.request())
	s.ok(err)
	s.FW.Fault(fakepf.Fault{Kind: fakepf.Field, Path: "/api/v2/status/system", Field: "netgate_id", Value: `"` + canary + `"`, Count: -1})
	if err := s.Confirm(contract); err == nil || s.Sends() != 0 {
		t.Errorf("%v, %d sends", err, s.Sends())
	} else {
		says(t, err, "write_denied")
	}
	s.done()
}

// later starts the site's executord in a time namespace: its boot clock is so far
// ahead of the machine's, which for executord is a wall clock that was set back.
func (s *site) later(d time.Duration) {
	s.t.Helper()
	needsRoot(s.t)
	if out, err := exec.Command("unshare", "--time", "--boottime", "1", "--fork", "true").CombinedOutput(); err != nil {
		s.t.Skipf("no time namespaces here: %s", out)
	}
	id := strconv.Itoa(programs.UIDExecutord)
	s.argv = []string{
		"unshare", "--time", "--boottime", fmt.Sprint(int(d.Seconds())), "--fork", "--kill-child",
		"setpriv", "--pdeathsig", "keep", "--reuid", id, "--regid", id, "--clear-groups", "--inh-caps=-all",
	}
}

// stop ends an executord in a time namespace: the signal is for the program, not for
// what started it.
func (s *site) stop() {
	s.t.Helper()
	pid := s.proc.PID()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	s.ok(err)
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	s.ok(errors.Join(err, syscall.Kill(child, syscall.SIGTERM)))
	if code := s.proc.Wait(); code != 0 {
		s.t.Errorf("exit code %d\n%s", code, s.proc.Output())
	}
	silent(s.t, s.proc.Output(), s.secrets())
}

func TestAClockThatWasSetStopsChangesUntilItIsRight(t *testing.T) {
	for what, x := range map[string]struct{ first, then time.Duration }{
		"back by ten minutes":    {0, 10 * time.Minute},
		"forward by ten years":   {10 * 365 * 24 * time.Hour, 0},
		"forward by two minutes": {2 * time.Minute, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.later(x.first)
			s.serve()
			s.ok(s.Provision())
			s.stop()

			s.later(x.then)
			s.serve()
			s.until("clock_jump")
			s.refused()
			c := s.check("clock.sane")
			if c.GetStatus() != executorpb.Check_STATUS_FAIL || c.GetNext() == "" {
				t.Errorf("the doctor says %v", c)
			}
			s.stop()

			s.later(x.first)
			s.serve()
			s.until("")
			s.changes()
			s.stop()
		})
	}
}

func TestAnExecutordThatIsStoppedInAnExchangeFinishesIt(t *testing.T) {
	t.Parallel()
	s := founded(t)
	s.serve()
	contract, err := s.Authorize(s.request())
	s.ok(err)
	held := s.sent(contract)
	s.proc.Signal(syscall.SIGTERM)
	s.Leaving()
	held.Go()
	s.done()
	if !strings.Contains(s.proc.Output(), `"msg":"ended"`) {
		t.Errorf("it did not say that it ended:\n%s", s.proc.Output())
	}
	s.serve()
	got, err := s.Contract(contract)
	s.ok(err)
	if got.GetState() != executorpb.State_STATE_VERIFIED || s.Sends() != 1 || s.Descr() != text {
		t.Errorf("%v, %d sends", got, s.Sends())
	}
	s.done()
}
