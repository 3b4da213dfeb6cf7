// Package check owns the verification of a whole store: every row, the whole audit
// chain, and what the two say about one another.
//
// The store alone imports it, and runs it before anything is served and whenever an
// operator asks. It must never write or repair anything, and reports a class and a
// sequence number, never a value.
//
// The attacks it stops: a store that was edited by somebody who can write the file
// and has no key: changed, swapped, removed and older rows, a cut or spliced chain,
// another store's rows, and a contract moved to a state that the chain does not
// lead to.
package check

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/store/internal/rows"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// The classes of a finding.
const (
	Pages       = "pages"       // the file's structure
	Buckets     = "buckets"     // a bucket is missing or unknown
	Identity    = "identity"    // another store, key or schema
	Row         = "row"         // MAC, form or key of a row
	RowSet      = "row_set"     // a row is missing, doubled, or an older version of itself
	ChainGap    = "chain_gap"   // a sequence number is missing
	ChainLink   = "chain_link"  // a row does not follow the one before it
	ChainRow    = "chain_row"   // MAC or form of an audit row
	ChainHead   = "chain_head"  // the last row is not the anchor's
	ChainKey    = "chain_key"   // a change of keys where none was
	Version     = "version"     // versions of a contract are not contiguous
	Transition  = "transition"  // a step that no rule allows
	Digest      = "digest"      // a row is not the one that the chain recorded last
	MissingRow  = "missing_row" // a row that the chain recorded is gone
	UnknownRow  = "unknown_row" // a row that the chain never recorded
	Reservation = "reservation" // reservations and states disagree
	Pending     = "pending"     // the pending increment has no attempt
	Sealed      = "sealed"      // a sealed member is missing, changed or nobody's
	Linked      = "linked"      // rows of one change contradict one another
	Pinned      = "pinned_head" // a head kept elsewhere is not in the chain
)

// Finding is the first thing that is wrong.
type Finding struct {
	Class string
	Seq   int64 // of the audit row to blame, 0 when none is
}

// Error names class and row.
func (f *Finding) Error() string {
	if f.Seq > 0 {
		return fmt.Sprintf("%s at audit row %d", f.Class, f.Seq)
	}
	return f.Class
}

func bad(class string, seq int64) error { return &Finding{class, seq} }

// Report is what a verification saw.
type Report struct {
	StoreID, KeyID string
	Epoch          int64
	Audit          int64 // rows of the chain
	Head           string
	Generation     int64
	AnchorValue    int64
	Pending        bool
	Provisioned    bool
	Restored       bool // the file is a backup: nothing but a rebaseline is taken
	Contracts      int
	Rows           int64 // outside the chain
	Fallback       bool  // one of the file's two roots is unreadable
	Finding        *Finding
}

// Pin is something of the chain that was kept elsewhere: a head, or whole rows.
type Pin struct {
	Head string           // hex of a MAC; "" for none
	Rows map[int64]string // MACs by sequence number
}

type checker struct {
	tx        *rows.Tx
	saw       func() error
	report    Report
	anchor    *record.Anchor
	contracts map[name]*seen
	requests  map[name]*asked
	uses      map[digest]bool // of consumed rows
	prov      string
	sum       *big.Int
	holds     map[digest]name // reservations: target to contract
	words     map[string]string
	sealed    int64 // members that rows own
	unsealed  bool  // one of them is not there, or is not the one
	strays    int   // rows of results, requests and previews of which the chain knows nothing
}

// Run verifies. A finding stands in the report and is the error; any other error
// says that the store could not be read. Saw, if not nil, is called for each row, and ends
// the verification with its error.
func Run(tx *rows.Tx, pin Pin, saw func() error) (Report, error) {
	c := &checker{
		tx: tx, saw: saw, contracts: map[name]*seen{}, requests: map[name]*asked{}, uses: map[digest]bool{}, sum: new(big.Int),
		holds: map[digest]name{}, words: map[string]string{},
	}
	for _, step := range []func() error{
		c.identity, func() error { return c.chain(pin) }, c.rows, c.members, c.set, c.contractRows, c.requestRows,
	} {
		if err := step(); err != nil {
			if f, ok := errors.AsType[*Finding](err); ok {
				c.report.Finding = f
				return c.report, f
			}
			return c.report, err
		}
	}
	return c.report, nil
}

