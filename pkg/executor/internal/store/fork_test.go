package store_test

import (
	"testing"

	"go.etcd.io/bbolt"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

func TestT2ARowOfAnotherFutureOfTheSameStoreIsDetected(t *testing.T) {
	// Two continuations of one file: every row of both has a good MAC and its own
	// sequence number.
	f := setup(t)
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	common := f.image()
	live := func(why record.Reason) (rows map[string]row) {
		f.put(common)
		f.S = must[*store.Store](t)(store.Open(f.c))
		for range 3 {
			if err := f.S.Note(record.QuarantineEntered, why); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.S.Close(); err != nil {
			t.Fatal(err)
		}
		rows = map[string]row{}
		for _, r := range f.all() {
			if r.bucket == "audit" {
				rows[string(r.k)] = r
			}
		}
		return rows
	}
	other := live("disk_full")
	mine := live("clock_jump")
	good := f.image()
	n := int64(len(mine))
	for seq := n - 2; seq < n; seq++ {
		f.put(good)
		k := record.SeqKey(seq)
		f.edit(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("audit")).Put(k, other[string(k)].v) })
		if c, bad := f.damaged(); !bad || c != "chain_link" {
			t.Errorf("row %d of the other future: %q", seq, c)
		}
	}
}
