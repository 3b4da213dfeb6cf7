package signer

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/signer/internal/review"
)

func preview(t testing.TB, alter ...func(*artifact.Preview)) []byte {
	t.Helper()
	p := at.Preview()
	p.Plan = plan(t)
	for _, f := range alter {
		f(p)
	}
	return at.File(t, p, at.KeyX())
}

func pending(t testing.TB, alter ...func(*artifact.Pending)) []byte {
	t.Helper()
	p := at.Pending(t, at.Intent(), plan(t))
	for _, f := range alter {
		f(p)
	}
	return at.File(t, p, at.KeyX())
}

// signs holds a run to have signed, and returns the file.
func (m *machine) signs(r result, out string) []byte {
	m.t.Helper()
	if r.code != 0 {
		m.t.Fatalf("exit %d: %s\n%s", r.code, r.errs, r.shown)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		m.t.Fatal(err)
	}
	info, err := os.Stat(out)
	if err != nil || info.Mode().Perm() != 0o600 {
		m.t.Fatalf("the result is open: %v %v", info, err)
	}
	return b
}

// refuses holds a run to have refused without asking, or without signing when it
// asked.
func (m *machine) refuses(name string, r result, out, because string, asked bool) {
	m.t.Helper()
	if r.code != 1 || !strings.Contains(r.errs, because) || !strings.Contains(r.errs, "next: ") {
		m.t.Errorf("%s: exit %d, %q should say %q", name, r.code, r.errs, because)
	}
	if strings.Contains(r.shown, "Type yes") != asked {
		m.t.Errorf("%s: asked is %v:\n%s", name, !asked, r.shown)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		m.t.Errorf("%s: there is a result: %v", name, err)
	}
}

func TestAnAuthorizationIsShownApprovedSignedAndLogged(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	in, out := m.file(preview(t)), m.out()
	r := m.run(sayYes, "sign-authorization", "-i", in, "-o", out)
	a, err := artifact.ParseAuthorization(m.signs(r, out))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Owners().Verify(a); err != nil {
		t.Error(err)
	}
	p, intent := plan(t), at.Intent()
	if err := a.For(at.RequestID, &intent, &p); err != nil {
		t.Error(err)
	}
	if !a.IssuedAt.Equal(at.At("09:26:53")) || !a.ExpiresAt.Equal(at.At("09:41:53")) || a.AuthorityID != at.AuthorizationID {
		t.Errorf("%+v", a)
	}
	digest, _ := p.Digest()
	for _, want := range []string{
		"edge firewall", pin().ApplianceTarget, "executor-1  key SHA-256 " + canon.Hash(at.Public(at.KeyX())), "sha256:3333", at.StoreID, at.NVIndexName,
		"41 in store and witness", "provisioned 2026-03-01T08:00:00Z", at.RequestID, `"web_servers" (host, 2 entries`, "192.0.2.10  (a)", "192.0.2.11  (b)",
		`Text now      "Old text"`, `Text then     "DMZ web servers"`, "expires 15 minutes after", digest, a.ExecutionIntent, at.AuthorizationID,
		"the filter is not reloaded", "CARP", "mcpctl write authorize",
	} {
		if !strings.Contains(r.shown, want) {
			t.Errorf("the screen does not show %q:\n%s", want, r.shown)
		}
	}
	if strings.Contains(r.shown, "***") {
		t.Errorf("a banner over production's file:\n%s", r.shown)
	}
	if log := m.logged(); strings.Count(log, "\n") != 1 || !strings.Contains(log, a.ID) || !strings.Contains(log, "plan-authorization-v2") {
		t.Errorf("the log: %q", log)
	}
	if strings.Contains(m.logged(), "web_servers") || strings.Contains(m.logged(), "DMZ") {
		t.Error("the log names what was changed")
	}
	second := m.out()
	m.refuses("the same preview again", m.run(sayYes, "sign-authorization", "-i", in, "-o", second), second, "was signed here on 2026-03-14", false)
	// A new preview of the same request is another one.
	third := m.out()
	m.signs(m.run(sayYes, "sign-authorization", "-i", m.file(preview(t, func(p *artifact.Preview) { p.GeneratedAt = at.At("09:21:00") })), "-o", third), third)
}

