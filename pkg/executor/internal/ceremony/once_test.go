package ceremony_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/test/fakepf"
)

// atOnce runs n calls at the same moment and counts those that succeed.
func atOnce(n int, call func() error) (done int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for range n {
		wg.Go(func() {
			<-start
			if call() == nil {
				mu.Lock()
				defer mu.Unlock()
				done++
			}
		})
	}
	close(start)
	wg.Wait()
	return done
}

func (m *moments) contracts() (n int) {
	m.T.Helper()
	m.View(func(v *store.View) error {
		all, err := v.Contracts()
		n = len(all)
		return err
	})
	return n
}

func TestA1AnAuthorizationThatWasSpentIsDeniedForEver(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, id := m.Ask(text)
	file := m.Authorization(m.Preview(id))
	again := func(when string) {
		t.Helper()
		if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); errs.Public(err).Class != ceremony.ClassDenied {
			t.Errorf("%s: %v", when, err)
		}
		if m.contracts() != 1 {
			t.Errorf("%s: %d contracts", when, m.contracts())
		}
	}
	k, err := m.Y.Authorize(t.Context(), ceremonytest.By, file)
	if err != nil {
		t.Fatal(err)
	}
	again("prepared")
	if err := m.Y.CancelContract(t.Context(), ceremonytest.By, k.ContractID); err != nil {
		t.Fatal(err)
	}
	again("cancelled")
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	m.Open()
	again("after a restart")
	if m.Sends() != 0 || m.Counter.Advances() != 0 {
		t.Errorf("%d sends, %d ticks", m.Sends(), m.Counter.Advances())
	}
}

