package anchortest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/test/swtpm"
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

// TestTheFakeAnswersAsATPMDoes takes both through one life, step by step.
func TestTheFakeAnswersAsATPMDoes(t *testing.T) {
	ctx, tpm := context.Background(), swtpm.New(t)
	real, err := anchor.OpenTPM(anchor.TPMConfig{Address: tpm.Address(), Index: Index, Auth: []byte(strings.Repeat("s3cr", 8))})
	if err != nil {
		t.Fatal(err)
	}
	life := func(c interface {
		anchor.Backend
		anchor.Planner
	},
	) (out []string) {
		var value int64
		say := func(what string, v int64, err error) {
			out = append(out, fmt.Sprintf("%s: %+d %q %v", what, v-value, class(err), errs.CodeOf(err)))
		}
		facts := func() {
			f, err := c.Facts(ctx)
			out = append(out, fmt.Sprint(f.Index, f.Defined, f.Foreign, f.Written, f.Lockout, f.Name != "", f.Manufacturer != "", len(f.EKDigest), err))
		}
		facts()
		_, err := c.First(ctx, Index)
		say("first without define", value, err)
		say("define another", value, c.Define(ctx, Index+1))
		say("define", value, c.Define(ctx, Index))
		say("define again", value, c.Define(ctx, Index))
		facts()
		_, err = c.Read(ctx)
		say("read without a value", value, err)
		value, err = c.First(ctx, Index)
		say("first", value, err)
		v, err := c.First(ctx, Index)
		say("first again", v, err)
		facts()
		say("use", value, c.Use(Index, ""))
		say("use another", value, c.Use(Index+1, ""))
		say("use another name", value, c.Use(Index, "000b"+strings.Repeat("00", 32)))
		for _, expected := range []int64{value, value, value + 1, value + 1} {
			v, err := c.Advance(ctx, expected)
			if err != nil {
				v = value
			}
			say("advance", v, err)
		}
		v, err = c.Read(ctx)
		say("read", v, err)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err = c.Read(gone)
		say("read given up", value, err)
		_, err = c.Advance(gone, value+2)
		say("advance given up", value, err)
		say("close", value, c.Close())
		_, err = c.Read(ctx)
		say("read closed", value, err)
		return out
	}
	if d := cmp.Diff(life(real), life(NewBlank())); d != "" {
		t.Error(d)
	}
}
