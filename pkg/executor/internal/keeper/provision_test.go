package keeper_test

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/anchor/anchortest"
	"pfsensemcp/pkg/executor/internal/keeper"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	"pfsensemcp/pkg/executor/internal/store/storetest"
	"pfsensemcp/pkg/keyfile"
)

const by = record.Actor("operator:0")

// shelf is a TPM with more than one handle, of which none is chosen at first.
type shelf struct {
	*anchortest.Fake
	chosen  uint32
	foreign uint32 // something of somebody else stands here
}

func (s *shelf) Facts(ctx context.Context) (anchor.Facts, error) { return s.At(ctx, s.chosen) }

func (s *shelf) At(ctx context.Context, handle uint32) (anchor.Facts, error) {
	f, err := s.Fake.At(ctx, handle)
	f.Foreign = handle == s.foreign && handle != 0
	return f, err
}

func (s *shelf) Use(index uint32, name string) error {
	if s.chosen != 0 && s.chosen != index {
		return anchor.WrongName("another index is in use")
	}
	s.chosen = index
	if index != anchortest.Index {
		return nil
	}
	return s.Fake.Use(index, name)
}

func config(t *testing.T, counter anchor.Backend) keeper.Config {
	t.Helper()
	return keeper.Config{
		Store: storetest.Config(t, storetest.NewClock()), Authorities: artifacttest.Owners(),
		Attestation: keyfile.Attestation{KeyID: artifacttest.ExecutorID, Key: artifacttest.KeyX()},
		Counter:     counter, Enabled: true, AuthorizationMax: 30 * time.Minute, Charset: "printable",
		Windows: keeper.Windows{Settle: time.Millisecond, Patience: time.Millisecond},
		BuildID: "sha256:" + hex.EncodeToString(make([]byte, 32)),
	}
}

func open(t *testing.T, c keeper.Config) *keeper.Keeper {
	t.Helper()
	k, err := keeper.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(k) })
	return k
}

func shut(k *keeper.Keeper) {
	if s := k.Loaded(); s != nil {
		_ = s.Close()
	}
}

// N5: a person types a handle that is somebody else's, or one at which nothing stands.
// Neither is taken into use, so the right one can be typed next.
func TestN5AWrongHandleIsNotTakenIntoUse(t *testing.T) {
	s := &shelf{Fake: anchortest.NewBlank(), foreign: 0x01500001}
	k := open(t, config(t, s))
	if _, err := k.Provision(t.Context(), by, s.foreign, anchor.Nothing); errs.Public(err).Class != anchor.ClassName {
		t.Errorf("somebody else's handle: %v", err)
	}
	st, err := k.Provision(t.Context(), by, anchortest.Index, anchor.Nothing)
	if err != nil || st.Step != anchor.Defined {
		t.Fatalf("the right one then: %v %v", st.Step, err)
	}
	if _, err := k.Provision(t.Context(), by, 0x01500002, anchor.Defined); err == nil {
		t.Error("a step at another handle than the one before")
	}
	if st, err = k.Provision(t.Context(), by, anchortest.Index, anchor.Defined); err != nil || st.Step != anchor.Read {
		t.Fatalf("the first increment: %v %v", st.Step, err)
	}

	// A new process life, in which the settings name none.
	s.chosen = 0
	again := open(t, config(t, s))
	for what, handle := range map[string]uint32{"somebody else's": s.foreign, "an empty one": 0x01500002} {
		if _, err := again.Seed(t.Context(), by, s.Value(), handle); errs.Public(err).Class != anchor.ClassName {
			t.Errorf("seeding on %s: %v", what, err)
		}
	}
	if st, err = again.Seed(t.Context(), by, s.Value(), anchortest.Index); err != nil || st.Step != anchor.Operational {
		t.Errorf("seeding on the right one: %v %v", st.Step, err)
	}
}

// N5: wherever provisioning was interrupted, a new process goes on from what is there.
func TestN5ProvisioningGoesOnFromEveryStep(t *testing.T) {
	for _, interrupted := range []anchor.State{anchor.Sealed, anchor.Defined, anchor.Read, anchor.Agreed, anchor.Operational} {
		t.Run(interrupted.String(), func(t *testing.T) {
			s := &shelf{Fake: anchortest.NewBlank()}
			c := config(t, s)
			c.Index = anchortest.Index
			steps := 0
			life := func() *keeper.Keeper {
				s.chosen = anchortest.Index // as the settings name it
				return open(t, c)
			}
			k := life()
			for ; steps < 10; steps++ {
				st, err := k.AnchorState(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if st.Step == interrupted {
					shut(k)
					k = life()
					if again, err := k.AnchorState(t.Context()); err != nil || again.Step != st.Step {
						t.Fatalf("after a restart: %v, %v", again.Step, err)
					}
					interrupted = -1
				}
				switch {
				case st.Step == anchor.Operational:
					if !k.Status().Constructible {
						t.Errorf("%+v", k.Status())
					}
					if _, err := k.Seed(t.Context(), by, s.Value(), anchortest.Index); err == nil {
						t.Error("a complete store was seeded again")
					}
					if s.Ticks() != 1 {
						t.Errorf("%d increments", s.Ticks())
					}
					return
				case st.Step < anchor.Read:
					_, err = k.Provision(t.Context(), by, anchortest.Index, st.Step)
				case st.Step == anchor.Read && interrupted == anchor.Agreed:
					// The process ends between the store and its record.
					made, err := store.Create(c.Store, store.Seed{NVIndex: anchor.Hex(anchortest.Index), NVName: anchortest.Name, Value: s.Value()})
					if err != nil {
						t.Fatal(err)
					}
					if err := made.Close(); err != nil {
						t.Fatal(err)
					}
					k = life()
				default:
					_, err = k.Seed(t.Context(), by, s.Value(), anchortest.Index)
				}
				if err != nil {
					t.Fatalf("%s: %v", st.Step, err)
				}
			}
			t.Error("it never ends")
		})
	}
}
