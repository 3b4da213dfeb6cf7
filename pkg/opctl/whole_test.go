package opctl

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

// site is a real executord with an emulated TPM and a pretend appliance, and an
// operator who has mcpctl alone.
type site struct {
	*writepath.Rig
	t   *testing.T
	dir string
}

// do runs a command line as the operator, at a terminal where a word is typed.
func (s *site) do(types string, line ...string) (code int, out, shown string) {
	s.t.Helper()
	var o bytes.Buffer
	x := newTerminal(s.t)
	done := make(chan int, 1)
	go func() {
		done <- Run(context.Background(), Env{In: x.Slave, Out: &o, Err: x.Slave}, append(line, "--dir", s.Dir))
	}()
	if types != "" {
		x.asks(question)
		x.types(types + "\n")
	}
	select {
	case code = <-done:
	case <-time.After(3 * time.Minute):
		s.t.Fatalf("%q does not end:\n%s", line, x.Text())
	}
	return code, o.String(), x.all()
}

// must is do for what has to end with a code.
func (s *site) must(code int, types string, line ...string) (out string) {
	s.t.Helper()
	got, out, shown := s.do(types, line...)
	if got != code {
		s.t.Fatalf("%q: exit %d, want %d\n%s\n%s\n%s", line, got, code, out, shown, s.Log())
	}
	return out + shown
}