func TestA2X13OfManyAtOnceOneIsTaken(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, id := m.Ask(text)
	file := m.Authorization(m.Preview(id))
	var k record.Contract
	var mu sync.Mutex
	if n := atOnce(8, func() error {
		got, err := m.Y.Authorize(context.Background(), ceremonytest.By, file)
		if err == nil {
			mu.Lock()
			k = got
			mu.Unlock()
		}
		return err
	}); n != 1 || m.contracts() != 1 {
		t.Fatalf("%d of 8 submissions made %d contracts", n, m.contracts())
	}
	confirmation := m.Confirmation(k)
	n := atOnce(8, func() error {
		_, err := m.Y.Confirm(context.Background(), ceremonytest.By, confirmation)
		return err
	})
	m.Wait()
	if done, res := m.Contract(k.ContractID); n != 1 || m.Sends() != 1 || m.Counter.Advances() != 1 || done.State != record.Verified {
		t.Errorf("%d of 8 confirmations: %s %s, %d sends, %d ticks", n, done.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
	confirmed, authorized := m.Undo(k.ContractID)
	n = atOnce(8, func() error {
		_, err := m.Y.Rollback(context.Background(), ceremonytest.By, confirmed, authorized)
		return err
	})
	m.Wait()
	if done, res := m.Contract(k.ContractID); n != 1 || m.Sends() != 2 || m.Counter.Advances() != 2 || done.State != record.RolledBack {
		t.Errorf("%d of 8 undos: %s %s, %d sends, %d ticks", n, done.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
}

func TestX13TwoThatResumeAtOnceSendOnce(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	// It is confirmed, and cannot begin: the counter went away in between.
	m.at["begin before"] = func() { m.Counter.Break(anchortest.Unavailable) }
	if _, err := m.Confirm(k); err == nil {
		t.Fatal("it began without a counter")
	}
	m.Counter.Break(anchortest.Works)
	m.Tend()
	if done, res := m.Contract(k.ContractID); done.State != record.Prepared || !done.Confirmed() {
		t.Fatalf("%s %s", done.State, res.Reason)
	}
	n := atOnce(6, func() error {
		_, err := m.Y.Resume(context.Background(), ceremonytest.By, k.ContractID)
		return err
	})
	m.Wait()
	if done, res := m.Contract(k.ContractID); n != 1 || m.Sends() != 1 || m.Counter.Advances() != 1 || done.State != record.Verified {
		t.Errorf("%d of 6: %s %s, %d sends, %d ticks", n, done.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
}

// What is not confirmed cannot be resumed, and what is looked at the appliance again.
func TestX13OnlyAConfirmedContractWhoseTargetIsAsItWasIsResumed(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	k := m.Authorized(text)
	if _, err := m.Y.Resume(t.Context(), ceremonytest.By, k.ContractID); errs.Public(err).Class != "conflict" {
		t.Errorf("an unconfirmed contract: %v", err)
	}
	m.at["begin before"] = func() { m.Counter.Break(anchortest.Unavailable) }
	if _, err := m.Confirm(k); err == nil {
		t.Fatal("it began without a counter")
	}
	m.Counter.Break(anchortest.Works)
	m.set(ceremonytest.Alias, "descr", "Somebody else's words")
	if _, err := m.Y.Resume(t.Context(), ceremonytest.By, k.ContractID); err == nil {
		t.Error("it was resumed over somebody's later words")
	}
	m.Wait()
	if done, res := m.Contract(k.ContractID); done.State != record.Failed || res.Reason != record.ReasonPreflightDrift || m.Sends() != 0 || m.Counter.Advances() != 0 {
		t.Errorf("%s %s, %d sends, %d ticks", done.State, res.Reason, m.Sends(), m.Counter.Advances())
	}
}

// A drift that is seen at the confirmation ends the contract without a tick (C7); all
// else that is wrong then leaves it as it is.
func TestC2X9ADriftAtTheConfirmationEndsTheContractWithoutATick(t *testing.T) {
	for what, edit := range edits() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := during(t, ceremonytest.Options{})
			k := m.Authorized(text)
			file := m.Confirmation(k)
			edit.do(m)
			if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, file); errs.Public(err).Class != ceremony.ClassDenied {
				t.Errorf("%v", err)
			}
			m.Wait()
			done, res := m.Contract(k.ContractID)
			drift := edit.why != "appliance_busy" && edit.why != "appliance_settings"
			if want := map[bool]record.State{true: record.Failed, false: record.Prepared}[drift]; done.State != want || done.Confirmed() || m.Sends() != 0 || m.Counter.Advances() != 0 {
				t.Errorf("%s %s, %d sends, %d ticks", done.State, res.Reason, m.Sends(), m.Counter.Advances())
			}
			if drift && res.Reason != record.ReasonPreflightDrift {
				t.Errorf("the reason is %s", res.Reason)
			}
		})
	}
}

func TestX10WithoutThePolicyNothingIsBegun(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, id := m.Ask(text)
	file := m.Authorization(m.Preview(id))
	off := func(c *ceremony.Config) { c.Enabled = false }
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	off(&m.Config)
	m.Open()
	if st := m.Y.Status(); st.Constructible || st.Why != "write_disabled" {
		t.Errorf("%+v", st)
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, "other words"); got != ceremony.Refused {
		t.Errorf("asked: %s", got)
	}
	if _, err := m.Y.Preview(t.Context(), ceremonytest.By, id); err == nil {
		t.Error("a preview was made")
	}
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); err == nil {
		t.Error("a change was authorized")
	}
	if m.contracts() != 0 || m.Sends() != 0 || m.Counter.Advances() != 0 {
		t.Errorf("%d contracts, %d sends, %d ticks", m.contracts(), m.Sends(), m.Counter.Advances())
	}
}

// A second process cannot start, and the attempt that is under way is not disturbed.
func TestX14ASecondProcessDuringAnExchangeDisturbsNothing(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	var second error
	m.at["send after"] = func() { _, second = ceremony.Open(context.Background(), m.Config) }
	k, res := m.Changed(text)
	if errs.Public(second).Class != "already_running" {
		t.Errorf("a second process: %v", second)
	}
	if k.State != record.Verified || m.Sends() != 1 {
		t.Errorf("%s %s, %d sends", k.State, res.Reason, m.Sends())
	}
}

func TestN9OneTickAnAttemptAndNoneForADenial(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	_, id := m.Ask(text)
	p := m.Preview(id)
	good := m.Authorization(p)
	for _, file := range [][]byte{nil, []byte("{}"), bytes.ToUpper(good), good[:len(good)-1]} {
		if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); err == nil {
			t.Error("taken")
		}
		if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, file); err == nil {
			t.Error("taken")
		}
		if _, err := m.Y.Reconcile(t.Context(), ceremonytest.By, file); err == nil {
			t.Error("taken")
		}
		if _, err := m.Y.Release(t.Context(), ceremonytest.By, file); err == nil {
			t.Error("taken")
		}
	}
	m.Clock.Pass(11 * time.Minute) // after the pause that so many denials earn
	k := m.Authorized(text)
	if n := m.Counter.Advances(); n != 0 {
		t.Fatalf("%d ticks before anything was confirmed", n)
	}
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, good, good); err == nil {
		t.Error("taken")
	}
	if _, err := m.Confirm(k); err != nil {
		t.Fatal(err)
	}
	if n := m.Counter.Advances(); n != 1 {
		t.Fatalf("%d ticks for a change", n)
	}
	m.Clock.Pass(2 * time.Minute)
	c, a := m.Undo(k.ContractID)
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	if n, v := m.Counter.Advances(), m.Counter.Value(); n != 2 || v != 43 {
		t.Errorf("%d ticks for a change and its undo, to %d", n, v)
	}
}

