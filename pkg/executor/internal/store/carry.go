package store

import (
	"errors"
	"io"
	"os"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/check"
	"pfsensemcp/pkg/executor/internal/store/internal/place"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// Export writes the audit rows from since on (1 for all) as lines of canonical JSON,
// {"mac":…,"record":…}, and as the last line the head that attest signs: a complete
// file of artifact.ExportHead. The head is noted, so that a later export can be
// compared with it.
func (s *Store) Export(w io.Writer, since int64, attest func(*artifact.ExportHead) ([]byte, error)) (h artifact.ExportHead, err error) {
	if err := s.db.View(func(tx *rows.Tx) error {
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		h = artifact.ExportHead{
			StoreID: a.StoreID, Seq: tx.Seq(), Generation: a.Generation, Head: a.AuditHead, AnchorValue: &a.Value, GeneratedAt: tx.Now.Wall,
		}
		return nil
	}); err != nil {
		return h, err
	}
	for next := max(since, 1); next <= h.Seq; {
		lines, after, err := s.lines(next, h.Seq)
		if err != nil {
			return h, err
		}
		if err := write(w, lines); err != nil {
			return h, err
		}
		next = after
	}
	file, err := attest(&h)
	if err != nil {
		return h, err
	}
	if err := write(w, append(file, '\n')); err != nil {
		return h, err
	}
	if s.Integrity() != nil {
		return h, nil // a damaged store is exported as it is, and not written
	}
	return h, s.db.UpdateCopy(func(tx *rows.Tx) error {
		return tx.Put(&record.ExportNote{Seq: h.Seq, Generation: h.Generation, Head: h.Head, At: h.GeneratedAt})
	})
}

// batch is how many rows are read for an export at a time: whoever takes them slowly
// must not keep a read open, on which the end of the process waits.
const batch = 256

// lines returns the lines of rows from next to last, at most batch of them, and where
// to go on. Rows are only ever added, so the reads show one history.
func (s *Store) lines(next, last int64) (lines []byte, after int64, err error) {
	n := 0
	after = last + 1
	err = s.db.View(func(tx *rows.Tx) error {
		return tx.From(record.AuditLog, record.SeqKey(next), func(k, v []byte) (bool, error) {
			row, err := rows.ReadAudit(tx.Ring(), k, v)
			if err != nil || row.Seq > last {
				return false, err
			}
			// Both parts are canonical, and so is the line.
			lines = append(lines, `{"mac":"`+rows.MAC(v)+`","record":`...)
			lines = append(append(lines, rows.Body(v)...), "}\n"...)
			if n++; n == batch {
				after = row.Seq + 1
			}
			return n < batch, nil
		})
	})
	return lines, after, err
}

func write(w io.Writer, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := w.Write(lines); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the export could not be written").WithClass("export")
	}
	return nil
}

// ReadExport reads an export and returns the rows it pins, for Pins. It checks that
// lines are canonical and follow one another; whose they are is the attestation's to
// say, and what they are worth the comparison with the store.
func ReadExport(b []byte) (pins map[int64]string, head *artifact.ExportHead, err error) {
	pins = map[int64]string{}
	last, lastMAC := int64(0), ""
	for len(b) > 0 {
		line := b
		for i, c := range b {
			if c == '\n' {
				line = b[:i]
				break
			}
		}
		b = b[min(len(b), len(line)+1):]
		if head != nil {
			return nil, nil, badExport(nil)
		}
		v, err := canon.DecodeExact(line)
		if err != nil {
			return nil, nil, badExport(err)
		}
		o, _ := v.(canon.Object)
		rec, isRow := o["record"].(canon.Object)
		if !isRow {
			if head, err = artifact.ParseExportHead(line); err != nil {
				return nil, nil, badExport(err)
			}
			continue
		}
		mac, _ := o["mac"].(string)
		seq, _ := rec["seq"].(int64)
		prev, _ := rec["prev"].(string)
		if len(mac) != 64 || len(o) != 2 || seq < 1 || last > 0 && (seq != last+1 || prev != lastMAC) {
			return nil, nil, badExport(nil)
		}
		pins[seq], last, lastMAC = mac, seq, mac
	}
	if head == nil || last > 0 && (head.Seq != last || head.Head != lastMAC) {
		return nil, nil, badExport(nil)
	}
	return pins, head, nil
}

func badExport(cause error) error {
	return errs.Wrap(cause, errs.Invalid, "the file is no whole audit export").WithClass("export").WithNext("export again: mcpctl audit export")
}

// Backup writes a copy of the store as one transaction sees it. The copy is marked:
// put in the store's place it takes nothing but a rebaseline, because it has forgotten
// what came after it.
func (s *Store) Backup(w io.Writer) error {
	if err := s.Integrity(); err != nil {
		return err
	}
	dup, err := s.dup()
	if err != nil {
		return err
	}
	defer func() { _ = dup.Close() }() // only read from
	if _, err := io.Copy(w, dup); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the backup could not be written").WithClass("backup")
	}
	return nil
}

