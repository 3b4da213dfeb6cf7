package record

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/canon"
)

// golden returns the vectors of the write path.
func golden(t testing.TB) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../../../canon/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		all[name] = strings.TrimSpace(value)
	}
	return all
}

func number(n int64) *int64 { return &n }

// example returns the contract of the vectors, prepared.
func example(t testing.TB) *Contract {
	t.Helper()
	in := artifacttest.Intent()
	d, err := in.Digests(7)
	if err != nil {
		t.Fatal(err)
	}
	s := Sealed{KeyID: "k1", Hash: strings.Repeat("a", 64), Size: 100}
	return &Contract{
		ContractID: artifacttest.ContractID, OperationID: artifacttest.OperationID, RequestID: artifacttest.RequestID,
		TargetIdentity: d.TargetIdentity, TargetFingerprint: d.TargetFingerprint, Intent: d.Intent, Snapshot: d.Snapshot,
		Collection: golden(t)["collection_digest(others)"], Locator: 7, CreatedAt: artifacttest.At("09:28:10"), ExpiresAt: artifacttest.At("09:41:53"),
		State: Prepared, Boundary: BoundaryNone,
		Provenance: Provenance{
			AuthorizationID: "authz-9d2c41f07be64a3fa1c5d8e2b7064f13", AuthorityID: "owner-authz-1", Plan: golden(t)["plan_digest schema 2"],
			ExecutionIntent: d.ExecutionIntent, IssuedAt: artifacttest.At("09:26:53"), ExpiresAt: artifacttest.At("09:41:53"), Appliance: in.Appliance,
		},
		ProtectedIdentity: s, ProtectedIntent: s, ProtectedSnapshot: s,
	}
}

// examples returns one good row of each kind.
func examples(t testing.TB) []Record {
	t.Helper()
	hex, boot, at := strings.Repeat("5", 64), strings.Repeat("0", 32), artifacttest.At("09:28:10")
	c, sealed := example(t), Sealed{KeyID: "k1", Hash: hex, Size: 9}
	return []Record{
		c,
		&Request{RequestID: artifacttest.RequestID, RequestKey: hex, TargetIdentity: hex, Origin: artifact.OriginMCP, AskedBy: number(1001), OpenedAt: at, ExpiresAt: at.Add(time.Hour), Status: Open, ProtectedText: &sealed},
		&Preview{RequestID: artifacttest.RequestID, Seq: 1, ExecutionIntent: hex, Plan: hex, Locator: 7, GeneratedAt: at, ProtectedFile: sealed},
		&Use{ID: "confirmation:" + boot, AuthorityID: "owner-confirm-1", At: at, ContractID: c.ContractID, ExpiresAt: at},
		&Reservation{hex, c.ContractID},
		&Cooldown{TargetIdentity: hex, Attempted: c.ContractID, Until: at},
		&Sighting{ContractID: c.ContractID, N: 1, Digest: hex, Version: 3, Match: artifact.MatchPre, ObservedAt: at, BootID: boot, BootMS: 5},
		&Audit{Seq: 1, Prev: hex, StoreID: "s", At: at, Event: ContractCreated, Actor: MCP(1001), ContractID: c.ContractID, To: "prepared", Version: number(0), RecordDigest: hex, KeyID: "k1"},
		&Anchor{StoreID: "s", NVIndex: "0x01500000", NVName: artifacttest.NVIndexName, Value: 41, Generation: 2, AuditHead: hex, Pending: &Pending{41, 42, c.ContractID, 2, Forward}},
		&Provisioning{Handle: "0x01500000", VerifiedValue: 41, ProvisionedAt: at, NVName: artifacttest.NVIndexName, Manufacturer: "IFX", Assurance: AssuranceHardware},
		&Founding{StoreID: "s", KeyID: "k1", Epoch: 1, CreatedAt: at, Floor: at},
		&Clock{HighTime: at, Wall: at, BootID: boot, BootMS: 7},
		&Rows{Generation: 1, Count: 2, Sum: hex},
		&Copy{At: at},
		&Rate{ID: "rate/requests/mcp:1001", Hits: []time.Time{at, at}},
		&OldKey{KeyID: "k0", Epoch: 1, LastSeq: 9, Protected: sealed},
		&Send{ContractID: c.ContractID, Purpose: Forward, BootID: boot, SentAt: at, SentBootMS: 7, ExchangeMS: number(0), LookDueAt: at, Look: LookDue},
		&Result{ContractID: c.ContractID, Version: 3, State: RollbackFailed, Reason: ReasonInterrupted, At: at, VerifiedAt: at, Released: true, Evidence: hex},
		&SignedFile{ContractID: c.ContractID, Role: "confirmation", Hash: hex, File: []byte("{}")},
		&ExportNote{Seq: 3, Generation: 7, Head: hex, At: at},
	}
}