// identity is step 1: this store, this key, this schema.
func (c *checker) identity() error {
	f, err := c.tx.Founding()
	if err != nil {
		return bad(Identity, 0)
	}
	r := c.tx.Ring()
	if c.anchor, err = c.tx.Anchor(); err != nil {
		return bad(Row, 0)
	}
	if f.StoreID != r.StoreID() || f.KeyID != r.KeyID() || f.Epoch != r.Epoch() || c.anchor.StoreID != f.StoreID {
		return bad(Identity, 0)
	}
	c.report = Report{
		StoreID: f.StoreID, KeyID: f.KeyID, Epoch: f.Epoch, Head: c.anchor.AuditHead, Generation: c.anchor.Generation,
		AnchorValue: c.anchor.Value, Pending: c.anchor.Pending != nil, Fallback: c.report.Fallback,
	}
	return nil
}

// chain is step 3, and collects what step 4 and 5 compare.
func (c *checker) chain(pin Pin) error {
	prev, seq, key, epoch := canon.AuditGenesis(c.report.StoreID), int64(0), "", int64(0)
	pinned := pin.Head == "" || pin.Head == prev
	ring := c.tx.Ring()
	epochOf := func(id string) int64 {
		if id == ring.KeyID() {
			return ring.Epoch()
		}
		return ring.Olds()[id].Epoch
	}
	err := c.each(record.AuditLog, func(k, v []byte) error {
		seq++
		if !bytes.Equal(k, record.SeqKey(seq)) {
			return bad(ChainGap, seq)
		}
		a, err := rows.ReadAudit(ring, k, v)
		if err != nil {
			return bad(ChainRow, seq)
		}
		if a.Prev != prev {
			return bad(ChainLink, seq)
		}
		if a.KeyID != key {
			// Keys change at the row that says so, by one epoch.
			if e := epochOf(a.KeyID); key != "" && (a.Event != record.KeyRotated || e != epoch+1) {
				return bad(ChainKey, seq)
			} else {
				key, epoch = a.KeyID, e
			}
		}
		prev = rows.MAC(v)
		pinned = pinned || prev == pin.Head
		if want, ok := pin.Rows[seq]; ok && want != prev {
			return bad(Pinned, seq)
		}
		delete(pin.Rows, seq)
		return c.follow(a)
	})
	c.report.Audit = seq
	switch {
	case err != nil:
		return err
	case prev != c.anchor.AuditHead:
		return bad(ChainHead, seq)
	case seq > 0 && key != ring.KeyID():
		return bad(ChainKey, seq)
	case !pinned || len(pin.Rows) > 0:
		return bad(Pinned, 0)
	}
	return nil
}

// each runs f over the rows of a bucket.
func (c *checker) each(b record.Bucket, f func(k, v []byte) error) error {
	return c.tx.Raw(b, nil, func(k, v []byte) error {
		if c.saw != nil {
			if err := c.saw(); err != nil {
				return err
			}
		}
		return f(k, v)
	})
}

// follow is step 5: each step of a contract and request is legal.
func (c *checker) follow(a *record.Audit) error {
	switch a.Event.Covers() {
	case record.Contracts:
		return c.step(a)
	case record.Sends:
		s := c.contract(a.ContractID)
		if s == nil {
			return bad(Transition, a.Seq)
		}
		s.send, s.sent = digestOf(a.RecordDigest), a.RecordDigest != ""
	case record.Consumed:
		d := digestOf(a.RecordDigest)
		if c.uses[d] {
			return bad(Transition, a.Seq)
		}
		c.uses[d] = true
	case record.Anchors:
		c.prov = a.RecordDigest
	case record.Requests:
		return c.ask(a)
	}
	return nil
}

// contract returns what is known of a contract, nil for nothing.
func (c *checker) contract(id string) *seen {
	n, ok := nameOf(id)
	if !ok {
		return nil
	}
	return c.contracts[n]
}

// request returns what is known of a request, nil for nothing.
func (c *checker) request(id string) *asked {
	n, ok := nameOf(id)
	if !ok {
		return nil
	}
	return c.requests[n]
}

