package keeper

import (
	"context"
	"io"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store"
)

// Verify verifies the whole store as it is now. Whoever asks while it is verified waits.
func (k *Keeper) Verify(ctx context.Context, pinned string) (store.Report, error) {
	if pinned != "" && !change.Hex64(pinned) {
		return store.Report{}, errs.New(errs.Invalid, "a pinned head is 64 hex digits").WithClass("request_validation")
	}
	s, err := k.Current()
	if err != nil {
		return store.Report{}, err
	}
	select {
	case <-k.verifying:
		defer func() { k.verifying <- struct{}{} }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // of two that can go on, a select takes either
		return store.Report{}, errs.Wrap(err, errs.Expired, "the store is being verified for somebody else").WithClass("busy").WithNext("ask again in a minute")
	}
	return s.Verify(pinned)
}

// Export writes the audit rows from since on, and the attested head.
func (k *Keeper) Export(w io.Writer, since int64) error {
	s, err := k.Current()
	if err != nil {
		return err
	}
	_, err = s.Export(w, since, func(h *artifact.ExportHead) ([]byte, error) {
		h.KeyID = k.Attestation.KeyID
		return k.Sign(h)
	})
	k.Wrote(err)
	return err
}

// Backup writes a copy of the store, which is not restorable without a rebaseline.
func (k *Keeper) Backup(w io.Writer) error {
	s, err := k.Current()
	if err != nil {
		return err
	}
	return s.Backup(w)
}