func TestAConfirmationIsShownWithTheFirstApproval(t *testing.T) {
	m := newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	in, out := m.file(pending(t)), m.out()
	r := m.run(sayYes, "sign-confirmation", "-i", in, "-o", out)
	c, err := artifact.ParseConfirmation(m.signs(r, out))
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Owners().Verify(c); err != nil {
		t.Error(err)
	}
	want := at.Confirmation(t)
	if c.Digests != want.Digests || c.ContractID != want.ContractID || c.OperationID != want.OperationID || !c.ExpiresAt.Equal(want.ExpiresAt) || !c.IssuedAt.Equal(want.IssuedAt) {
		t.Errorf("%+v", c)
	}
	for _, s := range []string{
		"owner-authz-1 at 2026-03-14T09:26:53Z", at.StoreID, at.NVIndexName, "41 in store and witness", pin().ApplianceTarget, "executor-1", at.ContractID, at.OperationID,
		"Position      7", `"Old text"`, `"DMZ web servers"`, "expires with the contract at 2026-03-14T09:41:53Z, in 10m53s",
	} {
		if !strings.Contains(r.shown, s) {
			t.Errorf("the screen does not show %q:\n%s", s, r.shown)
		}
	}
	// One contract is confirmed once, whatever file shows it.
	again := m.out()
	m.refuses("the same contract again", m.run(sayYes, "sign-confirmation", "-i", m.file(pending(t, func(p *artifact.Pending) { p.GeneratedAt = at.At("09:29:00") })), "-o", again), again, "was signed here", false)
}

func TestOnlyTheExactWordApproves(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	in := m.file(preview(t))
	for _, typed := range []string{"\n", "no\n", "y\n", "Yes\n", "YES\n", "yes \n", " yes\n", "yess\n", "yes.\n", "да\n", "\x04", "yes\x04\x04", strings.Repeat("yes", 50) + "\n"} {
		out := m.out()
		m.refuses(typed, m.run([]answer{{"anything else to stop: ", typed}}, "sign-authorization", "-i", in, "-o", out), out, "nothing was signed", true)
	}
	if m.logged() != "" {
		t.Errorf("the log: %q", m.logged())
	}
	out := m.out()
	m.signs(m.run(sayYes, "sign-authorization", "-i", in, "-o", out), out)
}

