package serve

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/watch"
	"pfsensemcp/pkg/metrics"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/fakepf/php"
)

// marked is a write path whose every private word is a marker: what the alias is
// called, what it says, what it holds, where the appliance is.
type marked struct {
	house
	t       *testing.T
	alias   string
	text    string
	markers map[string]string
	heard   bytes.Buffer // all that came back from calls, but what may carry the words
}

func word(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz"[rand.IntN(26)]
	}
	return string(b)
}

// older is newHouse with an appliance whose last change is an hour old, whatever happens:
// several changes can follow each other.
func older(t *testing.T) house {
	t.Helper()
	b := &bench{log: &lines{}, reg: metrics.New()}
	b.logger = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := watch.New(b.logger, b.reg)
	h := ceremonytest.New(t, ceremonytest.Options{
		Config: func(c *ceremony.Config) { c.Observe, c.Log = w.Event, b.logger },
		FW:     fakepf.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }},
	})
	b.s = New(h.Y, Facts{
		Version: "test", Enabled: true, TLSMode: "auto", Sealed: true, Authorities: h.Config.Authorities, Limits: h.Config.Store.Limits, Metrics: b.reg,
		Permissions: func() error { _, err := store.Exists(h.Config.Store); return err }, Appliance: h.Config.Reader,
	})
	b.front, b.admin = b.dial(t, "exec", mcpdUID), b.dial(t, "exec-admin", operatorUID)
	b.Front, b.Admin = executorpb.NewFrontClient(b.front), executorpb.NewAdminClient(b.admin)
	return house{h, b}
}

func newMarked(t *testing.T) *marked {
	t.Helper()
	m := &marked{house: older(t), t: t, alias: "mk" + word(14), text: "new " + word(16)}
	was, address, detail := "old "+word(16), "198.51.100."+fmt.Sprint(100+rand.IntN(100)), "note "+word(16)
	if err := m.FW.Insert("FirewallAlias", m.FW.Rows("FirewallAlias"), php.Object{
		{Key: "name", Value: m.alias}, {Key: "type", Value: "host"}, {Key: "descr", Value: was}, {Key: "address", Value: []any{address}}, {Key: "detail", Value: []any{detail}},
	}); err != nil {
		t.Fatal(err)
	}
	m.markers = map[string]string{
		"the alias's name": m.alias, "its new text": m.text, "its former text": was, "its address": address, "its detail": detail,
		"the appliance's URL": m.FW.URL(), "its host": strings.TrimPrefix(m.FW.URL(), "https://"), "the API's path": "/api/v2",
		"the key": fakepf.WriteKey, "the store's path": m.Config.Store.Dir, "a key of an alias": `"address"`,
	}
	return m
}

// note keeps what came back.
func (m *marked) note(what string, a proto.Message, err error) {
	m.t.Helper()
	if err != nil {
		fmt.Fprintf(&m.heard, "%s: %+v %v\n", what, coded(err), err)
		return
	}
	fmt.Fprintf(&m.heard, "%s: %s\n", what, protojson.Format(a))
}

// open finds the one live request.
func (m *marked) open() string {
	m.t.Helper()
	l, err := m.Admin.ListRequests(soon(m.t), &executorpb.ListRequestsRequest{})
	if err != nil || len(l.GetRequests()) == 0 {
		m.t.Fatal(err)
	}
	return l.GetRequests()[0].GetRequestId()
}

// changed plays a request to its contract's end over both sockets.
func (m *marked) changed(text string) string {
	m.t.Helper()
	ctx := soon(m.t)
	m.Clock.Pass(time.Second)
	a, err := m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias, Description: text, CallerUid: ceremonytest.UID})
	m.note("ask", a, err)
	f, err := m.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: m.open()})
	if err != nil {
		m.t.Fatal(err)
	}
	p, err := artifact.ParsePreview(f.GetArtifact())
	if err != nil {
		m.t.Fatal(err)
	}
	s, err := m.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: m.Authorization(p)})
	m.note("authorize", s, err)
	k, _ := m.Contract(s.GetContractId())
	c, err := m.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: m.Confirmation(*k)})
	m.note("confirm", c, err)
	m.Wait()
	return s.GetContractId()
}

