package ceremony_test

import (
	"context"
	"testing"

	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/ceremony/ceremonytest"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// A caller can leave at any time, and the step goes on. What the step makes must not be
// written where the caller reads: it could take a refusal for nothing wrong.
func TestACallerWhoLeavesSharesNothingWithTheStepThatGoesOn(t *testing.T) {
	var hold chan struct{} // nil: nothing waits
	inside := make(chan struct{}, 1)
	m := during(t, ceremonytest.Options{Config: func(c *ceremony.Config) {
		c.Store.Seam = storetest.Faults(func(p string) error {
			if wait := hold; wait != nil && (p == "put contracts" || p == "put requests") {
				hold = nil
				inside <- struct{}{}
				<-wait
			}
			return nil
		})
	}})
	// leave has the caller leave while the step is inside the store.
	leave := func(what string, call func(context.Context) (bool, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		wait := make(chan struct{})
		hold = wait
		go func() {
			<-inside
			cancel()
			close(wait) // in no order with what the caller does now
		}()
		if something, err := call(ctx); something || class(err) != "busy" {
			t.Errorf("%s: something %v, %v", what, something, err)
		}
		m.Wait()
	}
	_, id := m.Ask(text)
	leave("a preview", func(ctx context.Context) (bool, error) {
		b, err := m.Y.Preview(ctx, ceremonytest.By, id)
		return b != nil, err
	})
	file := m.Authorization(m.Preview(id))
	leave("an authorization", func(ctx context.Context) (bool, error) {
		k, err := m.Y.Authorize(ctx, ceremonytest.By, file)
		return k != record.Contract{}, err
	})
	var k *record.Contract
	m.View(func(v *store.View) (err error) {
		all, err := v.Active()
		if err == nil && len(all) == 1 {
			k = all[0]
		}
		return err
	})
	if k == nil || k.State != record.Prepared {
		t.Fatalf("the step did not go on: %v", k)
	}
	leave("a confirmation", func(ctx context.Context) (bool, error) {
		k, err := m.Y.Confirm(ctx, ceremonytest.By, m.Confirmation(*k))
		return k != record.Contract{}, err
	})
	if done, _ := m.Contract(k.ContractID); !done.Confirmed() || done.State == record.Prepared {
		t.Errorf("the attempt did not go on: %s", done.State)
	}
}
