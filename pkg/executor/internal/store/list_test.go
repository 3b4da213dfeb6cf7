package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
)

// wishes opens and ends so many requests, two a second.
func (f *fix) wishes(n int) {
	f.t.Helper()
	for i := range n {
		r := must[record.Request](f.t)(f.S.OpenRequest(store.NewRequest{AliasName: fmt.Sprintf("a%d", i), Description: "x", By: storetest.By}))
		if err := f.S.CancelRequest(r.RequestID, record.Cancelled, storetest.By); err != nil {
			f.t.Fatal(err)
		}
		f.Clock.Pass(time.Duration(i%2) * time.Second)
	}
}

func TestAPageIsThatPartOfTheWholeList(t *testing.T) {
	f := setup(t)
	f.wishes(23)
	for range 3 {
		if err := f.S.View(func(v *store.View) error {
			all, err := v.Requests(store.RequestFilter{})
			if err != nil {
				return err
			}
			ids := func(rs []*record.Request) (out []string) {
				for _, r := range rs {
					out = append(out, r.RequestID)
				}
				return out
			}
			for _, x := range [][2]int{{0, 5}, {5, 5}, {20, 5}, {23, 5}, {99, 5}, {0, 23}, {0, 0}} {
				some, total, err := v.RequestPage(store.RequestFilter{}, x[0], x[1])
				want := all[min(x[0], len(all)):min(x[0]+x[1], len(all))]
				if err != nil || total != 23 || !slices.Equal(ids(some), ids(want)) {
					t.Errorf("%d from %d on: %d of %d, %v", x[1], x[0], len(some), total, err)
				}
			}
			if !slices.IsSortedFunc(all, func(a, b *record.Request) int { return b.OpenedAt.Compare(a.OpenedAt) }) {
				t.Error("the newest is not the first")
			}
			_, total, err := v.RequestPage(store.RequestFilter{Statuses: []record.Status{record.Open}}, 0, 5)
			if total != 0 {
				t.Errorf("%d are open", total)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