func (c *checker) step(a *record.Audit) error {
	s, r := c.contract(a.ContractID), c.request(a.RequestID)
	id, named := nameOf(a.ContractID)
	request, _ := nameOf(a.RequestID)
	from, to := record.State(c.word(a.From)), record.State(c.word(a.To))
	if (a.Event == record.ContractCreated) != (s == nil) || a.Version == nil || !named || r == nil {
		return bad(Transition, a.Seq)
	}
	if s == nil {
		s = &seen{request: request, version: -1}
		c.contracts[id] = s
		if r.status != string(record.Open) {
			return bad(Transition, a.Seq)
		}
		r.status = string(record.Authorized)
	}
	if from != s.state || request != s.request {
		return bad(Transition, a.Seq)
	}
	moved := int64(1)
	switch {
	case a.Event == record.ContractConfirmed:
		if from != record.Prepared || to != record.Prepared || s.version != 0 {
			return bad(Transition, a.Seq)
		}
	case a.Event == record.ReconcileResolved && from == record.RollbackFailed && to == from:
		moved, s.released = 0, true
	case a.Event == record.SendIntent || a.Event == record.ArtifactsRotated:
		if moved = 0; to != from || a.Event == record.SendIntent && !from.InFlight() {
			return bad(Transition, a.Seq)
		}
	case !record.Legal(from, to):
		return bad(Transition, a.Seq)
	}
	if *a.Version != s.version+moved {
		return bad(Version, a.Seq)
	}
	if to == record.Expired {
		// The request opens again; when it has itself expired, its own row follows.
		if r.status == string(record.Authorized) {
			r.status = string(record.Open)
		}
	}
	s.state, s.version, s.digest = to, *a.Version, digestOf(a.RecordDigest)
	return nil
}

func (c *checker) ask(a *record.Audit) error {
	r := c.request(a.RequestID)
	id, named := nameOf(a.RequestID)
	switch {
	case a.Event == record.RequestOpened && r == nil && named:
		c.requests[id] = &asked{status: string(record.Open)}
	case r == nil || a.Event == record.RequestOpened:
		return bad(Transition, a.Seq)
	case a.Event == record.PreviewIssued:
		if r.previews++; r.status != string(record.Open) {
			return bad(Transition, a.Seq)
		}
	case a.Event == record.RequestConcluded:
		if a.From != r.status || !record.Status(a.From).Live() || record.Status(a.To).Live() {
			return bad(Transition, a.Seq)
		}
		r.status = c.word(a.To)
	}
	return nil
}