// A9: each of these makes another plan, under which an approval of before is void.
func TestA9EverythingThatAnApprovalRestsOnIsInItsPlan(t *testing.T) {
	base := ceremonytest.New(t, ceremonytest.Options{})
	id := func(h *ceremonytest.House) (string, string) {
		x := h.Y.Discover(t.Context()).Executor
		return x.PolicyDigest, x.AuthoritySet
	}
	policy, owners := id(base)
	if err := base.Stop(); err != nil {
		t.Fatal(err)
	}
	build := base.Config.BuildID
	for what, edit := range map[string]func(*ceremony.Config){
		"nothing but a restart": func(*ceremony.Config) {},
		"a limit":               func(c *ceremony.Config) { c.Store.Limits.SendsPerDay-- },
		"the cooldown":          func(c *ceremony.Config) { c.Store.Limits.Cooldown += time.Second },
		"the charset":           func(c *ceremony.Config) { c.Charset = change.Stored },
		"write off":             func(c *ceremony.Config) { c.Enabled = false },
		"a shorter life":        func(c *ceremony.Config) { c.AuthorizationMax -= time.Minute },
	} {
		was := base.Config
		edit(&base.Config)
		base.Open()
		if got, set := id(base); got == policy || got == "" || set != owners {
			t.Errorf("%s: the policy digest is %s", what, got)
		}
		if err := base.Stop(); err != nil {
			t.Fatal(err)
		}
		base.Config = was
	}
	set := *base.Config.Authorities
	set.Authorization = append(append([]authority.Key{}, set.Authorization...), authority.Key{ID: "owner-authz-9", Public: artifacttest.Public(artifacttest.Seed(0x99))})
	base.Config.Authorities = &set
	base.Config.BuildID = "sha256:" + strings.Repeat("7", 64)
	base.Open()
	if _, got := id(base); got == owners {
		t.Error("one authority more: the digest of the set is the same")
	}
	if got := base.Y.Discover(t.Context()).Executor.BuildID; got == build {
		t.Error("another program: the plan names the former")
	}
}

// A9 where the process lives on: the counter, and the appliance behind its address.
func TestA9ACounterOrAnApplianceThatChangesVoidsWhatWasSigned(t *testing.T) {
	for what, do := range map[string]func(*moments){
		"the counter went on": func(m *moments) { m.Counter.Set(42) },
		"the counter is back": func(m *moments) { m.Counter.Set(40) },
		"another appliance answers": func(m *moments) {
			if err := m.FW.Set("SystemStatus", 0, "netgate_id", "ffffffffffffffffffff"); err != nil {
				m.T.Error(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			_, id := m.Ask(text)
			file := m.Authorization(m.Preview(id))
			do(m)
			if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); errs.Public(err).Class != ceremony.ClassDenied {
				t.Errorf("%v", err)
			}
			if m.contracts() != 0 {
				t.Error("a contract was made")
			}
		})
	}
}

