// Package check owns the verification of a whole store: every row, the whole audit
// chain, and what the two say about one another.
//
// The store runs it before anything is served and whenever an operator asks. It
// writes nothing, repairs nothing, and reports a class and a sequence number, never
// a value.
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

// seen is what the chain says of one contract.
type seen struct {
	state    record.State
	version  int64
	digest   string // of the contract's row
	send     string // of its row of sends
	request  string
	released bool
	known    bool // its row was met
}

// asked is what the chain says of one request.
type asked struct {
	status   string
	previews int64
}

type checker struct {
	tx        *rows.Tx
	report    Report
	anchor    *record.Anchor
	contracts map[string]*seen
	requests  map[string]*asked
	uses      map[string]bool // digests of consumed rows
	prov      string
	olds      map[string]record.OldKey
	sum       *big.Int
	sealed    map[string]record.Sealed // what rows say of sealed members
	holds     map[string]string        // reservations: target to contract
	states    map[string]*record.Contract
	results   map[string]record.Result
	live      map[string]record.Request
	seqs      map[string]int64 // preview_seq of the previews' rows
}

// Run verifies. A finding stands in the report and is the error; any other error
// says that the store could not be read.
func Run(tx *rows.Tx, pin Pin) (Report, error) {
	c := &checker{
		tx: tx, contracts: map[string]*seen{}, requests: map[string]*asked{}, uses: map[string]bool{}, olds: map[string]record.OldKey{},
		sum: new(big.Int), sealed: map[string]record.Sealed{}, holds: map[string]string{}, states: map[string]*record.Contract{},
		results: map[string]record.Result{}, live: map[string]record.Request{}, seqs: map[string]int64{},
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
	err := c.tx.Raw(record.AuditLog, nil, func(k, v []byte) error {
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

// follow is step 5: each step of a contract and request is legal.
func (c *checker) follow(a *record.Audit) error {
	switch a.Event.Covers() {
	case record.Contracts:
		return c.step(a)
	case record.Sends:
		s := c.contracts[a.ContractID]
		if s == nil {
			return bad(Transition, a.Seq)
		}
		s.send = a.RecordDigest
	case record.Consumed:
		if c.uses[a.RecordDigest] {
			return bad(Transition, a.Seq)
		}
		c.uses[a.RecordDigest] = true
	case record.Anchors:
		c.prov = a.RecordDigest
	case record.Requests:
		return c.ask(a)
	}
	return nil
}

func (c *checker) step(a *record.Audit) error {
	s := c.contracts[a.ContractID]
	from, to := record.State(a.From), record.State(a.To)
	if (a.Event == record.ContractCreated) != (s == nil) || a.Version == nil {
		return bad(Transition, a.Seq)
	}
	if s == nil {
		s = &seen{request: a.RequestID, version: -1}
		c.contracts[a.ContractID] = s
		if r := c.requests[a.RequestID]; r == nil || r.status != string(record.Open) {
			return bad(Transition, a.Seq)
		} else {
			r.status = string(record.Authorized)
		}
	}
	if from != s.state || a.RequestID != s.request {
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
		if r := c.requests[s.request]; r != nil && r.status == string(record.Authorized) {
			r.status = string(record.Open)
		}
	}
	s.state, s.version, s.digest = to, *a.Version, a.RecordDigest
	return nil
}

func (c *checker) ask(a *record.Audit) error {
	r := c.requests[a.RequestID]
	switch {
	case a.Event == record.RequestOpened && r == nil:
		c.requests[a.RequestID] = &asked{status: string(record.Open)}
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
		r.status = a.To
	}
	return nil
}

// rows is step 2: MAC, form and key of every row outside the chain.
func (c *checker) rows() error {
	for _, b := range record.Buckets() {
		if b == record.AuditLog || b == record.SealedBytes {
			continue
		}
		if err := c.tx.Raw(b, nil, func(k, v []byte) error {
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

// take compares a row with what the chain says, or keeps it for later.
func (c *checker) take(r record.Record, is string) error {
	digest := func(want string) error {
		if is != want {
			return bad(Digest, 0)
		}
		return nil
	}
	switch r := r.(type) {
	case *record.Contract:
		s := c.contracts[r.ContractID]
		if s == nil {
			return bad(UnknownRow, 0)
		}
		s.known, c.states[r.ContractID] = true, r
		c.report.Contracts++
		c.sealed[r.ContractID+"/"+record.RoleIdentity] = r.ProtectedIdentity
		c.sealed[r.ContractID+"/"+record.RoleIntent] = r.ProtectedIntent
		c.sealed[r.ContractID+"/"+record.RoleSnapshot] = r.ProtectedSnapshot
		return digest(s.digest)
	case *record.Send:
		s := c.contracts[r.ContractID]
		if s == nil || s.send == "" {
			return bad(UnknownRow, 0)
		}
		want := s.send
		s.send = ""
		return digest(want)
	case *record.Use:
		if !c.uses[is] {
			return bad(Digest, 0)
		}
		delete(c.uses, is)
	case *record.Provisioning:
		c.report.Provisioned = true
		want := c.prov
		c.prov = ""
		return digest(want)
	case *record.Copy:
		c.report.Restored = true
	case *record.Request:
		c.live[r.RequestID] = *r
		if r.ProtectedText != nil {
			c.sealed[r.RequestID+"/"+record.RoleRequest] = *r.ProtectedText
		}
	case *record.Preview:
		c.seqs[r.RequestID] = r.Seq
		c.sealed[r.RequestID+"/"+record.RolePreview] = r.ProtectedFile
	case *record.OldKey:
		c.sealed[r.KeyID+"/"+record.RoleAuditKey] = r.Protected
	case *record.Reservation:
		c.holds[r.TargetIdentity] = r.ContractID
	case *record.Result:
		c.results[r.ContractID] = *r
	}
	return nil
}

// members holds the sealed bytes against the rows that own them.
func (c *checker) members() error {
	if err := c.tx.Raw(record.SealedBytes, nil, func(k, v []byte) error {
		s, ok := c.sealed[string(k)]
		if !ok || s.Size != int64(len(v)) || s.Hash != canon.Hash(v) {
			return bad(Sealed, 0)
		}
		delete(c.sealed, string(k))
		return c.add(record.SealedBytes, k, v)
	}); err != nil {
		return err
	}
	if len(c.sealed) > 0 {
		return bad(Sealed, 0)
	}
	return nil
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
		if !s.known || s.send != "" {
			return bad(MissingRow, 0)
		}
		r, res := c.states[id], c.results[id]
		if r.State != s.state || r.Version != s.version || res.Version != r.Version || res.State != r.State || res.Released != s.released {
			return bad(Linked, 0)
		}
		holder := c.holds[r.TargetIdentity] == id
		if holder != (r.State.Reserves() && !s.released) {
			return bad(Reservation, 0)
		}
		if holder {
			delete(c.holds, r.TargetIdentity)
		}
		delete(c.results, id)
	}
	if len(c.holds) > 0 {
		return bad(Reservation, 0)
	}
	if len(c.results) > 0 {
		return bad(UnknownRow, 0)
	}
	if p := c.anchor.Pending; p != nil {
		r := c.states[p.ContractID]
		if r == nil || r.Version != p.Version || (p.Purpose == record.Forward) != (r.State == record.Executing) || !r.State.InFlight() {
			return bad(Pending, 0)
		}
	}
	return nil
}

// requestRows compares requests and previews with the chain.
func (c *checker) requestRows() error {
	for id, a := range c.requests {
		r, there := c.live[id]
		if !there {
			return bad(MissingRow, 0)
		}
		seq, has := c.seqs[id]
		if string(r.Status) != a.status || r.PreviewSeq != a.previews || has && seq != r.PreviewSeq {
			return bad(Linked, 0)
		}
		if s := c.contracts[r.ContractID]; r.ContractID != "" && (s == nil || s.request != id) {
			return bad(Linked, 0)
		}
		delete(c.seqs, id)
	}
	if len(c.live) != len(c.requests) || len(c.seqs) > 0 {
		return bad(UnknownRow, 0)
	}
	return nil
}

// Error makes a finding the error that others see.
func Error(f *Finding) *errs.Error { return rows.Damaged(f, f.Error()) }
