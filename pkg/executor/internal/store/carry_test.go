package store_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// attest signs heads as the executor does.
func attest(t testing.TB) func(*artifact.ExportHead) ([]byte, error) {
	return func(h *artifact.ExportHead) ([]byte, error) {
		h.KeyID = artifacttest.ExecutorID
		return artifact.Sign(h, artifacttest.KeyX())
	}
}

func TestT6VerifyTellsSoundFromDamagedFromNotLookedAt(t *testing.T) {
	f := full(t)
	good := f.image()
	r, err := store.VerifyFile(f.c, store.Pins{})
	if store.ExitCode(err) != 0 || r.Audit < 20 || r.Contracts != 3 || r.AnchorValue != 43 || !r.Provisioned || r.Epoch != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if !bytes.Equal(f.image(), good) {
		t.Error("verifying wrote to the file")
	}
	f.edit(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("audit"))
		v := bytes.Clone(b.Get(record.SeqKey(7)))
		v[40] ^= 1
		return b.Put(record.SeqKey(7), v)
	})
	r, err = store.VerifyFile(f.c, store.Pins{})
	if store.ExitCode(err) != 2 || r.Finding == nil || r.Finding.Seq != 7 || !strings.HasPrefix(r.Finding.Class, "chain_") {
		t.Errorf("%+v, %v", r.Finding, err)
	}
	if strings.Contains(err.Error(), "web") || strings.Contains(err.Error(), f.c.Dir) {
		t.Errorf("the finding quotes something: %v", err)
	}
	f.put(good[:len(good)/2])
	if _, err := store.VerifyFile(f.c, store.Pins{}); store.ExitCode(err) != 2 {
		t.Errorf("a cut file: %v", err)
	}
	f.put(good)
	if err := os.Chmod(f.file(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.VerifyFile(f.c, store.Pins{}); store.ExitCode(err) != 1 {
		t.Errorf("a file that others can read: %v", err)
	}
}

func TestADamagedStoreIsReadAndExportedAndNeverWritten(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("cooldowns")).Put([]byte("x"), []byte("y")) })
	before := f.image()
	f.S = must[*store.Store](t)(store.Open(f.c))
	if class(f.S.Integrity()) != record.Class {
		t.Fatal("the damage is not seen")
	}
	for name, do := range map[string]func() error{
		"confirm": func() error { _, err := f.Confirm(c); return err },
		"restart": func() error { _, err := f.S.Restart(f.Witness); return err },
		"rebase": func() error {
			a, file := f.Rebaseline(artifact.ReasonRestored)
			return f.S.Rebaseline(file, a, f.Witness, storetest.By)
		},
		"rotate": func() error { _, err := f.S.Rotate(storetest.Root(2), storetest.By); return err },
		"note":   func() error { return f.S.Note(record.Startup, "") },
		"backup": func() error { return f.S.Backup(&bytes.Buffer{}) },
	} {
		if class(do()) != record.Class {
			t.Errorf("%s was not refused", name)
		}
	}
	var out bytes.Buffer
	if _, err := f.S.Export(&out, 1, attest(t)); err != nil || out.Len() == 0 {
		t.Errorf("%v", err)
	}
	if got, _ := f.contract(c.ContractID); got.State != record.Prepared {
		t.Errorf("%s", got.State)
	}
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.image(), before) {
		t.Error("a damaged store was written to")
	}
}

func TestDamageThatAppearsLaterIsMetByTheNextReadAndStopsAllWrites(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	// Behind the open store's back, in place: the row's first byte.
	b := f.image()
	at := bytes.Index(b, []byte(`"contract_id":"`+c.ContractID+`","created_at"`))
	if at < 0 {
		t.Fatal("the row is not found")
	}
	file := must[*os.File](t)(os.OpenFile(f.file(), os.O_RDWR, 0))
	if _, err := file.WriteAt([]byte("X"), int64(at+20)); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if err := f.S.View(func(v *store.View) error { _, _, err := v.Contract(c.ContractID); return err }); class(err) != record.Class {
		t.Fatalf("the changed row was read: %v", err)
	}
	if err := f.S.Note(record.Startup, ""); class(err) != record.Class {
		t.Errorf("a write went on: %v", err)
	}
}