// N3: whatever is wrong with the counter, nothing is begun, and what was under way
// stays as it is.
func TestN3EveryFaultOfTheCounterStopsEverything(t *testing.T) {
	for what, row := range map[string]struct {
		do   func(*moments)
		word string
	}{
		"behind":      {func(m *moments) { m.Counter.Set(40) }, "anchor_mismatch"},
		"ahead":       {func(m *moments) { m.Counter.Set(42) }, "anchor_mismatch"},
		"far ahead":   {func(m *moments) { m.Counter.Set(1 << 40) }, "anchor_mismatch"},
		"unreachable": {func(m *moments) { m.Counter.Break(anchortest.Unavailable) }, "anchor_unreachable"},
		"refused":     {func(m *moments) { m.Counter.Break(anchortest.Refused) }, "anchor_unreachable"},
		"another name": {func(m *moments) {
			m.Counter.Change(func(f *anchor.Facts) { f.Name = "000b" + strings.Repeat("77", 32) })
		}, "anchor_name"},
		"gone": {func(m *moments) {
			m.Counter.Change(func(f *anchor.Facts) { f.Name, f.Defined, f.Written = "", false, false })
		}, "anchor_name"},
	} {
		for _, when := range []string{"in a process that runs", "at a start"} {
			t.Run(what+" "+when, func(t *testing.T) {
				m := during(t, ceremonytest.Options{})
				k := m.Authorized(text)
				file := m.Confirmation(k)
				advances := m.Counter.Advances()
				if when == "at a start" {
					if err := m.Stop(); err != nil {
						t.Fatal(err)
					}
					row.do(m)
					m.Open()
				} else {
					row.do(m)
					m.Tend()
				}
				st := m.Y.Status()
				if st.Constructible || st.Quarantine != row.word {
					t.Errorf("status %+v, want %s", st, row.word)
				}
				if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, file); err == nil {
					t.Error("confirmed")
				}
				if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Other, "z"); got != ceremony.Refused {
					t.Errorf("asked: %s", got)
				}
				if done, res := m.Contract(k.ContractID); done.State != record.Prepared || done.Confirmed() {
					t.Errorf("%s %s", done.State, res.Reason)
				}
				if m.Sends() != 0 || m.Counter.Advances() != advances {
					t.Errorf("%d sends, %d ticks", m.Sends(), m.Counter.Advances())
				}
			})
		}
	}
}

// N2: files from between two ticks are alike for the counter; none of them makes an
// approval good again.
func TestN2AFileFromBetweenTwoTicksRevivesNoApproval(t *testing.T) {
	for _, moment := range []string{"previewed", "authorized", "confirmed"} {
		t.Run(moment, func(t *testing.T) {
			m := during(t, ceremonytest.Options{})
			file := filepath.Join(m.Config.Store.Dir, "store.db")
			var image []byte
			save := func(at string) {
				if at != moment {
					return
				}
				var b bytes.Buffer
				raw, err := os.ReadFile(file)
				b.Write(raw)
				if err != nil {
					t.Error(err)
				}
				image = b.Bytes()
			}
			_, id := m.Ask(text)
			auth := m.Authorization(m.Preview(id))
			save("previewed")
			k, err := m.Y.Authorize(t.Context(), ceremonytest.By, auth)
			if err != nil {
				t.Fatal(err)
			}
			confirmation := m.Confirmation(k)
			save("authorized")
			m.at["begin before"] = func() {
				m.Counter.Break(anchortest.Unavailable)
				save("confirmed")
			}
			if _, err := m.Confirm(k); err == nil {
				t.Fatal("it began without a counter")
			}
			m.Counter.Break(anchortest.Works)
			// The operator thinks better of it.
			if err := m.Y.CancelContract(t.Context(), ceremonytest.By, k.ContractID); err != nil {
				t.Fatal(err)
			}
			if err := m.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, image, 0o600); err != nil {
				t.Fatal(err)
			}
			m.Open()
			_, err1 := m.Y.Authorize(t.Context(), ceremonytest.By, auth)
			_, err2 := m.Y.Confirm(t.Context(), ceremonytest.By, confirmation)
			_, err3 := m.Y.Resume(t.Context(), ceremonytest.By, k.ContractID)
			m.Wait()
			if err1 == nil || err2 == nil || err3 == nil || m.Sends() != 0 || m.Counter.Advances() != 0 {
				t.Errorf("%v, %v, %v, %d sends, %d ticks", err1, err2, err3, m.Sends(), m.Counter.Advances())
			}
		})
	}
}