func TestE1RowsReproduceTheGoldenMACs(t *testing.T) {
	want, root := golden(t), make([]byte, 32)
	for i := range root {
		root[i] = byte(i)
	}
	check := func(name string, l canon.Label, label string, store bool, r Record, drop ...string) {
		t.Helper()
		o, _, err := Encode(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, d := range drop {
			delete(o, d)
		}
		b, err := canon.Encode(o)
		if err != nil {
			t.Fatal(err)
		}
		k, err := canon.Derive(root, l)
		if err != nil {
			t.Fatal(err)
		}
		parts := [][]byte{b}
		if store {
			parts = [][]byte{[]byte(artifacttest.StoreID), b}
		}
		mac, err := canon.MAC(k, label, parts...)
		if err != nil || canonHex(mac) != want[name] {
			t.Errorf("%s: MAC %s, want %s\n%s", name, canonHex(mac), want[name], b)
		}
	}
	c := example(t)
	check("contract mac (no artifacts)", canon.KeyRecord, "contract", true, c, "protected_target_identity", "protected_intent", "protected_snapshot")
	check("consumption mac", canon.KeyConsumption, "consumption", true, &Use{
		ID: c.Provenance.AuthorizationID, AuthorityID: "owner-authz-1", At: artifacttest.At("09:28:10"), ContractID: c.ContractID, ExpiresAt: c.ExpiresAt,
	})
	a := &Anchor{StoreID: artifacttest.StoreID, NVIndex: "0x01500000", NVName: artifacttest.NVIndexName, Value: 41, Generation: 212, AuditHead: strings.Repeat("7", 64)}
	check("anchor mac (steady)", canon.KeyAnchor, "anchor", false, a)
	a.Pending = &Pending{41, 42, c.ContractID, 2, Forward}
	check("anchor mac (pending)", canon.KeyAnchor, "anchor", false, a)
	prev := want["audit genesis"]
	for i, row := range []Audit{
		{At: artifacttest.At("09:28:10"), Event: ContractCreated, To: "prepared"},
		{At: artifacttest.At("09:31:40"), Event: ContractConfirmed, From: "prepared", To: "prepared"},
		{At: artifacttest.At("09:31:41"), Event: StateTransition, From: "prepared", To: "executing"},
	} {
		row.Seq, row.Prev, row.StoreID, row.Actor, row.KeyID = int64(i+1), prev, artifacttest.StoreID, Executord, "k1"
		row.RequestID, row.ContractID, row.OperationID = c.RequestID, c.ContractID, c.OperationID
		row.TargetIdentity, row.Intent, row.Version = c.TargetIdentity, c.Intent, number(int64(i))
		row.AnchorValue, row.RecordDigest = 41, strings.Repeat("5", 64)
		name := "audit seq " + string(rune('1'+i)) + " mac"
		check(name, canon.KeyAudit, "audit", false, &row)
		prev = want[name]
	}
}

func canonHex(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func TestEveryRowReadsAsItWasWritten(t *testing.T) {
	kinds := map[Bucket]bool{}
	for _, r := range examples(t) {
		_, b, err := Encode(r)
		if err != nil {
			t.Fatalf("%T: %v", r, err)
		}
		again := Blank(r.Bucket(), string(r.Key()))
		if reflect.TypeOf(again) != reflect.TypeOf(r) {
			t.Fatalf("%T: the key %q is one of %T", r, r.Key(), again)
		}
		if err := Decode(b, again); err != nil {
			t.Fatalf("%T: %v", r, err)
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Errorf("%T came back changed:\n%s", r, d)
		}
		kinds[r.Bucket()] = true
	}
	for _, b := range Buckets() {
		if !kinds[b] && b != SealedBytes {
			t.Errorf("%s has no example", b)
		}
	}
}

func TestT3AnUnknownMissingOrMistypedMemberIsRefusedInEveryRow(t *testing.T) {
	for _, r := range examples(t) {
		o, _, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, change func(canon.Object)) {
			t.Helper()
			bad := canon.Object{}
			for k, v := range o {
				bad[k] = v
			}
			change(bad)
			b, err := canon.Encode(bad)
			if err != nil {
				t.Fatal(err)
			}
			if Decode(b, Blank(r.Bucket(), string(r.Key()))) == nil {
				t.Errorf("%T takes %s", r, what)
			}
		}
		try("an unknown member", func(o canon.Object) { o["unknown"] = nil })
		for k := range o {
			try("a row without "+k, func(o canon.Object) { delete(o, k) })
			try("another type for "+k, func(o canon.Object) { o[k] = canon.Object{"x": int64(1)} })
			try("a text that is none for "+k, func(o canon.Object) { o[k] = "web servers" })
		}
		if _, ok := o["schema_version"]; ok {
			try("another schema", func(o canon.Object) { o["schema_version"] = int64(9) })
		}
	}
}

func TestS1EveryPairOfStatesIsLegalExactlyAsTheTableSays(t *testing.T) {
	legal := map[string]bool{}
	for _, s := range []string{
		">prepared", "prepared>executing", "prepared>failed", "prepared>expired", "prepared>reconciliation",
		"executing>verified", "executing>failed", "executing>reconciliation", "verified>rolling_back",
		"rolling_back>rolled_back", "rolling_back>rollback_failed", "rolling_back>reconciliation",
		"reconciliation>verified", "reconciliation>failed", "reconciliation>rolled_back", "reconciliation>rollback_failed",
	} {
		legal[s] = true
	}
	n := 0
	for _, from := range append(States(), "", "preparing") {
		for _, to := range append(States(), "", "preparing") {
			if Legal(from, to) != legal[string(from)+">"+string(to)] {
				t.Errorf("%s>%s: %v", from, to, Legal(from, to))
			}
			n++
		}
	}
	if n != 121 {
		t.Errorf("%d pairs were tried", n)
	}
}

func TestAContractOfTwoMixedOnesIsNotRead(t *testing.T) {
	for what, change := range map[string]func(*Contract){
		"confirmed without a time":         func(c *Contract) { c.Confirmation, c.Version = strings.Repeat("b", 64), 1 },
		"confirmed at version 0":           func(c *Contract) { c.Confirmation, c.ConfirmedAt = strings.Repeat("b", 64), c.CreatedAt },
		"executing without confirmation":   func(c *Contract) { c.State, c.Version = Executing, 2 },
		"verified without a fingerprint":   func(c *Contract) { c.State, c.Version = Verified, 3 },
		"prepared with a fingerprint":      func(c *Contract) { c.VerifiedFingerprint = strings.Repeat("b", 64) },
		"an origin outside reconciliation": func(c *Contract) { c.Origin = Executing },
		"reconciliation without an origin": func(c *Contract) { c.State, c.Version = Reconciliation, 3 },
		"longer than its authorization":    func(c *Contract) { c.ExpiresAt = c.ExpiresAt.Add(time.Second) },
		"sent before execution":            func(c *Contract) { c.Boundary = BoundaryIntent },
		"prepared at version 2":            func(c *Contract) { c.Version = 2 },
	} {
		c := example(t)
		change(c)
		if _, _, err := Encode(c); err == nil {
			t.Errorf("%s is written", what)
		}
	}
	// A row that was written cannot be mixed with another: the key is recomputed.
	o, _, err := Encode(example(t))
	if err != nil {
		t.Fatal(err)
	}
	o["target_fingerprint"] = strings.Repeat("b", 64)
	b, err := canon.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	if Decode(b, &Contract{}) == nil {
		t.Error("a row with another's fingerprint is read")
	}
}

func TestTheDigestOfARowIsTheRecordDigest(t *testing.T) {
	for _, r := range examples(t) {
		o, _, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		want, err := canon.RecordDigest(string(r.Bucket()), o)
		if got, gerr := Digest(r); err != nil || gerr != nil || got != want {
			t.Errorf("%T: %s, want %s", r, got, want)
		}
	}
}

func TestEveryEventIsEitherAboutARowOrPlain(t *testing.T) {
	for _, e := range plain {
		if e.Covers() != "" {
			t.Errorf("%s is both", e)
		}
	}
	if Event("made_up").known() || Reason("web_servers").Known() || actor("mcp:01") || actor("executord:1") || actor("web_servers") {
		t.Error("a word outside of a closed list is taken")
	}
}

// FuzzDecode: no bytes make a decoder panic, and what it takes it writes again.
func FuzzDecode(f *testing.F) {
	for i, r := range examples(f) {
		_, b, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, b)
	}
	kinds := examples(f)
	f.Fuzz(func(t *testing.T, kind int, b []byte) {
		like := kinds[uint(kind)%uint(len(kinds))]
		r := Blank(like.Bucket(), string(like.Key()))
		if Decode(b, r) != nil {
			return
		}
		_, again, err := Encode(r)
		if err != nil {
			t.Fatalf("%T was read and cannot be written: %v", r, err)
		}
		r2 := Blank(like.Bucket(), string(like.Key()))
		if err := Decode(again, r2); err != nil {
			t.Fatal(err)
		}
		if _, third, err := Encode(r2); err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%T is not stable", r)
		}
	})
}