// rows is step 2: MAC, form and key of every row outside the chain.
func (c *checker) rows() error {
	for _, b := range record.Buckets() {
		if b == record.AuditLog || b == record.SealedBytes {
			continue
		}
		if err := c.each(b, func(k, v []byte) error {
			r := record.Blank(b, string(k))
			if r == nil || rows.Read(c.tx.Ring(), r, k, v) != nil {
				return bad(Row, 0)
			}
			if b == record.Anchors && string(k) == record.AnchorKey || b == record.Meta && string(k) == record.RowsKey {
				return nil
			}
			if err := c.add(b, k, v); err != nil {
				return err
			}
			return c.take(r, record.RawDigest(b, rows.Body(v)))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) add(b record.Bucket, k, v []byte) error {
	t, err := rows.Term(c.tx.Ring(), b, k, v)
	if err != nil {
		return err
	}
	c.sum.Add(c.sum, t)
	c.report.Rows++
	return nil
}

// take compares a row with what the chain says, or keeps it for later. Is is its
// digest.
func (c *checker) take(r record.Record, is string) error {
	same := func(want digest) error {
		if is := digestOf(is); is != want {
			return bad(Digest, 0)
		}
		return nil
	}
	switch r := r.(type) {
	case *record.Contract:
		s := c.contract(r.ContractID)
		if s == nil {
			return bad(UnknownRow, 0)
		}
		s.known, s.target = true, digestOf(r.TargetIdentity)
		s.unlike = s.unlike || r.State != s.state || r.Version != s.version
		c.report.Contracts++
		c.owns(r.ContractID, record.RoleIdentity, r.ProtectedIdentity)
		c.owns(r.ContractID, record.RoleIntent, r.ProtectedIntent)
		c.owns(r.ContractID, record.RoleSnapshot, r.ProtectedSnapshot)
		return same(s.digest)
	case *record.Send:
		s := c.contract(r.ContractID)
		if s == nil || !s.sent {
			return bad(UnknownRow, 0)
		}
		s.sent = false
		return same(s.send)
	case *record.Use:
		d := digestOf(is)
		if !c.uses[d] {
			return bad(Digest, 0)
		}
		delete(c.uses, d)
	case *record.Provisioning:
		c.report.Provisioned = true
		want := c.prov
		c.prov = ""
		return same(digestOf(want))
	case *record.Copy:
		c.report.Restored = true
	case *record.Request:
		if r.ProtectedText != nil {
			c.owns(r.RequestID, record.RoleRequest, *r.ProtectedText)
		}
		a := c.request(r.RequestID)
		if a == nil {
			c.strays++
			return nil
		}
		a.known = true
		a.unlike = a.unlike || string(r.Status) != a.status || r.PreviewSeq != a.previews
		if r.ContractID != "" {
			id, _ := nameOf(r.RequestID)
			s := c.contract(r.ContractID)
			a.unlike = a.unlike || s == nil || s.request != id
		}
	case *record.Preview:
		c.owns(r.RequestID, record.RolePreview, r.ProtectedFile)
		a := c.request(r.RequestID)
		if a == nil {
			c.strays++
			return nil
		}
		a.unlike = a.unlike || r.Seq != a.previews
	case *record.OldKey:
		c.owns(r.KeyID, record.RoleAuditKey, r.Protected)
	case *record.Reservation:
		id, _ := nameOf(r.ContractID)
		c.holds[digestOf(r.TargetIdentity)] = id
	case *record.Result:
		s := c.contract(r.ContractID)
		if s == nil {
			c.strays++
			return nil
		}
		s.told = true
		s.unlike = s.unlike || r.State != s.state || r.Version != s.version || r.Released != s.released
	}
	return nil
}

// owns holds a sealed member against the row that owns it. What is wrong is said when
// all rows were met.
func (c *checker) owns(owner, role string, s record.Sealed) {
	c.sealed++
	b := c.tx.Sealed(owner, role)
	c.unsealed = c.unsealed || b == nil || s.Size != int64(len(b)) || s.Hash != canon.Hash(b)
}

// members says whether the sealed members are those that rows own: each has one owner,
// whose id is in its key.
func (c *checker) members() error {
	n := int64(0)
	err := c.each(record.SealedBytes, func(k, v []byte) error {
		n++
		return c.add(record.SealedBytes, k, v)
	})
	if err == nil && (c.unsealed || n != c.sealed) {
		err = bad(Sealed, 0)
	}
	return err
}

// set compares the rows that are there with the sum of all that should be.
func (c *checker) set() error {
	want, err := rows.Get(c.tx, &record.Rows{}, []byte(record.RowsKey))
	if err != nil {
		return bad(Row, 0)
	}
	c.sum.Mod(c.sum, new(big.Int).Lsh(big.NewInt(1), 256))
	if want.Generation != c.anchor.Generation || want.Count != c.report.Rows || want.Sum != hex.EncodeToString(c.sum.FillBytes(make([]byte, 32))) {
		return bad(RowSet, 0)
	}
	return nil
}

// contractRows is the rest of step 4, and step 6.
func (c *checker) contractRows() error {
	if len(c.uses) > 0 || c.prov != "" {
		return bad(MissingRow, 0)
	}
	for id, s := range c.contracts {
		if !s.known || s.sent {
			return bad(MissingRow, 0)
		}
		if s.unlike || !s.told {
			return bad(Linked, 0)
		}
		is, held := c.holds[s.target]
		holder := held && is == id
		if holder != (s.state.Reserves() && !s.released) {
			return bad(Reservation, 0)
		}
		if holder {
			delete(c.holds, s.target)
		}
	}
	if len(c.holds) > 0 {
		return bad(Reservation, 0)
	}
	if c.strays > 0 {
		return bad(UnknownRow, 0)
	}
	if p := c.anchor.Pending; p != nil {
		s := c.contract(p.ContractID)
		if s == nil || s.version != p.Version || (p.Purpose == record.Forward) != (s.state == record.Executing) || !s.state.InFlight() {
			return bad(Pending, 0)
		}
	}
	return nil
}

// requestRows compares requests and previews with the chain.
func (c *checker) requestRows() error {
	for _, a := range c.requests {
		if !a.known {
			return bad(MissingRow, 0)
		}
		if a.unlike {
			return bad(Linked, 0)
		}
	}
	return nil
}

// Error makes a finding the error that others see.
func Error(f *Finding) *errs.Error { return rows.Damaged(f, f.Error()) }
