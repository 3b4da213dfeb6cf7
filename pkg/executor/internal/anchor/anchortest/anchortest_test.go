package anchortest

import (
	"context"
	"errors"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
)

func class(err error) string {
	e, _ := errors.AsType[*errs.Error](err)
	if e == nil {
		return ""
	}
	return e.Class
}

func TestAScriptedFaultHappensOnceAndSaysWhatItIs(t *testing.T) {
	ctx := context.Background()
	for _, row := range []struct {
		fault Fault
		class string
		value int64
	}{
		{Works, "", 8},
		{Unavailable, anchor.ClassUnavailable, 7},
		{Refused, anchor.ClassRefused, 7},
		{WrongName, anchor.ClassName, 7},
		{Lockout, anchor.ClassLockout, 7},
		{Lost, anchor.ClassUnreachable, 7},
		{Happened, anchor.ClassUnreachable, 8},
		{Pending, anchor.ClassUnreachable, 7},
		{Twice, anchor.ClassConflict, 9},
	} {
		f := New(7)
		f.OnAdvance(row.fault)
		_, err := f.Advance(ctx, 7)
		if class(err) != row.class || f.Value() != row.value {
			t.Errorf("fault %d: class %q, value %d", row.fault, class(err), f.Value())
		}
		if row.fault == Pending {
			if f.Land(); f.Value() != 8 {
				t.Error("a pending increment did not land")
			}
		}
		if _, err := f.Advance(ctx, f.Value()); err != nil {
			t.Errorf("fault %d stayed: %v", row.fault, err)
		}
	}
}

func TestABlankTPMIsProvisionedStepByStep(t *testing.T) {
	ctx, f := context.Background(), NewBlank()
	if _, err := f.First(ctx, Index); class(err) != anchor.ClassName {
		t.Fatalf("first without define: %v", err)
	}
	if err := f.Define(ctx, Index); err != nil {
		t.Fatal(err)
	}
	if err := f.Define(ctx, Index); err == nil {
		t.Fatal("defined twice")
	}
	v, err := f.First(ctx, Index)
	if err != nil || v != 1 {
		t.Fatal(v, err)
	}
	if again, err := f.First(ctx, Index); err != nil || again != v || f.Ticks() != 1 {
		t.Fatal("a second first increments again", again, err)
	}
}
