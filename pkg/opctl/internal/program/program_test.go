package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
)

func TestAProgramIsNotLookedForInTheCallersPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"true", "ours-alone"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho intruder\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("PROGRAM_CANARY", "1")
	if out, err := Run(t.Context(), nil, "true"); err != nil || len(out) > 0 {
		t.Errorf("%q %v", out, err)
	}
	if _, err := Run(t.Context(), nil, "ours-alone"); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
	if out, err := Run(t.Context(), nil, "env"); err != nil || strings.Contains(string(out), "CANARY") || strings.Contains(string(out), dir) {
		t.Errorf("%q %v", out, err)
	}
}

func TestAProgramIsBoundedAndItsFailureSaysNothingOfIt(t *testing.T) {
	if out, err := Run(t.Context(), []byte("in"), "cat"); err != nil || string(out) != "in" {
		t.Errorf("%q %v", out, err)
	}
	if _, err := Run(t.Context(), make([]byte, maxOutput+1), "cat"); err == nil {
		t.Error("more than the bound is kept")
	}
	if _, err := Run(t.Context(), nil, "sh", "-c", "echo canary >&2; exit 3"); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
	if _, err := Run(ctx, nil, "sleep", "3600"); err == nil || ctx.Err() == nil {
		t.Errorf("%v", err)
	}
	// Nothing but ctx ends this one.
	ctx, cancel = context.WithCancel(t.Context())
	cmd, err := Command(ctx, "sleep", "3600")
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
}
