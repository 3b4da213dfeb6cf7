// Package ceremonytest owns a whole write path for tests: a pretend appliance behind
// real TLS, a counter in memory, a store on disk, and the owners' keys. Tests alone
// import it. It must never be linked into a program: its keys are in the source.
package ceremonytest

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
)

// Alias is an alias of the pretend appliance, with the description Old.
const (
	Alias = "Print_Servers"
	Other = "Shop_Ports"
	Old   = "Label and office printers"
	By    = record.Actor("operator:0")
	UID   = 1001
)

// House is a write path and everything around it.
type House struct {
	T       testing.TB
	Config  ceremony.Config
	Y       *ceremony.Ceremony
	FW      *fakepf.Server
	Counter *anchortest.Fake
	Clock   *storetest.Clock

	Events []ceremony.Event // of the writer; read when it is idle
	stop   context.CancelFunc
	done   chan error
}

// Options change how a House is built.
type Options struct {
	Config func(*ceremony.Config)
	FW     fakepf.Options
	Times  func(*exchange.Config)
	Client func(alias.Client) alias.Client // what stands between the reader and the appliance
	Now    func() time.Time                // the reader's clock; nil is time.Now
}

// New builds a provisioned write path and starts its writer.
func New(t testing.TB, o Options) *House {
	t.Helper()
	clock := storetest.ClockAt(time.Now()) // certificates are of today
	h := &House{T: t, Clock: clock, Counter: anchortest.New(41)}
	h.FW = fakepf.Start(t, o.FW)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, h.FW.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	key := secretfile.New([]byte(fakepf.WriteKey))
	pc := pfrest.Config{BaseURL: h.FW.URL(), Key: key, TLSMode: "auto", CAFile: ca, Endpoints: alias.Endpoints(), Authoritative: true}
	tls, err := pfrest.ClientTLS(pc)
	if err != nil {
		t.Fatal(err)
	}
	client, err := pfrest.New(pc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var read alias.Client = client
	if o.Client != nil {
		read = o.Client(client)
	}
	reader, err := alias.New(alias.Config{
		Client: read, Now: o.Now, BaseURL: h.FW.URL(), TLSMode: "auto", CADigest: canon.Hash(h.FW.CAPEM()),
	})
	if err != nil {
		t.Fatal(err)
	}
	xc := exchange.Config{BaseURL: h.FW.URL(), TLS: tls, Key: key, Dial: time.Minute}
	if o.Times != nil {
		o.Times(&xc)
	}
	x, err := exchange.New(xc)
	if err != nil {
		t.Fatal(err)
	}
	h.Config = ceremony.Config{
		Store: storetest.Config(t, clock), Authorities: artifacttest.Owners(),
		Attestation: keyfile.Attestation{KeyID: artifacttest.ExecutorID, Key: artifacttest.KeyX()},
		Counter:     h.Counter, Reader: reader, Exchanger: x, Challenge: func(c [32]byte) [32]byte { return c },
		Enabled: true, AuthorizationMax: artifact.MaxAuthorization, Charset: change.Printable,
		// Tests say when the writer looks after what is due.
		Windows: ceremony.Windows{Settle: 5 * time.Millisecond, Patience: time.Millisecond, Tend: 24 * time.Hour},
		BuildID: "sha256:" + hex.EncodeToString(make([]byte, 32)), Account: "mcp-writer",
	}
	h.Config.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	h.Config.Observe = func(e ceremony.Event) { h.Events = append(h.Events, e) }
	if o.Config != nil {
		o.Config(&h.Config)
	}
	h.Open()
	facts, _ := h.Counter.Facts(t.Context())
	if _, err := h.Y.Seed(t.Context(), By, 41, facts.Index); err != nil {
		t.Fatal(err)
	}
	return h
}

// Open starts a process life: the crash table, then the writer.
func (h *House) Open() {
	h.T.Helper()
	y, err := ceremony.Open(h.T.Context(), h.Config)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Y = y
	ctx, stop := context.WithCancel(context.Background())
	h.stop, h.done = stop, make(chan error, 1)
	go func() {
		defer func() { // as package daemon does
			if p := recover(); p != nil {
				h.done <- fmt.Errorf("the writer panicked: %v", p)
			}
		}()
		h.done <- y.Run(ctx)
	}()
	h.T.Cleanup(func() { h.Stop() })
}

// End asks the process life to end, and does not wait for it.
func (h *House) End() { h.stop() }

// Stop ends the process life and returns how it ended.
func (h *House) Stop() error {
	if h.stop == nil {
		return nil
	}
	h.stop()
	h.stop = nil
	return <-h.done
}

// Wait waits until the writer is idle.
func (h *House) Wait() {
	h.T.Helper()
	if _, err := h.Y.AnchorFile(h.T.Context(), By); err != nil {
		h.T.Log(err) // it was the writer's turn all the same
	}
}

// View reads the store.
func (h *House) View(f func(*store.View) error) {
	h.T.Helper()
	if err := h.Y.View(f); err != nil {
		h.T.Fatal(err)
	}
}

// Contract reads a contract with its result.
func (h *House) Contract(id string) (k *record.Contract, res *record.Result) {
	h.T.Helper()
	h.View(func(v *store.View) (err error) {
		k, res, err = v.Contract(id)
		return err
	})
	return k, res
}

// Ask asks as an MCP client does and returns the newest request.
func (h *House) Ask(text string) (state, request string) {
	h.T.Helper()
	return h.AskFor(Alias, text)
}

// AskFor asks for another alias.
func (h *House) AskFor(alias, text string) (state, request string) {
	h.T.Helper()
	state = h.Y.Ask(h.T.Context(), UID, alias, text)
	h.View(func(v *store.View) error {
		all, err := v.Requests(store.RequestFilter{})
		if err == nil && len(all) > 0 {
			request = all[0].RequestID
		}
		return err
	})
	return state, request
}

// Preview makes and reads a preview.
func (h *House) Preview(request string) *artifact.Preview {
	h.T.Helper()
	file, err := h.Y.Preview(h.T.Context(), By, request)
	if err != nil {
		h.T.Fatalf("preview: %v", err)
	}
	p, err := artifact.ParsePreview(file)
	if err != nil {
		h.T.Fatal(err)
	}
	return p
}

// Authorization signs a preview.
func (h *House) Authorization(p *artifact.Preview) []byte {
	h.T.Helper()
	a := artifacttest.Authorization(h.T, p.Intent, p.Plan)
	a.ID, a.RequestID = change.NewID(change.PrefixAuthorization), p.RequestID
	a.IssuedAt = h.Clock.Read().Wall
	a.ExpiresAt = a.IssuedAt.Add(15 * time.Minute)
	return artifacttest.File(h.T, a, artifacttest.KeyA())
}

// Authorized plays a request to a prepared contract.
func (h *House) Authorized(text string) record.Contract {
	h.T.Helper()
	state, id := h.Ask(text)
	if state != ceremony.Requested {
		h.T.Fatalf("asked: %s", state)
	}
	k, err := h.Y.Authorize(h.T.Context(), By, h.Authorization(h.Preview(id)))
	if err != nil {
		h.T.Fatalf("authorize: %v: %s", err, h.Last())
	}
	return k
}

// Confirmation signs a contract's pending file.
func (h *House) Confirmation(k record.Contract) []byte {
	h.T.Helper()
	file, err := h.Y.Pending(h.T.Context(), By, k.ContractID)
	if err != nil {
		h.T.Fatalf("pending: %v", err)
	}
	p, err := artifact.ParsePending(file)
	if err != nil {
		h.T.Fatal(err)
	}
	d, err := p.Digests()
	if err != nil {
		h.T.Fatal(err)
	}
	a := artifacttest.Confirmation(h.T)
	a.Nonce, a.ContractID, a.OperationID, a.Digests = change.NewID(""), p.ContractID, p.OperationID, d
	a.IssuedAt, a.ExpiresAt = h.Clock.Read().Wall, p.ExpiresAt
	return artifacttest.File(h.T, a, artifacttest.KeyC())
}

// Confirm confirms a contract and waits for the end of its attempt.
func (h *House) Confirm(k record.Contract) (record.Contract, error) {
	h.T.Helper()
	began, err := h.Y.Confirm(h.T.Context(), By, h.Confirmation(k))
	h.Wait()
	return began, err
}

// Changed plays a whole change.
func (h *House) Changed(text string) (*record.Contract, *record.Result) {
	h.T.Helper()
	k := h.Authorized(text)
	if _, err := h.Confirm(k); err != nil {
		h.T.Fatalf("confirm: %v: %s", err, h.Last())
	}
	return h.Contract(k.ContractID)
}

// Undo signs both halves of a rollback of a contract.
func (h *House) Undo(contract string) (confirmation, authorization []byte) {
	h.T.Helper()
	file, err := h.Y.RollbackRequest(h.T.Context(), By, contract)
	if err != nil {
		h.T.Fatalf("rollback request: %v", err)
	}
	r, err := artifact.ParseRollbackRequest(file)
	if err != nil {
		h.T.Fatal(err)
	}
	u, err := r.Undo()
	if err != nil {
		h.T.Fatal(err)
	}
	now := h.Clock.Read().Wall
	one := func(by canon.Role, id string) *artifact.Rollback {
		return &artifact.Rollback{By: by, AuthorityID: id, Nonce: change.NewID(""), Undo: u, IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute)}
	}
	return artifacttest.File(h.T, one(canon.RoleRollback, artifacttest.ConfirmationID), artifacttest.KeyC()),
		artifacttest.File(h.T, one(canon.RoleRollbackAuthorization, artifacttest.AuthorizationID), artifacttest.KeyA())
}