// A16: once T2 is committed, whatever fails later leaves the authorization spent.
func TestA16WhatFailsAfterT2LeavesTheAuthorizationSpent(t *testing.T) {
	for _, point := range []string{"put sealed", "commit", "committed"} {
		t.Run(point, func(t *testing.T) {
			armed := false
			stop := errors.New("the disk failed")
			if point == "committed" { // and nobody knows what is on it
				stop = errs.New(errs.UnknownOutcome, "the disk failed").WithClass("store_write")
			}
			m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
				c.Store.Seam = storetest.Faults(func(p string) error {
					if armed && p == point {
						return stop
					}
					return nil
				})
			}})
			_, id := m.Ask(text)
			file := m.Authorization(m.Preview(id))
			armed = true
			if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); err == nil {
				t.Fatal("a failing store took it")
			}
			armed = false
			spent := point == "committed"
			if err := m.Stop(); (err != nil) != spent {
				t.Errorf("the process ended with %v", err) // by itself, when nobody knows what is stored
			}
			m.reborn()
			m.View(func(v *store.View) error {
				a, err := artifact.ParseAuthorization(file)
				if err == nil && v.Consumed(a.ID) != spent {
					t.Errorf("spent: %v", !spent)
				}
				return err
			})
			if n := map[bool]int{true: 1}[spent]; m.contracts() != n {
				t.Errorf("%d contracts", m.contracts())
			}
			if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, file); err == nil {
				t.Error("it was taken after a restart")
			}
			if m.Sends() != 0 {
				t.Errorf("%d sends", m.Sends())
			}
		})
	}
}

