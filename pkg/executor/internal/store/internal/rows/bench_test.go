package rows

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// still is a clock that stands.
type still struct{ moment.Reading }

func (s still) Read() moment.Reading { return s.Reading }

// BenchmarkAudit adds rows to the chain within one transaction: encoding, MAC, link.
func BenchmarkAudit(b *testing.B) {
	ring, err := vault.New("store-1", vault.RootKey{ID: "k1", Epoch: 1, Material: make([]byte, 32)})
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "store.db"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	now := moment.Reading{Wall: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), BootID: "0123456789abcdef0123456789abcdef", BootMS: 1000}
	db, err := Open(f, Config{Ring: ring, Clock: still{now}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	note := record.Audit{Event: record.Startup, Actor: record.Executord}
	anchor, clock := NewStore("store-1", "0x01500000", "000b"+vault.Hex(make([]byte, 32)), 41, now)
	if err := db.Found(anchor, clock, func(tx *Tx) error { return tx.Audit(note, nil) }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	if err := db.Update(func(tx *Tx) error {
		for b.Loop() {
			if err := tx.Audit(note, nil); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}
