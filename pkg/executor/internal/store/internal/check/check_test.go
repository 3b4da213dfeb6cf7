package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/executor/internal/store/internal/check"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// edit changes rows under the right keys, so that MACs and the sum over all rows are
// good: what is left to find it by is what rows and chain say of one another.
type edit struct {
	what, class string
	do          func(*rows.Tx, record.Contract) error
}

func get[R record.Record](tx *rows.Tx, r R, key string, f func(R)) error {
	r, err := rows.Get(tx, r, []byte(key))
	if err != nil {
		return err
	}
	f(r)
	return tx.Put(r)
}

func gone(tx *rows.Tx, b record.Bucket, key string) error { return tx.Delete(b, []byte(key)) }

// first returns the first key of a bucket.
func first(tx *rows.Tx, b record.Bucket) (key string, err error) {
	return key, tx.Raw(b, nil, func(k, _ []byte) error {
		if key == "" {
			key = string(k)
		}
		return nil
	})
}

func edits() []edit {
	unknown := func(prefix string) string { return change.NewID(prefix) }
	return []edit{
		{"nothing", "", func(*rows.Tx, record.Contract) error { return nil }},
		{"a contract's locator", check.Digest, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Contract{}, c.ContractID, func(r *record.Contract) { r.Locator++ })
		}},
		{"a contract of which the chain knows nothing", check.UnknownRow, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Contract{}, c.ContractID, func(r *record.Contract) { r.ContractID = unknown(change.PrefixContract) })
		}},
		{"no contract", check.MissingRow, func(tx *rows.Tx, c record.Contract) error {
			for _, role := range []string{record.RoleIdentity, record.RoleIntent, record.RoleSnapshot} {
				if err := tx.Unseal(c.ContractID, role); err != nil {
					return err
				}
			}
			return gone(tx, record.Contracts, c.ContractID)
		}},
		{"a result's version", check.Linked, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Result{}, c.ContractID, func(r *record.Result) { r.Version++ })
		}},
		{"a result's state", check.Linked, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Result{}, c.ContractID, func(r *record.Result) { r.State = record.RolledBack })
		}},
		{"no result", check.Linked, func(tx *rows.Tx, c record.Contract) error { return gone(tx, record.Results, c.ContractID) }},
		{"a result of nothing", check.UnknownRow, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Result{}, c.ContractID, func(r *record.Result) { r.ContractID = unknown(change.PrefixContract) })
		}},
		{"a send's clock", check.Digest, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Send{}, c.ContractID, func(r *record.Send) { r.SentBootMS++ })
		}},
		{"no send", check.MissingRow, func(tx *rows.Tx, c record.Contract) error { return gone(tx, record.Sends, c.ContractID) }},
		{"a request's status", check.Linked, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Request{}, c.RequestID, func(r *record.Request) { r.Status = record.Cancelled })
		}},
		{"a request's contract", check.Linked, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Request{}, c.RequestID, func(r *record.Request) { r.ContractID = unknown(change.PrefixContract) })
		}},
		{"a request of which the chain knows nothing", check.UnknownRow, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Request{}, c.RequestID, func(r *record.Request) {
				r.RequestID, r.ProtectedText = unknown(change.PrefixRequest), nil
			})
		}},
		{"no request", check.MissingRow, func(tx *rows.Tx, c record.Contract) error {
			if err := tx.Unseal(c.RequestID, record.RoleRequest); err != nil {
				return err
			}
			return gone(tx, record.Requests, c.RequestID)
		}},
		{"a preview's number", check.Linked, func(tx *rows.Tx, c record.Contract) error {
			return get(tx, &record.Preview{}, c.RequestID, func(r *record.Preview) { r.Seq++ })
		}},
		{"a text that no row owns", check.Sealed, func(tx *rows.Tx, _ record.Contract) error {
			_, err := tx.Seal(unknown(change.PrefixRequest), record.RoleRequest, []byte("x"))
			return err
		}},
		{"no text", check.Sealed, func(tx *rows.Tx, c record.Contract) error { return tx.Unseal(c.RequestID, record.RoleRequest) }},
		{"another text", check.Sealed, func(tx *rows.Tx, c record.Contract) error {
			_, err := tx.Seal(c.RequestID, record.RoleRequest, []byte("x"))
			return err
		}},
		{"when an artifact was used", check.Digest, func(tx *rows.Tx, _ record.Contract) error {
			key, err := first(tx, record.Consumed)
			if err != nil {
				return err
			}
			return get(tx, &record.Use{}, key, func(r *record.Use) { r.AuthorityID += "x" })
		}},
		{"an artifact that was not used", check.MissingRow, func(tx *rows.Tx, _ record.Contract) error {
			key, err := first(tx, record.Consumed)
			if err != nil {
				return err
			}
			return gone(tx, record.Consumed, key)
		}},
		{"a target that is held", check.Reservation, func(tx *rows.Tx, c record.Contract) error {
			return tx.Put(&record.Reservation{TargetIdentity: c.TargetIdentity, ContractID: c.ContractID})
		}},
		{"an increment that is due", check.Pending, func(tx *rows.Tx, c record.Contract) error {
			a, err := tx.Anchor()
			if err == nil {
				a.Pending = &record.Pending{From: a.Value, To: a.Value + 1, ContractID: c.ContractID, Version: c.Version, Purpose: record.Forward}
			}
			return err
		}},
	}
}

func TestT2RowsThatContradictTheChainAreFoundAlthoughMACsAndSumAreGood(t *testing.T) {
	clock := storetest.NewClock()
	conf := storetest.Config(t, clock)
	p := &storetest.Play{T: t, Clock: clock, Witness: storetest.Seed().Value}
	p.S = storetest.Create(t, conf)
	c, err := p.Verified("web_servers", "text")
	if err == nil {
		err = p.S.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(conf.Dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits() {
		t.Run(strings.ReplaceAll(e.what, " ", "_"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			if err := os.WriteFile(path, sound, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			ring, err := vault.New(conf.StoreID, conf.Key)
			if err != nil {
				t.Fatal(err)
			}
			db, err := rows.Open(f, rows.Config{Ring: ring, Clock: clock, Seam: storetest.Unsynced()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.Update(func(tx *rows.Tx) error { return e.do(tx, c) }); err != nil {
				t.Fatal(err)
			}
			class := ""
			if err := db.View(func(tx *rows.Tx) error {
				r, err := check.Run(tx, check.Pin{}, nil)
				if r.Finding != nil {
					class = r.Finding.Class
					return nil
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if class != e.class {
				t.Errorf("found %q, not %q", class, e.class)
			}
		})
	}
}
