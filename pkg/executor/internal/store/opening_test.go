package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/internal/pages"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
)

func TestAnOpeningTellsHowFarItIsAndEndsWhenItIsAskedTo(t *testing.T) {
	f := setup(t)
	must[any](t)(f.Verified("web_servers", "text"))
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	var told []string
	f.c.Progress = func(text string) error { told = append(told, text); return nil }
	f.S = must[*store.Store](t)(store.Open(f.c))
	for i, of := range []string{" pages", " rows"} {
		if len(told) <= i || !strings.HasPrefix(told[i], "verifying the store: ") || !strings.HasSuffix(told[i], of) {
			t.Fatalf("told %q", told)
		}
	}
	// Its rows are as many as the two lists and the two that stand for themselves.
	r := f.S.Report()
	if err := f.S.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.c.Dir, "store.db")
	b := must[[]byte](t)(os.ReadFile(path))
	found := must[pages.Found](t)(pages.Check(strings.NewReader(string(b)), int64(len(b)), rows.PageSize, nil))
	if found.Rows != r.Audit+r.Rows+2 {
		t.Errorf("%d rows, of which %d in the chain and %d others were verified", found.Rows, r.Audit, r.Rows)
	}

	stop := errors.New("stop")
	for _, at := range []string{" pages", " rows"} {
		f.c.Progress = func(text string) error {
			if strings.HasSuffix(text, at) {
				return stop
			}
			return nil
		}
		if s, err := store.Open(f.c); s != nil || !errors.Is(err, stop) {
			t.Errorf("ended at the first of its%s: %v", at, err)
		}
	}
	f.c.Progress = nil
	f.S = must[*store.Store](t)(store.Open(f.c))
	if again := must[[]byte](t)(os.ReadFile(path)); string(again) != string(b) {
		t.Error("an opening that was ended changed the file")
	}
	f.sound()
}
