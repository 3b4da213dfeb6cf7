package store

import (
	"cmp"
	"strconv"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/attempts"
	"pfsensemcp/pkg/executor/internal/store/internal/moment"
	"pfsensemcp/pkg/executor/internal/store/internal/quota"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/internal/settling"
	"pfsensemcp/pkg/executor/internal/store/internal/step"
	"pfsensemcp/pkg/executor/internal/store/record"
)

func fdName(f interface{ Fd() uintptr }) string { return strconv.Itoa(int(f.Fd())) }

// View is one state of the store, for reading. It dies with the function it was
// handed to. What a method does not find is NotFound.
type View struct {
	tx *rows.Tx
	s  *Store
}

// View runs f over one state of the store. It never waits for a write, and a write
// does not change what it sees.
func (s *Store) View(f func(*View) error) error {
	return s.db.View(func(tx *rows.Tx) error { return f(&View{tx, s}) })
}

// Now returns the clocks as of the view.
func (v *View) Now() Reading { return v.tx.Now }

// Clock says what the clocks show against what the store remembers.
func (v *View) Clock() (ClockFinding, error) {
	c, err := v.tx.Clock()
	if err != nil {
		return "", err
	}
	return moment.Judge(v.tx.Now, *c), nil
}

// Founding returns which store this is, with the floor under every signature.
func (v *View) Founding() (*record.Founding, error) { return v.tx.Founding() }

// Anchor returns the stored counter with the head of the chain.
func (v *View) Anchor() (*record.Anchor, error) { return v.tx.Anchor() }

// Provisioning returns the provisioning record.
func (v *View) Provisioning() (*record.Provisioning, error) {
	return rows.Get(v.tx, &record.Provisioning{}, []byte(record.ProvisioningKey))
}

// Restored says whether the store is a backup that waits for its rebaseline.
func (v *View) Restored() bool { return v.tx.Has(record.Meta, []byte(record.CopyKey)) }

// Request returns a request.
func (v *View) Request(id string) (*record.Request, error) {
	return rows.Get(v.tx, &record.Request{}, []byte(id))
}

// Text returns a request's alias name and description. After retention it is
// NotFound.
func (v *View) Text(r *record.Request) (alias, description string, err error) {
	if r.ProtectedText == nil {
		return "", "", errs.New(errs.NotFound, "the text of the request was removed").WithClass("not_found")
	}
	b, err := v.tx.Open(r.RequestID, record.RoleRequest, *r.ProtectedText)
	if err != nil {
		return "", "", err
	}
	d, err := canon.DecodeExact(b)
	if err != nil {
		return "", "", rows.Damaged(err, "a sealed text breaks a rule")
	}
	o, _ := d.(canon.Object)
	alias, _ = o["alias_name"].(string)
	description, _ = o["description"].(string)
	return alias, description, nil
}

// Newest returns the newest request with a request key: one that is live before any
// other.
func (v *View) Newest(requestKey string) (found *record.Request, err error) {
	err = rows.Each(v.tx, nil, []byte(requestKey), func(r *record.Request) (bool, error) {
		if r.RequestKey == requestKey && (found == nil || newer(r, found) > 0) {
			found = r
		}
		return true, nil
	})
	if err == nil && found == nil {
		err = errs.New(errs.NotFound, "there is no such request").WithClass("not_found")
	}
	return found, err
}

func newer(a, b *record.Request) int {
	if a.Status.Live() != b.Status.Live() {
		if a.Status.Live() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), a.ConcludedAt.Compare(b.ConcludedAt), cmp.Compare(a.RequestID, b.RequestID))
}

// Preview returns the latest preview of a request, the attested file, and its row.
func (v *View) Preview(request string) (*artifact.Preview, []byte, *record.Preview, error) {
	p, err := rows.Get(v.tx, &record.Preview{}, []byte(request))
	if err != nil {
		return nil, nil, nil, err
	}
	file, err := v.tx.Open(request, record.RolePreview, p.ProtectedFile)
	if err != nil {
		return nil, nil, nil, err
	}
	a, err := artifact.ParsePreview(file)
	if err != nil {
		return nil, nil, nil, rows.Damaged(err, "a stored preview breaks a rule")
	}
	return a, file, p, nil
}

// Contract returns a contract with its latest result.
func (v *View) Contract(id string) (*record.Contract, *record.Result, error) {
	c, err := rows.Get(v.tx, &record.Contract{}, []byte(id))
	if err != nil {
		return nil, nil, err
	}
	r, err := rows.Get(v.tx, &record.Result{}, []byte(id))
	return c, r, err
}

// Active returns the contracts that hold a target, which are all that are not
// settled.
func (v *View) Active() ([]*record.Contract, error) { return quota.Active(v.tx) }

// Holder returns the id of the contract that holds a target.
func (v *View) Holder(target string) (string, error) {
	r, err := rows.Get(v.tx, &record.Reservation{}, []byte(target))
	if err != nil {
		return "", err
	}
	return r.ContractID, nil
}