// path names a file on the operator's medium.
func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// sign signs what a file of executord's leads to, as an owner's machine would.
func (s *site) sign(from, to string, f func(b []byte, now time.Time) []byte) string {
	s.t.Helper()
	b, err := os.ReadFile(s.path(from))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(to), f(b, time.Now().UTC().Truncate(time.Second)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(to)
}

func (s *site) parsed(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestTheWholeCeremonyGoesThroughMcpctl follows the next step that each command
// names, from a blank TPM to a change that was made, seen and undone.
func TestTheWholeCeremonyGoesThroughMcpctl(t *testing.T) {
	if testing.Short() {
		t.Skip("builds executord")
	}
	tpm := swtpm.New(t)
	program, err := writepath.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{writepath.New(t, program, tpm.Address(), fakepf.Options{}), t, t.TempDir()}
	if err := s.Start(""); err != nil {
		t.Fatal(err)
	}
	s.provision()

	s.must(ExitOK, "", "discover")
	s.must(ExitOK, "", "keys", "pins", "-o", s.path("pins.json"))
	if _, err := s.Ask("Print room, floor 2"); err != nil {
		t.Fatal(err)
	}
	list := s.must(ExitOK, "", "write", "list")
	request := regexp.MustCompile(`req-[0-9a-f]{32}`).FindString(list)
	if request == "" || !strings.Contains(list, "asked by uid 1001, says mcpd: 1") || !strings.Contains(list, "mcpctl write preview "+request) {
		t.Fatal(list)
	}
	contract := s.authorize(request)
	s.must(ExitOK, "", "write", "pending", contract, "-o", s.path("pending.json"))
	confirmation := s.sign("pending.json", "confirmation.json", func(b []byte, now time.Time) []byte {
		p, err := artifact.ParsePending(b)
		s.parsed(err)
		c := at.Confirmation(t)
		c.Digests, err = p.Digests()
		s.parsed(err)
		c.Nonce, c.ContractID, c.OperationID, c.IssuedAt, c.ExpiresAt = change.NewID(""), p.ContractID, p.OperationID, now, p.ExpiresAt
		return at.File(t, c, at.KeyC())
	})
	if said := s.must(ExitOK, "yes", "write", "confirm", confirmation); !strings.Contains(said, contract+"  verified") || s.Descr() != "Print room, floor 2" {
		t.Fatalf("%s\nthe appliance has %q", said, s.Descr())
	}
	s.denied(confirmation)

	if said := s.must(ExitOK, "", "audit", "verify"); !strings.HasPrefix(said, "sound\n") {
		t.Error(said)
	}
	var head struct{ Head string }
	s.parsed(json.Unmarshal([]byte(s.must(ExitOK, "", "audit", "export", "-o", s.path("audit.jsonl"), "--json")), &head))
	s.must(ExitOK, "", "audit", "verify", "--pinned-head", head.Head)
	s.must(ExitUsage, "", "audit", "verify", "--pinned-head", strings.Repeat("0", 64))
	s.must(ExitOK, "yes", "store", "backup", "-o", s.path("store.backup"))

	s.undo(contract)
}

// provision takes every step that mcpctl names until there is none.
func (s *site) provision() {
	s.t.Helper()
	said := s.must(ExitOK, "", "anchor", "plan")
	for range 12 {
		next := regexp.MustCompile(`(?m)^next: mcpctl (anchor (?:provision|seed) .*?)\s*$`).FindStringSubmatch(said)
		if next == nil {
			if said = s.must(ExitOK, "", "anchor", "status"); strings.Contains(said, "step operational") {
				return
			}
			s.t.Fatalf("no next step:\n%s", said)
		}
		said = s.must(ExitOK, "yes", strings.Fields(next[1])...)
	}
	s.t.Fatalf("provisioning does not end:\n%s", said)
}

// authorize goes from a request to its contract, and shows that an older preview is
// worth nothing.
func (s *site) authorize(request string) (contract string) {
	s.t.Helper()
	for i := range 2 {
		file := fmt.Sprintf("preview%d.json", i)
		if said := s.must(ExitOK, "yes", "write", "preview", request, "-o", s.path(file)); !strings.Contains(said, `text now    "`+writepath.Old+`"`) || !strings.Contains(said, "LABORATORY") {
			s.t.Fatal(said)
		}
	}
	authorization := s.sign("preview1.json", "authorization.json", func(b []byte, now time.Time) []byte {
		p, err := artifact.ParsePreview(b)
		s.parsed(err)
		a := at.Authorization(s.t, p.Intent, p.Plan)
		a.ID, a.RequestID, a.IssuedAt, a.ExpiresAt = change.NewID(change.PrefixAuthorization), request, now, now.Add(15*time.Minute)
		return at.File(s.t, a, at.KeyA())
	})
	contract = regexp.MustCompile(`wc-[0-9a-f]{32}`).FindString(s.must(ExitOK, "yes", "write", "authorize", authorization))
	if contract == "" {
		s.t.Fatal("no contract")
	}
	s.denied(authorization)
	return contract
}

// denied hands in a file that was used, and has the denial explained.
func (s *site) denied(file string) {
	s.t.Helper()
	kind := "authorize"
	if strings.HasSuffix(file, "confirmation.json") {
		kind = "confirm"
	}
	said := s.must(ExitFail, "", "write", kind, file, "--yes")
	next := regexp.MustCompile(`next: mcpctl (audit show \d+)`).FindStringSubmatch(said)
	if next == nil || !strings.Contains(said, "write request denied (audit seq ") {
		s.t.Fatal(said)
	}
	if why := s.must(ExitOK, "", strings.Fields(next[1])...); !strings.Contains(why, "_denied") || !strings.Contains(why, "next: ") || strings.Contains(why, "does not know") {
		s.t.Error(why)
	}
}

// undo puts the old text back.
func (s *site) undo(contract string) {
	s.t.Helper()
	s.must(ExitOK, "", "write", "rollback-request", contract, "-o", s.path("rollback.json"))
	half := func(to, id string, role canon.Role) string {
		return s.sign("rollback.json", to, func(b []byte, now time.Time) []byte {
			r, err := artifact.ParseRollbackRequest(b)
			s.parsed(err)
			u, err := r.Undo()
			s.parsed(err)
			key := at.KeyC()
			if role == canon.RoleRollbackAuthorization {
				key = at.KeyA()
			}
			return at.File(s.t, &artifact.Rollback{By: role, AuthorityID: id, Nonce: change.NewID(""), Undo: u, IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute)}, key)
		})
	}
	first, second := half("first.json", at.ConfirmationID, canon.RoleRollback), half("second.json", at.AuthorizationID, canon.RoleRollbackAuthorization)
	s.must(ExitFail, "yes", "write", "rollback", "--confirmation", second, "--authorization", first) // swapped
	if said := s.must(ExitOK, "yes", "write", "rollback", "--confirmation", first, "--authorization", second); !strings.Contains(said, contract+"  rolled_back") || s.Descr() != writepath.Old {
		s.t.Fatalf("%s\nthe appliance has %q", said, s.Descr())
	}
	if said := s.must(ExitOK, "", "write", "list"); !strings.Contains(said, "nothing is open") {
		s.t.Error(said)
	}
}