func TestWhatWasTypedBeforeTheReviewDoesNotApprove(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	x := newTerminal(t)
	if err := x.Type("yes\nyes\n"); err != nil {
		t.Fatal(err)
	}
	// The line discipline echoes it, so it is in the terminal's input by now.
	x.wait("yes", 2, nil)
	out, ended := m.out(), make(chan struct{})
	var errs bytes.Buffer
	code := -1
	in := m.file(preview(t))
	go func() {
		defer close(ended)
		code = Run(Env{In: x.Slave, Out: x.Slave, Err: &errs, Dir: m.dir, Now: m.now}, []string{"sign-authorization", "-i", in, "-o", out})
	}()
	x.wait("anything else to stop: ", 1, ended)
	select {
	case <-ended:
		t.Fatal("it went on without an answer")
	default:
	}
	if err := x.Type("no\n"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := os.Stat(out); code != 1 || !os.IsNotExist(err) {
		t.Errorf("exit %d, %s, %v", code, errs.String(), err)
	}
}

func TestNoTerminalNoSignature(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	in := m.file(preview(t))
	x := newTerminal(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	for name, io := range map[string][2]*os.File{"piped answer": {r, x.Slave}, "piped review": {x.Slave, w}, "both": {r, w}} {
		var errs bytes.Buffer
		out := m.out()
		ended := make(chan int, 1)
		go func() {
			ended <- Run(Env{In: io[0], Out: io[1], Err: &errs, Dir: m.dir, Now: m.now}, []string{"sign-authorization", "-i", in, "-o", out})
		}()
		code := -1
		select {
		case code = <-ended:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: it waits for an answer", name)
		}
		if _, err := os.Stat(out); code != 1 || !strings.Contains(errs.String(), "no terminal") || !os.IsNotExist(err) {
			t.Errorf("%s: exit %d, %s", name, code, errs.String())
		}
	}
}

func TestC4EditedFilesAreRefusedBeforeAnythingIsShown(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	for _, edit := range [][2]string{
		{`"requested_description":"DMZ web servers"`, `"requested_description":"harmless text!!"`},
		{`"previous_description":"Old text"`, `"previous_description":"New text"`},
		{`"new_description":"DMZ web servers"`, `"new_description":"DMZ web serverz"`},
		{`"alias_name":"web_servers"`, `"alias_name":"web_server5"`},
		{`"anchor_baseline":41`, `"anchor_baseline":40`},
	} {
		b := bytes.Replace(preview(t), []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(b, preview(t)) {
			t.Fatal(edit[0])
		}
		out := m.out()
		m.refuses(edit[1], m.run(sayYes, "sign-authorization", "-i", m.file(b), "-o", out), out, "the file is refused", false)
	}
	c := newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	b := bytes.Replace(pending(t), []byte(`"requested_description":"DMZ web servers"`), []byte(`"requested_description":"harmless text!!"`), 1)
	out := c.out()
	c.refuses("pending", c.run(sayYes, "sign-confirmation", "-i", c.file(b), "-o", out), out, "the file is refused", false)
}

func TestC5AFileOfNoPinnedExecutorIsRefused(t *testing.T) {
	p := at.Preview()
	p.Plan = plan(t)
	foreign := at.File(t, p, at.Seed(0x99))
	p.KeyID = "executor-2"
	renamed := at.File(t, p, at.KeyX())
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	for name, b := range map[string][]byte{
		"a foreign key": foreign, "another name": renamed,
		"no attestation": bytes.Replace(preview(t), []byte(`"attestation":"`), []byte(`"attestatiom":"`), 1),
	} {
		out := m.out()
		m.refuses(name, m.run(sayYes, "sign-authorization", "-i", m.file(b), "-o", out), out, "the file is refused", false)
	}
	// The first approval inside a pending is judged by the owner's own pins.
	c := newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	q := at.Pending(t, at.Intent(), plan(t))
	at.File(t, &q.Authorization, at.Seed(0x98))
	out := c.out()
	c.refuses("a forged authorization", c.run(sayYes, "sign-confirmation", "-i", c.file(at.File(t, q, at.KeyX())), "-o", out), out, "the file is refused", false)
	q = at.Pending(t, at.Intent(), plan(t))
	q.Authorization.AuthorityID = at.ConfirmationID
	at.File(t, &q.Authorization, at.KeyC())
	out = c.out()
	c.refuses("an authorization by the confirmation owner", c.run(sayYes, "sign-confirmation", "-i", c.file(at.File(t, q, at.KeyX())), "-o", out), out, "the file is refused", false)
	q = at.Pending(t, at.Intent(), plan(t))
	q.ExpectedAuthority = "owner-confirm-2"
	out = c.out()
	c.refuses("another confirmation owner", c.run(sayYes, "sign-confirmation", "-i", c.file(at.File(t, q, at.KeyX())), "-o", out), out, "expects another", false)
}

func TestAFileThatDoesNotFitThePinsIsRefused(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	hex := strings.Repeat("0", 64)
	for name, alter := range map[string]func(*artifact.Preview){
		"store":       func(p *artifact.Preview) { p.Plan.Executor.StoreID = "other-store" },
		"index":       func(p *artifact.Preview) { p.Plan.Executor.NVIndexName = "000b" + hex },
		"appliance":   func(p *artifact.Preview) { p.Plan.Executor.ApplianceTarget, p.Intent.Appliance = hex, hex },
		"authorities": func(p *artifact.Preview) { p.Plan.Executor.AuthoritySet = hex },
		"posture":     func(p *artifact.Preview) { p.Plan.Evidence.Anchor = change.EvidenceUnverified },
		"unsafe":      func(p *artifact.Preview) { p.Plan.SafeToProceed = false },
		"mismatch":    func(p *artifact.Preview) { p.Plan.Evidence.Witness = at.Number(42) },
		"future":      func(p *artifact.Preview) { p.GeneratedAt = at.At("09:27:24") },
		"yesterday":   func(p *artifact.Preview) { p.GeneratedAt = at.At("09:26:52").AddDate(0, 0, -1) },
	} {
		out := m.out()
		m.refuses(name, m.run(sayYes, "sign-authorization", "-i", m.file(preview(t, alter)), "-o", out), out, "", false)
	}
}

func TestReview08ALaboratoryStoreIsRefusedUnlessItIsPinned(t *testing.T) {
	lab := pin()
	lab.StoreID, lab.Name = "lab-1", "lab bench"
	alter := func(p *artifact.Preview) { p.Plan.Executor.StoreID = "lab-1" }
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	out := m.out()
	m.refuses("unpinned", m.run(sayYes, "sign-authorization", "-i", m.file(preview(t, alter)), "-o", out), out, "laboratory store that this signer does not pin", false)
	m.put("pins.json", pinsFile(t, lab))
	out = m.out()
	r := m.run(sayYes, "sign-authorization", "-i", m.file(preview(t, alter)), "-o", out)
	m.signs(r, out)
	if !strings.Contains(r.shown, "*** LABORATORY") {
		t.Errorf("no banner:\n%s", r.shown)
	}
	// The second owner sees store, counter, appliance and keys too, and the banner.
	c := newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	p := plan(t)
	p.Executor.StoreID = "lab-1"
	file := at.File(t, at.Pending(t, at.Intent(), p), at.KeyX())
	out = c.out()
	c.refuses("unpinned pending", c.run(sayYes, "sign-confirmation", "-i", c.file(file), "-o", out), out, "laboratory store", false)
	c.put("pins.json", pinsFile(t, lab))
	out = c.out()
	r = c.run(sayYes, "sign-confirmation", "-i", c.file(file), "-o", out)
	c.signs(r, out)
	if !strings.Contains(r.shown, "*** LABORATORY") || !strings.Contains(r.shown, "lab-1") {
		t.Errorf("no banner:\n%s", r.shown)
	}
	// A pending file cannot say which build made it: the screen says that.
	if !strings.Contains(r.shown, "*** It may be a TEST BUILD") {
		t.Errorf("nothing of a test build:\n%s", r.shown)
	}
	c = newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	if r = c.run([]answer{{"anything else to stop: ", "no\n"}}, "sign-confirmation", "-i", c.file(pending(t)), "-o", c.out()); strings.Contains(r.shown, "TEST BUILD") {
		t.Errorf("production's is called a test build:\n%s", r.shown)
	}
}

func TestReview18And25TheScreenSaysWhoAskedAndWhatBuildItIs(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	no := []answer{{"anything else to stop: ", "no\n"}}
	r := m.run(no, "sign-authorization", "-i", m.file(preview(t)), "-o", m.out())
	if !strings.Contains(r.shown, "asked by uid 1001, says mcpd") || strings.Contains(r.shown, "TEST BUILD") {
		t.Errorf("%s", r.shown)
	}
	r = m.run(no, "sign-authorization", "-i", m.file(preview(t, func(p *artifact.Preview) { p.Origin, p.AskedBy, p.TestBuild = artifact.OriginOperator, nil, true })), "-o", m.out())
	if !strings.Contains(r.shown, "asked by an operator") || !strings.Contains(r.shown, "*** TEST BUILD") {
		t.Errorf("%s", r.shown)
	}
	p := pin()
	p.BuildID = "sha256:" + strings.Repeat("4", 64)
	m.put("pins.json", pinsFile(t, p))
	out := m.out()
	m.refuses("another build than the pinned one", m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "executor_build_id", false)
	p.BuildID = "sha256:" + strings.Repeat("3", 64)
	m.put("pins.json", pinsFile(t, p))
	out = m.out()
	m.signs(m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out)
}

func TestReview19AndG8TheScreenShowsEveryCharacter(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	r := m.run([]answer{{"anything else to stop: ", "no\n"}}, "sign-authorization", "-i", m.file(preview(t, func(p *artifact.Preview) {
		p.Intent.Target.Descr = "Old\x1b[2J\u202etext"
		p.Intent.Target.Detail[0] = "a\nText then     \"forged\""
		p.Intent.NewDescription = "pаypal \U000e0041"
	})), "-o", m.out())
	for _, want := range []string{
		`Text now      "Old\u{1b}[2J\u{202e}text"`, `Text then     "pаypal \u{e0041}"`, `"p\u{430}ypal \u{e0041}"`, `Cyrillic: \u{430}`, "mixes scripts: Cyrillic, Latin", "not printable", `(a\nText then     "forged")`,
	} {
		if !strings.Contains(r.shown, want) {
			t.Errorf("the screen does not show %q:\n%s", want, r.shown)
		}
	}
	if strings.ContainsAny(r.shown, "\x1b\u202e\U000e0041") || strings.Contains(r.shown, "\n  Text then     \"forged\"") {
		t.Errorf("the terminal was told something:\n%q", r.shown)
	}
}

func TestAReviewThatTakesTooLongIsNotSigned(t *testing.T) {
	m := newMachine(t, authority.Confirmation, at.KeyC(), "09:31:00")
	for i, clock := range []string{"09:41:52", "09:41:53"} {
		calls := 0
		m.now = func() time.Time {
			if calls++; calls < 3 { // the review and its trial
				return at.At("09:31:00")
			}
			return at.At(clock)
		}
		out := m.out()
		r := m.run(sayYes, "sign-confirmation", "-i", m.file(pending(t)), "-o", out)
		if i == 1 {
			m.refuses("at the second of expiry", r, out, "expired", true)
			continue
		}
		m.signs(r, out)
		if err := os.Remove(filepath.Join(m.dir, "signed.log")); err != nil {
			t.Fatal(err)
		}
	}
	if m.logged() != "" {
		t.Error("what expired is in the log")
	}
}

func TestAMachineWithTwoOwnersKeysSignsNothing(t *testing.T) {
	for name, put := range map[string]func(*machine){
		"by name":                 func(m *machine) { m.put("confirmation.key", at.Seed(0x31).Seed()) },
		"renamed, but pinned":     func(m *machine) { m.put("backup", at.KeyC().Seed()) },
		"the same key under both": func(m *machine) { m.put("reconciliation.key", at.KeyA().Seed()) },
	} {
		m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
		put(m)
		out := m.out()
		m.refuses(name, m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "keys of two owners", false)
	}
	for name, key := range map[string]string{"the other owner's machine": "confirmation.key", "no key": "note.txt"} {
		m := newMachine(t, authority.Authorization, nil, "09:26:53")
		m.put(key, at.KeyC().Seed()[:32])
		out := m.out()
		if key == "note.txt" {
			m.put(key, []byte("no key"))
		}
		m.refuses(name, m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "not here", false)
	}
	m := newMachine(t, authority.Authorization, at.KeyC(), "09:26:53")
	out := m.out()
	m.refuses("another owner's key under this name", m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "keys of two owners", false)
	m = newMachine(t, authority.Authorization, at.Seed(0x44), "09:26:53")
	out = m.out()
	m.refuses("a key that is not pinned", m.run(sayYes, "sign-authorization", "-i", m.file(preview(t)), "-o", out), out, "not the one that is pinned", false)
}

func TestFilesThatOthersCanTouchOrThatExistAreRefused(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	in, out := m.file(preview(t)), m.out()
	run := func(name, because string) {
		t.Helper()
		m.refuses(name, m.run(sayYes, "sign-authorization", "-i", in, "-o", out), out, because, false)
	}
	good := in
	in = filepath.Join(filepath.Dir(m.dir), "link")
	if err := os.Symlink(good, in); err != nil {
		t.Fatal(err)
	}
	run("a link as input", "symbolic link")
	in = good
	for path, mode := range map[string]os.FileMode{good: 0o600, filepath.Join(m.dir, "authorization.key"): 0o600, filepath.Join(m.dir, "pins.json"): 0o600, m.dir: 0o700} {
		if err := os.Chmod(path, mode|0o040); err != nil {
			t.Fatal(err)
		}
		run(path+" open to the group", "open to other users")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	in = filepath.Join(filepath.Dir(m.dir), "missing")
	run("no input", "does not exist")
	in = m.file(bytes.Repeat([]byte(" "), artifact.MaxAttested+1))
	run("too large an input", "larger than")
	in = good
	if err := os.WriteFile(out, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := m.run(sayYes, "sign-authorization", "-i", in, "-o", out)
	if b, err := os.ReadFile(out); r.code != 1 || err != nil || string(b) != "mine" || strings.Contains(r.shown, "Type yes") {
		t.Errorf("an existing result: exit %d, %q", r.code, b)
	}
}

func TestCommandLinesThatAreNotUnderstoodExitTwo(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	for _, args := range [][]string{
		nil,
		{"sign"},
		{"sign-authorization"},
		{"sign-authorization", "-i", "x"},
		{"sign-authorization", "-i", "x", "-o", "y", "z"},
		{"sign-authorization", "-yes", "-i", "x", "-o", "y"},
		{"sign-authorization", "-i", "x", "-o", "y", "-ttl", "1h"},
		{"sign-reconciliation", "-i", "x", "-o", "y"},
		{"sign-reconciliation", "-i", "x", "-o", "y", "-outcome", "unknown"},
		{"sign-rebaseline", "-i", "x", "-o", "y", "-reason", "because"},
		{"keygen"},
		{"keygen", "-owner", "executor", "-id", "x"},
		{"keygen", "-owner", "authorization", "-id", "a b"},
		{"pins", "x"},
	} {
		if r := m.run(nil, args...); r.code != 2 || !strings.Contains(r.errs, "mcpsign signs") {
			t.Errorf("%v: exit %d, %s", args, r.code, r.errs)
		}
	}
	for _, verb := range []string{"help", "version"} {
		if r := m.run(nil, verb); r.code != 0 || !strings.Contains(r.shown, "mcpsign") {
			t.Errorf("%s: exit %d, %s", verb, r.code, r.shown)
		}
	}
	// Who asks for help is shown all of it and signs nothing, whatever else was typed.
	for _, args := range [][]string{{"--help"}, {"-h"}, {"keygen", "--help"}, {"sign-authorization", "-i", "x", "-o", "y", "-help"}} {
		if r := m.run(nil, args...); r.code != 0 || !strings.Contains(r.shown, "Example: mcpsign") || strings.Count(r.shown, "\n") > 24 {
			t.Errorf("%q: exit %d, %s", args, r.code, r.shown)
		}
	}
	for line := range strings.Lines(usage) {
		if len(line) > 81 { // the line end is one of them
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	for word := range review.Outcomes() {
		if !strings.Contains(usage, word) {
			t.Errorf("the help does not name the outcome %s", word)
		}
	}
	for word := range review.Reasons() {
		if !strings.Contains(usage, word) {
			t.Errorf("the help does not name the reason %s", word)
		}
	}
}

func TestThePinsAreShown(t *testing.T) {
	m := newMachine(t, authority.Authorization, at.KeyA(), "09:26:53")
	r := m.run(nil, "pins")
	x := pin()
	set, err := x.AuthoritySet()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"edge firewall", at.StoreID, at.NVIndexName, "executor-1", "build any", at.AuthorizationID, at.ConfirmationID, at.ReconcileID, canon.Hash(at.Public(at.KeyR())), set} {
		if r.code != 0 || !strings.Contains(r.shown, want) {
			t.Errorf("exit %d, no %q:\n%s%s", r.code, want, r.shown, r.errs)
		}
	}
	m.put("pins.json", []byte("{}"))
	if r := m.run(nil, "pins"); r.code != 1 || !strings.Contains(r.errs, "pins file is refused") {
		t.Errorf("exit %d, %s", r.code, r.errs)
	}
}