// Intent opens the prepared change that a contract seals and holds it against the
// contract's digests.
func (v *View) Intent(c *record.Contract) (*change.Intent, error) { return step.Unseal(v.tx, c) }

// Send returns what is known of a contract's latest attempt.
func (v *View) Send(contract string) (*record.Send, error) {
	return rows.Get(v.tx, &record.Send{}, []byte(contract))
}

// LooksDue returns the sends whose look is due by now.
func (v *View) LooksDue() (all []*record.Send, err error) {
	waiting, err := v.tx.LooksDue()
	for _, s := range waiting {
		if !v.tx.Now.Wall.Before(s.LookDueAt) {
			all = append(all, s)
		}
	}
	return all, err
}

// LastVerified returns the newest send after which two reads proved how things stood,
// forward or back, by which a pending change of the appliance is known to be ours: each
// send was made when nothing was pending but ours.
func (v *View) LastVerified() (found *record.Send, err error) {
	found, err = v.tx.Newest()
	if err == nil && found == nil {
		err = errs.New(errs.NotFound, "no change was proven yet").WithClass("not_found")
	}
	return found, err
}

// Ours returns the digest of all aliases as LastVerified proved them, "" when nothing was
// proven yet. A pending change under which all aliases have it is ours.
func (v *View) Ours() (all string, err error) {
	s, err := v.LastVerified()
	if errs.CodeOf(err) == errs.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.All, nil
}

// Sightings returns the observations of a contract, oldest first.
func (v *View) Sightings(contract string) (all []*record.Sighting, err error) {
	err = rows.Each(v.tx, []byte(contract+"/"), nil, func(r *record.Sighting) (bool, error) {
		all = append(all, r)
		return true, nil
	})
	return all, err
}

// Signed returns the accepted files of a role for a contract ("" for the store
// itself).
func (v *View) Signed(contract string, role canon.Role) (all [][]byte, err error) {
	err = rows.Each(v.tx, record.SignedPrefix(contract, string(role)), nil, func(r *record.SignedFile) (bool, error) {
		all = append(all, r.File)
		return true, nil
	})
	return all, err
}

// Consumed says whether a signed artifact was used: an authorization's id, or kind,
// colon, and nonce or digest. A row that cannot be read counts.
func (v *View) Consumed(id string) bool { return v.tx.Has(record.Consumed, []byte(id)) }

// CooldownUntil returns until when a target takes no new contract; the zero time
// when it does now.
func (v *View) CooldownUntil(target string) (time.Time, error) {
	d, err := step.Cooldown(v.tx, target)
	if err != nil || !v.tx.Now.Wall.Before(d.Until) {
		return time.Time{}, err
	}
	return d.Until, nil
}

// MayBegin says whether anything new may be begun now; a refusal's class is its
// reason: in_flight, lockout or landing_window.
func (v *View) MayBegin() error { return v.s.limits.Begin(v.tx, v.s.start) }

// MayPrepare says whether a target may take a contract now; a refusal's class is its
// reason: reserved, rate_prepared, cooldown or rate_sends.
func (v *View) MayPrepare(target string) error {
	if err := attempts.Room(v.tx, v.s.limits, target); err != nil {
		return err
	}
	return v.s.limits.MaySend(v.tx)
}

// MayUndo says whether a verified contract may be rolled back now; a refusal's class
// is its reason: b_window, b_later or rate_sends.
func (v *View) MayUndo(c *record.Contract) error {
	if err := settling.Undoable(v.tx, v.s.limits, c); err != nil {
		return err
	}
	return v.s.limits.MaySend(v.tx)
}

// Landed says whether, when an observation was made, an earlier write of its contract
// could no longer land.
func (v *View) Landed(c *record.Contract, o *record.Sighting) (bool, error) {
	return settling.Landed(v.tx, v.s.limits, v.s.start, c, o)
}

// Landing returns for how long a write without an answer may still land.
func (v *View) Landing() (time.Duration, error) { return v.s.limits.Landing(v.tx, v.s.start) }

// Forgotten returns how long a write of a contract may still land of which the store
// knows nothing.
func (v *View) Forgotten(c *record.Contract) time.Duration {
	return v.s.limits.Forgotten(v.tx.Now, v.s.start, c)
}

// SinceSend returns how long ago a contract's latest attempt was sent, by the clock
// that cannot be set.
func (v *View) SinceSend(s *record.Send) time.Duration {
	return moment.Since(v.tx.Now, v.s.start, s.SentAt, s.BootID, s.SentBootMS)
}

// AuditRow returns one row of the chain with its MAC.
func (v *View) AuditRow(seq int64) (*record.Audit, []byte, error) { return v.tx.AuditRow(seq) }

// LastExport returns the newest head that was given out.
func (v *View) LastExport() (last *record.ExportNote, err error) {
	err = rows.Each(v.tx, nil, nil, func(n *record.ExportNote) (bool, error) {
		last = n
		return true, nil
	})
	if err == nil && last == nil {
		err = errs.New(errs.NotFound, "no head was exported yet").WithClass("not_found")
	}
	return last, err
}