// dup returns a marked copy of the store, which has no name any more. The store stays
// open until it is made; whoever takes it, however slowly, holds up nothing.
func (s *Store) dup() (dup *os.File, err error) {
	s.busy.RLock()
	defer s.busy.RUnlock()
	if s.closed {
		return nil, errs.New(errs.Unavailable, "the store is closed").WithClass("store_read")
	}
	err = s.dir.Scratch(func(f *os.File) error {
		if err := s.db.Copy(f); err != nil {
			_ = f.Close() // the copy is thrown away
			return err
		}
		if dup, err = os.Open("/proc/self/fd/" + fdName(f)); err != nil {
			_ = f.Close() // the copy is thrown away
			return errs.Wrap(err, errs.Unavailable, "the copy cannot be read back").WithClass("store_read")
		}
		db, err := rows.Open(f, rows.Config{Ring: s.db.Ring(), Clock: s.clock})
		if err != nil {
			return err
		}
		err = db.Update(func(tx *rows.Tx) error { return tx.Put(&record.Copy{At: tx.Now.Wall}) })
		if cerr := db.Close(); err == nil {
			err = cerr
		}
		return err
	})
	if err != nil && dup != nil {
		_ = dup.Close() // half a copy
	}
	return dup, err
}

// Rotate replaces the root key. Nothing may be under way. Every row gets a MAC under
// the next key and every sealed member is encrypted again; the audit chain goes on
// under the next key, and the former audit key is kept, sealed, for its own rows. It is
// one transaction: after a crash the store is under one key or the other, and opens
// with that one alone. It returns how many rows were written again.
func (s *Store) Rotate(next Key, by record.Actor) (n int64, err error) {
	ring := s.db.Ring()
	if next.ID == ring.KeyID() || next.Epoch != ring.Epoch()+1 {
		return 0, errs.New(errs.Invalid, "the next root key must have another id and the next epoch").WithClass("configuration")
	}
	if _, used := ring.Olds()[next.ID]; used {
		return 0, errs.New(errs.Invalid, "the id of the next root key was used before").WithClass("configuration")
	}
	fresh, err := vault.New(ring.StoreID(), next)
	if err != nil {
		return 0, err
	}
	if err := s.dir.Space(); err != nil {
		return 0, err
	}
	err = s.db.UpdateRing(fresh, func(tx *rows.Tx) error {
		a, err := tx.Anchor()
		if err != nil {
			return err
		}
		active, err := quota.Active(tx)
		if err != nil {
			return err
		}
		for _, c := range active {
			if c.State.InFlight() || a.Pending != nil {
				return step.Refuse(errs.Conflict, "in_flight", "an attempt is under way")
			}
		}
		return s.rotate(tx, ring, fresh, by, &n)
	})
	return n, err
}

func (s *Store) rotate(tx *rows.Tx, ring, fresh *vault.Ring, by record.Actor, n *int64) error {
	var contracts []*record.Contract
	var err error
	*n, err = tx.Rotate(fresh, func(r record.Record) (err error) {
		again := func(owner, role string, to *record.Sealed) {
			if err == nil {
				*to, err = tx.Reseal(fresh, owner, role, *to)
			}
		}
		switch r := r.(type) {
		case *record.Founding:
			r.KeyID, r.Epoch = fresh.KeyID(), fresh.Epoch()
		case *record.Contract:
			again(r.ContractID, record.RoleIdentity, &r.ProtectedIdentity)
			again(r.ContractID, record.RoleIntent, &r.ProtectedIntent)
			again(r.ContractID, record.RoleSnapshot, &r.ProtectedSnapshot)
			contracts = append(contracts, r)
		case *record.Request:
			if r.ProtectedText != nil {
				again(r.RequestID, record.RoleRequest, r.ProtectedText)
			}
		case *record.Preview:
			again(r.RequestID, record.RolePreview, &r.ProtectedFile)
		case *record.OldKey:
			again(r.KeyID, record.RoleAuditKey, &r.Protected)
		}
		return err
	})
	if err != nil {
		return err
	}
	// From here on the transaction writes under the next key.
	old := record.OldKey{KeyID: ring.KeyID(), Epoch: ring.Epoch(), LastSeq: tx.Seq()}
	if old.Protected, err = tx.Seal(old.KeyID, record.RoleAuditKey, ring.AuditKey()); err != nil {
		return err
	}
	if err := tx.Insert(&old); err != nil {
		return err
	}
	for id, o := range ring.Olds() {
		fresh.AddOld(id, o)
	}
	fresh.AddOld(old.KeyID, vault.Old{Epoch: old.Epoch, LastSeq: old.LastSeq, Key: append([]byte(nil), ring.AuditKey()...)})
	if err := tx.Audit(record.Audit{Event: record.KeyRotated, Actor: by}, nil); err != nil {
		return err
	}
	for _, c := range contracts {
		if err := tx.Audit(step.About(c, record.ArtifactsRotated, record.Executord), c); err != nil {
			return err
		}
	}
	return nil
}

// Pins is what was kept elsewhere and must still be in the chain.
type Pins struct {
	Head string           // of an export or of AuditVerify, hex; "" for none
	Rows map[int64]string // of an export: see ReadExport
}

// VerifyFile verifies a store that no executord has open, without writing to it: the
// command `executord verify`. A finding stands in the report and makes the error one
// of class store_integrity.
func VerifyFile(c Config, p Pins) (Report, error) {
	if err := c.check(); err != nil {
		return Report{}, err
	}
	dir, err := place.Open(c.Dir, c.KeyPaths, c.Seam)
	if err != nil {
		return Report{}, err
	}
	s := &Store{dir: dir, clock: c.Clock, limits: c.Limits, start: c.Clock.Read()}
	err = s.open(c, check.Pin{Head: p.Head, Rows: p.Rows}, true)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return s.report, err
}

// ExitCode is what a verification is for a shell: 0 sound, 2 not what was written, 1
// not looked at.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Class == record.Class {
		return 2
	}
	return 1
}