// Observe observes a contract.
func (h *House) Observe(contract string) *artifact.Observation {
	h.T.Helper()
	file, err := h.Y.Observe(h.T.Context(), By, contract)
	if err != nil {
		h.T.Fatalf("observe: %v", err)
	}
	o, err := artifact.ParseObservation(file)
	if err != nil {
		h.T.Fatal(err)
	}
	return o
}

// Evidence signs an outcome over an observation.
func (h *House) Evidence(o *artifact.Observation, outcome string) []byte {
	h.T.Helper()
	digest, err := o.Digest()
	if err != nil {
		h.T.Fatal(err)
	}
	a := &artifact.Reconciliation{
		AuthorityID: artifacttest.ReconcileID, ContractID: o.ContractID, OperationID: o.OperationID, StateVersion: o.StateVersion,
		Outcome: outcome, IssuedAt: h.Clock.Read().Wall, ObservationDigest: digest,
	}
	if outcome == artifact.OutcomeApplied || outcome == artifact.OutcomeRollbackApplied {
		k, _ := h.Contract(o.ContractID)
		a.VerifiedLocator = &k.Locator
		if outcome == artifact.OutcomeApplied {
			h.View(func(v *store.View) error {
				in, err := v.Intent(k)
				if err == nil {
					a.VerifiedFingerprint, err = in.ExpectedPost()
				}
				return err
			})
		}
	}
	return artifacttest.File(h.T, a, artifacttest.KeyR())
}

// Sends are the changes that reached the appliance's socket.
func (h *House) Sends() (n int) {
	for _, r := range h.FW.RequestsTo("/api/v2/firewall/alias") {
		if r.Method != "GET" {
			n++
		}
	}
	return n
}

// Descr is the alias's description on the appliance.
func (h *House) Descr() string {
	for pos := range h.FW.Rows("FirewallAlias") {
		row := h.FW.Row("FirewallAlias", pos)
		if name, _ := row.Get("name"); name == Alias {
			d, _ := row.Get("descr")
			s, _ := d.(string)
			return s
		}
	}
	return ""
}

// Last is the newest audit row, for failures.
func (h *House) Last() string {
	out := ""
	h.View(func(v *store.View) error {
		a, err := v.Anchor()
		_ = a
		for seq := int64(1); ; seq++ {
			row, _, e := v.AuditRow(seq)
			if e != nil {
				return err
			}
			out = string(row.Event) + " " + string(row.Reason) + " " + row.From + " " + row.To
		}
	})
	return out
}

// Tend waits for the writer's own look at what is due.
func (h *House) Tend() {
	h.T.Helper()
	if err := h.Y.Tend(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
}