func TestT8AHeadKeptElsewhereShowsThatRowsWereCutOff(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Authorize("one", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	old := f.image()
	f.S = must[*store.Store](t)(store.Open(f.c))
	must[record.Contract](t)(f.Confirm(c))
	var out bytes.Buffer
	h := must[artifact.ExportHead](t)(f.S.Export(&out, 1, attest(t)))
	pins, parsed, err := store.ReadExport(out.Bytes())
	if err != nil || len(pins) != int(h.Seq) || parsed.Head != h.Head {
		t.Fatalf("%d rows, %v", len(pins), err)
	}
	if err := authority.VerifyAttestation(parsed, artifacttest.Executor()); err != nil {
		t.Error(err)
	}
	must[record.Contract](t)(f.S.FailPrepared(func() record.At { c, _ := f.contract(c.ContractID); return c.At() }(), record.ReasonOperatorCancel, storetest.By))
	if _, err := f.S.Verify(h.Head); err != nil {
		t.Errorf("the head is in the chain: %v", err)
	}
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	verify := func(what string, p store.Pins, exit int) {
		t.Helper()
		r, err := store.VerifyFile(f.c, p)
		if store.ExitCode(err) != exit || exit == 2 && (r.Finding == nil || r.Finding.Class != "pinned_head") {
			t.Errorf("%s: %v, %+v", what, err, r.Finding)
		}
	}
	verify("sound", store.Pins{Head: h.Head, Rows: pins}, 0)
	verify("a head of nobody", store.Pins{Head: strings.Repeat("a", 64)}, 2)
	f.put(old) // an earlier file of this store, consistent in itself
	pins, _, _ = store.ReadExport(out.Bytes())
	verify("cut, no pin", store.Pins{}, 0)
	verify("cut, head", store.Pins{Head: h.Head}, 2)
	verify("cut, rows", store.Pins{Rows: pins}, 2)
	for what, change := range map[string]func(string) string{
		"a line is missing": func(s string) string {
			i := strings.Index(s, "\n")
			j := strings.Index(s[i+1:], "\n")
			return s[:i+1] + s[i+1+j+1:]
		},
		"the head is missing": func(s string) string { return s[:strings.LastIndex(strings.TrimSpace(s), "\n")+1] },
		"the last row is gone": func(s string) string {
			l := strings.SplitAfter(s, "\n")
			return strings.Join(append(l[:len(l)-3:len(l)-3], l[len(l)-2:]...), "")
		},
		"a row is not its own": func(s string) string { return strings.Replace(s, `"mac":"`, `"mac": "`, 1) },
		"something follows it": func(s string) string { return s + "{}\n" },
	} {
		if _, _, err := store.ReadExport([]byte(change(out.String()))); class(err) != "export" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// From a row on.
	f.S = must[*store.Store](t)(store.Open(f.c))
	out.Reset()
	must[artifact.ExportHead](t)(f.S.Export(&out, 3, attest(t)))
	if pins, _, err := store.ReadExport(out.Bytes()); err != nil || len(pins) == 0 || pins[1] != "" || pins[3] == "" {
		t.Errorf("%v, %v", pins, err)
	}
	f.view(func(v *store.View) error { n, err := v.LastExport(); _ = n; return err })
}

func FuzzReadExport(f *testing.F) {
	f.Add([]byte(`{"mac":"` + strings.Repeat("a", 64) + `","record":{"prev":"x","seq":1}}` + "\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = store.ReadExport(b) })
}

func TestT5NoNameOrTextStandsOutsideOfSealedMembersNorInAnyExport(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := setup(t)
		alias := "Zq" + rapid.StringMatching(`[A-Za-z0-9_]{8,20}`).Draw(rt, "alias") + "Qz"
		text := "Marker" + rapid.StringMatching(`[A-Za-z0-9 .]{8,60}`).Draw(rt, "text") + "end"
		before := "Old text"
		c, err := f.Sent(alias, text)
		if err != nil {
			rt.Fatal(err)
		}
		if c, err = f.S.Settle(c.At(), record.Reconciliation, record.ReasonAmbiguousSend, store.Exchange{}); err != nil {
			rt.Fatal(err)
		}
		if _, err := f.Observe(c, artifact.MatchPre); err != nil {
			rt.Fatal(err)
		}
		// What a denied file claims does not get into the audit either.
		if _, err := f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: storetest.By, Reason: "g1_request", RequestID: alias, ContractID: text}); err != nil {
			rt.Fatal(err)
		}
		if _, err := f.S.Deny(store.Denial{Event: record.AuthorizationDenied, By: storetest.By, Reason: record.Reason(alias)}); err == nil {
			rt.Error("a reason of no list was written")
		}
		var out bytes.Buffer
		if _, err := f.S.Export(&out, 1, attest(t)); err != nil {
			rt.Fatal(err)
		}
		if err := f.S.Close(); err != nil {
			rt.Fatal(err)
		}
		for what, b := range map[string][]byte{"file": f.image(), "export": out.Bytes()} {
			for _, m := range []string{alias, text, before, "192.0.2.10", "fw-edge"} {
				if bytes.Contains(b, []byte(m)) {
					rt.Errorf("the %s holds %q", what, m)
				}
			}
		}
	})
}