// drain reads a stream of chunks.
func drain[T any](s grpc.ServerStreamingClient[T], err error, bytesOf func(*T) []byte) (all []byte, _ error) {
	for err == nil {
		var one *T
		if one, err = s.Recv(); err == nil {
			all = append(all, bytesOf(one)...)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return all, err
}

// life plays everything that can happen to a change, and listens.
func (m *marked) life() {
	t := m.t
	ctx := soon(t)
	// Files that quote everything, in every door.
	quote := []byte(`{"schema_version":2,"alias_name":"` + m.alias + `","description":"` + m.text + `","proof":"` + m.FW.URL() + `"}`)
	for what, call := range map[string]func() (proto.Message, error){
		"authorization": func() (proto.Message, error) {
			return m.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: quote})
		},
		"confirmation": func() (proto.Message, error) {
			return m.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: quote})
		},
		"reconciliation": func() (proto.Message, error) {
			return m.Admin.SubmitReconciliation(ctx, &executorpb.SubmitReconciliationRequest{Evidence: quote})
		},
		"rollback": func() (proto.Message, error) {
			return m.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: quote, RollbackAuthorization: quote})
		},
		"a request's id": func() (proto.Message, error) {
			return m.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: m.alias})
		},
		"a contract's id": func() (proto.Message, error) {
			return m.Admin.GetContract(ctx, &executorpb.GetContractRequest{ContractId: m.text})
		},
		"no such alias": func() (proto.Message, error) {
			return m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias + "x", Description: m.text, CallerUid: 1001})
		},
		"a text that may not be": func() (proto.Message, error) {
			return m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias, Description: m.text + "\x1b", CallerUid: 1001})
		},
	} {
		a, err := call()
		m.note(what, a, err)
	}
	// A change, and its undo.
	id := m.changed(m.text)
	if k, res := m.Contract(id); k.State != record.Verified {
		t.Fatalf("%s %s", k.State, res.Reason)
	}
	m.Clock.Pass(2 * time.Minute)
	m.Tend()
	c, a := m.Undo(id)
	r, err := m.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: c, RollbackAuthorization: a})
	m.note("rollback", r, err)
	m.Wait()
	m.Clock.Pass(2 * time.Minute)
	// One whose outcome is open, observed and settled.
	m.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: m.alias, Path: "/api/v2/firewall/alias", Method: "PATCH"})
	id = m.changed(m.text + "2")
	m.Clock.Pass(16 * time.Minute)
	o, err := m.Admin.Observe(ctx, &executorpb.ObserveRequest{ContractId: id})
	m.note("observe", o, err)
	seen, err := artifact.ParseObservation(o.GetArtifact())
	if err != nil {
		t.Fatal(err)
	}
	m.heard.Write(o.GetArtifact())
	m.Clock.Pass(time.Second)
	e, err := m.Admin.SubmitReconciliation(ctx, &executorpb.SubmitReconciliationRequest{Evidence: m.Evidence(seen, artifact.OutcomeNotApplied)})
	m.note("reconcile", e, err)
	m.Clock.Pass(2 * time.Minute)
	// One that drifts, one that nobody previews, and an appliance that says too much.
	m.FW.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Value: m.alias + " " + m.text, Path: "/api/v2/firewall/aliases"})
	ask, err := m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias, Description: m.text + "3", CallerUid: ceremonytest.UID})
	m.note("ask of an appliance that errs", ask, err)
	ask, err = m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias, Description: m.text + "4", CallerUid: ceremonytest.UID})
	m.note("ask", ask, err)
	m.Counter.Set(99)
	m.Tend()
	_, rest := m.everything(t)
	m.heard.WriteString(rest)
	f, err := m.Admin.AnchorFile(ctx, &executorpb.AnchorFileRequest{})
	m.note("anchor file", f, err)
	m.heard.Write(f.GetArtifact())
	x, err := m.Admin.AuditExport(ctx, &executorpb.AuditExportRequest{Since: 1})
	all, err := drain(x, err, (*executorpb.FileChunk).GetData)
	if err != nil {
		t.Fatal(err)
	}
	m.heard.Write(all)
}

func TestT5NoWordOfAWholeLifeStandsAnywhereButWhereItIsNamed(t *testing.T) {
	for range 3 {
		m := newMarked(t)
		m.life()
		_ = m.Stop()
		places := map[string][]byte{"what was heard": m.heard.Bytes(), "the log": []byte(m.log.String()), "the metrics": []byte(m.reg.Text())}
		file := filepath.Join(m.Config.Store.Dir, "store.db")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places["the store's pages"] = raw // the free ones too
		db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		buckets := 0
		_ = db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
				buckets++
				var rows bytes.Buffer
				err := b.ForEach(func(k, v []byte) error {
					rows.Write(k)
					rows.Write(v)
					return nil
				})
				places["the bucket "+string(name)] = rows.Bytes()
				return err
			})
		})
		_ = db.Close()
		if buckets < 12 {
			t.Errorf("%d buckets", buckets)
		}
		for where, what := range places {
			for name, marker := range m.markers {
				if i := bytes.Index(what, []byte(marker)); i >= 0 {
					t.Errorf("%s stands in %s: %q", name, where, what[max(0, i-80):min(len(what), i+80)])
				}
			}
		}
		// It was a whole life: each kind of row is there.
		for _, event := range []string{
			"request_opened", "preview_issued", "authorization_consumed", "contract_created", "contract_confirmed", "anchor_pending", "anchor_advanced", "send_intent",
			"state_transition", "rollback_authorized", "reconciliation_observed", "reconciliation_resolved", "authorization_denied", "quarantine_entered",
		} {
			if !strings.Contains(m.heard.String(), event) {
				t.Errorf("nothing of %s was heard", event)
			}
		}
	}
}

// The words are where they are named: in the list of requests the alias, in the files
// for signers all of it.
func TestT5TheWordsAreWhereTheyAreNamed(t *testing.T) {
	m := newMarked(t)
	ctx := soon(t)
	if _, err := m.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: m.alias, Description: m.text, CallerUid: ceremonytest.UID}); err != nil {
		t.Fatal(err)
	}
	l, err := m.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if s := protojson.Format(l); !strings.Contains(s, m.alias) || strings.Contains(s, m.text) {
		t.Errorf("%s", s)
	}
	f, err := m.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: m.open()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"the alias's name", "its new text", "its former text", "its address", "its detail"} {
		if !bytes.Contains(f.GetArtifact(), []byte(m.markers[name])) {
			t.Errorf("%s is not in the preview", name)
		}
	}
	var backup bytes.Buffer
	if err := m.Y.Backup(&backup); err != nil || bytes.Contains(backup.Bytes(), []byte(m.alias)) {
		t.Errorf("a backup: %v", err)
	}
}