func TestK1AnAttestationKeyThatIsAnOwnersIsRefusedAtTheStart(t *testing.T) {
	h := ceremonytest.New(t, ceremonytest.Options{})
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string]func(*ceremony.Config){
		"the key of the authorization owner": func(c *ceremony.Config) { c.Attestation.Key = artifacttest.KeyA() },
		"the key of the confirmation owner":  func(c *ceremony.Config) { c.Attestation.Key = artifacttest.KeyC() },
		"the key of the third owner":         func(c *ceremony.Config) { c.Attestation.Key = artifacttest.KeyR() },
		"the id of an owner":                 func(c *ceremony.Config) { c.Attestation.KeyID = artifacttest.ConfirmationID },
	} {
		c := h.Config
		edit(&c)
		if _, err := ceremony.Open(t.Context(), c); errs.Public(err).Class != "authority_overlap" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestP4SevenPrivilegesCompleteAChangeAndItsUndo(t *testing.T) {
	m := during(t, ceremonytest.Options{FW: fakepf.Options{Keys: []fakepf.Key{{Secret: fakepf.WriteKey, User: "mcp-writer", Privileges: fakepf.WritePrivileges()}}}})
	if n := len(fakepf.WritePrivileges()); n != 7 {
		t.Fatalf("%d privileges", n)
	}
	k, res := m.Changed(text)
	if k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	m.Clock.Pass(2 * time.Minute)
	c, a := m.Undo(k.ContractID)
	if _, err := m.Y.Rollback(t.Context(), ceremonytest.By, c, a); err != nil {
		t.Fatal(err)
	}
	m.Wait()
	if k, _ = m.Contract(k.ContractID); k.State != record.RolledBack {
		t.Error(k.State)
	}
	for _, r := range m.FW.Requests() {
		if r.Status == 403 {
			t.Errorf("%s %s was refused", r.Method, r.Path)
		}
	}
	// Without any one of them nothing is sent.
	for i, gone := range fakepf.WritePrivileges() {
		m := during(t, ceremonytest.Options{})
		less := append(append([]string{}, fakepf.WritePrivileges()[:i]...), fakepf.WritePrivileges()[i+1:]...)
		m.FW.SetKeys([]fakepf.Key{{Secret: fakepf.WriteKey, User: "mcp-writer", Privileges: less}})
		state, id := m.Ask(text)
		var err error
		if state == ceremony.Requested {
			_, err = m.Y.Preview(t.Context(), ceremonytest.By, id)
		}
		// The identity of this appliance does not rest on its HA settings, and the
		// change itself is not tried by a preview.
		ready := gone == "api-v2-firewall-alias-patch" || gone == "api-v2-system-hasync-get"
		if (state == ceremony.Requested && err == nil) != ready {
			t.Errorf("without %s: %s, %v", gone, state, err)
		}
	}
}

// Of many who ask for the same at once, one makes a request; nobody is told that there
// is a second one.
func TestA2G7OfManyWhoAskForTheSameAtOnceOneRequestIsMade(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	var mu sync.Mutex
	said := map[string]int{}
	atOnce(8, func() error {
		s := m.Y.Ask(context.Background(), ceremonytest.UID, ceremonytest.Alias, text)
		mu.Lock()
		defer mu.Unlock()
		said[s]++
		return nil
	})
	m.View(func(v *store.View) error {
		all, err := v.Requests(store.RequestFilter{})
		if len(all) != 1 {
			t.Errorf("%d requests", len(all))
		}
		return err
	})
	if said[ceremony.Requested] != 8 {
		t.Errorf("%v", said)
	}
	if got := m.Y.Ask(t.Context(), ceremonytest.UID, ceremonytest.Alias, text); got != ceremony.Requested {
		t.Errorf("afterwards: %s", got)
	}
	t.Log(said)
}

// A9 as owners meet it: the counter is in every plan, so a change that is executed voids
// all other approvals, and approvals are serial by themselves.
func TestA9AnExecutionVoidsEveryOtherApproval(t *testing.T) {
	m := during(t, ceremonytest.Options{})
	prepare := func(name string) record.Contract {
		t.Helper()
		m.Clock.Pass(time.Second)
		_, id := m.AskFor(name, "words")
		k, err := m.Y.Authorize(t.Context(), ceremonytest.By, m.Authorization(m.Preview(id)))
		if err != nil {
			t.Fatalf("%v: %s", err, m.Last())
		}
		return k
	}
	first, second := prepare(ceremonytest.Alias), prepare(ceremonytest.Other)
	m.Clock.Pass(time.Second) // the newest is the last in the list
	_, id := m.AskFor("Admin_PCs", "words")
	third := m.Authorization(m.Preview(id))
	confirmation := m.Confirmation(second)
	if _, err := m.Confirm(first); err != nil {
		t.Fatal(err)
	}
	if done, _ := m.Contract(first.ContractID); done.State != record.Verified {
		t.Fatal(done.State)
	}
	if _, err := m.Y.Confirm(t.Context(), ceremonytest.By, confirmation); errs.Public(err).Class != ceremony.ClassDenied {
		t.Errorf("the second: %v", err)
	}
	if _, err := m.Y.Authorize(t.Context(), ceremonytest.By, third); errs.Public(err).Class != ceremony.ClassDenied {
		t.Errorf("the third: %v", err)
	}
	if done, _ := m.Contract(second.ContractID); done.State != record.Prepared || done.Confirmed() || m.Sends() != 1 || m.Counter.Advances() != 1 {
		t.Errorf("%s, %d sends, %d ticks", done.State, m.Sends(), m.Counter.Advances())
	}
}