func TestRetentionRemovesTextsAndPreviewsAndNothingElse(t *testing.T) {
	f := setup(t)
	c := must[record.Contract](t)(f.Verified("one", "new"))
	r := f.request(c.RequestID)
	f.Clock.Pass(24*60*60*1e9 - 1e9)
	if w := must[store.Swept](t)(f.S.Sweep()); len(w.Texts) != 0 {
		t.Errorf("too early: %+v", w)
	}
	f.Clock.Pass(1e9)
	if w := must[store.Swept](t)(f.S.Sweep()); len(w.Texts) != 1 {
		t.Fatalf("%+v", w)
	}
	if w := must[store.Swept](t)(f.S.Sweep()); len(w.Texts) != 0 {
		t.Errorf("twice: %+v", w)
	}
	f.sound()
	f.view(func(v *store.View) error {
		q, err := v.Request(r.RequestID)
		if err != nil {
			return err
		}
		if _, _, err := v.Text(q); class(err) != "not_found" {
			t.Errorf("the text is there: %v", err)
		}
		if _, _, _, err := v.Preview(r.RequestID); class(err) != "not_found" {
			t.Errorf("the preview is there: %v", err)
		}
		if n, err := v.Newest(r.RequestKey); err != nil || n.RequestID != r.RequestID {
			t.Errorf("the request is not found by its key: %v", err)
		}
		if !v.Consumed(c.Provenance.AuthorizationID) {
			t.Error("the authorization is forgotten")
		}
		_, err = v.Intent(&c) // a rollback may still need it
		return err
	})
	f.reopen()
}

func TestSealedMembersAreBoundToTheirPlace(t *testing.T) {
	// Two contracts with sealed members of the same length, swapped with their hashes
	// left alone, or a request's text under a contract's role.
	f := setup(t)
	must[record.Contract](t)(f.Authorize("one", "new"))
	must[record.Contract](t)(f.Authorize("two", "new"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	good := f.image()
	var sealed []row
	for _, r := range f.all() {
		if r.bucket == "sealed" {
			sealed = append(sealed, r)
			for _, secret := range []string{"one", "new"} {
				if bytes.Contains(r.v, []byte(`"`+secret+`"`)) {
					t.Errorf("%s is not sealed", r.k)
				}
			}
		}
	}
	for i, a := range sealed {
		b := sealed[(i+1)%len(sealed)]
		f.put(good)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("sealed")).Put(a.k, b.v) })
		if c, bad := f.damaged(); !bad || c != "sealed" {
			t.Errorf("%s: %q", a.k, c)
		}
	}
}
