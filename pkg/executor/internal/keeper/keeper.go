package keeper

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
)

// Keeper is one process life's hold on store and counter.
type Keeper struct {
	Config
	runID  string // drawn anew at each start: what was approved before is void
	policy string // policy_digest
	owners string // authority_set_digest

	store      atomic.Pointer[store.Store] // nil until the counter is seeded
	complete   atomic.Bool                 // the provisioning record is there
	settled    atomic.Bool                 // what a former process left has been settled
	quarantine atomic.Pointer[string]
	verifying  chan struct{} // holds a token while no verification runs

	mu     sync.Mutex
	target string // appliance_target_digest as last read
	broken error  // why the process must end
}

// Open verifies the store, compares it with the counter and settles what a former
// process left. Nothing may be served before it returns. A store that is damaged or
// disagrees with the counter opens under quarantine; a configuration that does not fit
// the store's founding is an error.
func Open(ctx context.Context, c Config) (*Keeper, error) {
	run := make([]byte, 16)
	_, _ = rand.Read(run) // it never fails
	k := &Keeper{Config: c, runID: hex.EncodeToString(run), verifying: make(chan struct{}, 1)}
	k.verifying <- struct{}{}
	k.Store.Progress = nil // it is for this start alone: whoever hears it is not there later
	if k.Log == nil {
		k.Log = slog.New(slog.DiscardHandler)
	}
	none := ""
	k.quarantine.Store(&none)
	var err error
	if k.owners, err = c.Authorities.SetDigest(k.AttestingKey()); err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the authorities and the attestation key do not go together").WithClass("authority_overlap").
			WithNext("give every owner and executord a key and an id of its own, in authorities.json")
	}
	if k.policy, err = k.policyDigest(); err != nil {
		return nil, err
	}
	exists, err := store.Exists(c.Store)
	if err != nil || !exists {
		return k, err
	}
	s, err := store.Open(c.Store)
	if err != nil && c.Next != nil {
		// A rotation that was committed, and its credential not yet moved into place.
		rotated := c.Store
		rotated.Key = *c.Next
		if again, err2 := store.Open(rotated); err2 == nil {
			s, err = again, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if c.Store.Progress != nil {
		err = c.Store.Progress("the store is verified; comparing it with the counter")
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err == nil {
		err = k.adopt(ctx, s)
	}
	if err != nil {
		_ = s.Close() // nothing was written
		return nil, err
	}
	return k, nil
}

// startTime bounds what a start asks of the counter: the service manager waits 30 s from
// the last word of progress. What is not settled by then is a quarantine, and settled by the
// first look at which the counter answers.
const startTime = 18 * time.Second

// AttestingKey is the public key that off-host signers pin.
func (k *Keeper) AttestingKey() authority.Key {
	public, _ := k.Attestation.Key.Public().(ed25519.PublicKey)
	return authority.Key{ID: k.Attestation.KeyID, Public: public}
}

// Sign attests a file.
func (k *Keeper) Sign(a artifact.Artifact) ([]byte, error) {
	file, err := artifact.Sign(a, k.Attestation.Key)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "what is to be signed is larger than a file may be, or breaks a rule").WithClass("target_too_large").
			WithNext("change this alias on the appliance itself")
	}
	return file, nil
}

// Wrote ends the process when it is not known whether a commit happened, or when the
// outcome of an attempt could not be stored: only a new start can tell.
func (k *Keeper) Wrote(err error) {
	if errs.CodeOf(err) == errs.UnknownOutcome && errs.Public(err).Class != "anchor_unreachable" && err != nil {
		k.Fail(err)
	}
}

func (k *Keeper) Fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.broken = err
	}
}

func (k *Keeper) Failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken
}

// Current returns the store, or why there is none.
func (k *Keeper) Current() (*store.Store, error) {
	s := k.store.Load()
	if s == nil {
		return nil, errs.New(errs.Unavailable, "the write path has no store yet: its counter is not seeded").WithClass("unprovisioned").
			WithNext("take the next step of provisioning: mcpctl anchor status")
	}
	return s, nil
}

// View runs f over one state of the store.
func (k *Keeper) View(f func(*store.View) error) error {
	s, err := k.Current()
	if err != nil {
		return err
	}
	return s.View(f)
}

// Note tells metrics and the journal what happened: ids and words of closed lists.
func (k *Keeper) Note(e Event) {
	if k.Config.Observe != nil {
		k.Config.Observe(e)
	}
}
