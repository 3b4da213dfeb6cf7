// Package sent owns what every step asks of the sends, known without looking through
// all of them: there is one for each contract that was ever attempted.
//
// Only the package of rows imports it. It must never be taken for a part of the store: it is
// found in the file, names rows by their keys, and the rows that it names are read and
// checked as any others.
//
// The attack it stops: a store that answers slower with every change, until a look or a
// landing window is not seen in time.
package sent

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"pfsensemcp/pkg/executor/internal/store/record"
)

// Known is what is known of the sends in one state of the store. It is never changed,
// only replaced.
type Known struct {
	Unanswered []string // keys of those without a complete answer, ascending
	Due        []string // keys of those after which a look is due, now or later, ascending
	newest     proof
}

// proof is a send after which two reads proved how things stood; the zero value is none.
type proof struct {
	at  string // as the row has it, which sorts like the time
	ms  int64
	key string
}

func (p proof) compare(o proof) int {
	return cmp.Or(cmp.Compare(p.at, o.at), cmp.Compare(p.ms, o.ms), cmp.Compare(o.key, p.key))
}

func proves(r *record.Send) proof {
	if r.All == "" {
		return proof{}
	}
	return proof{r.SentAt.UTC().Format(time.RFC3339), r.SentBootMS, r.ContractID}
}

// Newest returns the key of the newest send that proved something, "" for none.
func (k *Known) Newest() string { return k.newest.key }

// With returns what is known after r was written; ok is false when all must be looked
// through, because r no longer is the newest proof and another is.
func (k *Known) With(r *record.Send) (next *Known, ok bool) {
	next = &Known{
		Unanswered: member(k.Unanswered, r.ContractID, r.ExchangeMS == nil),
		Due:        member(k.Due, r.ContractID, r.Look == record.LookDue),
		newest:     k.newest,
	}
	switch p := proves(r); {
	case p.compare(k.newest) >= 0:
		next.newest = p
	case k.newest.key == r.ContractID:
		return nil, false
	}
	return next, true
}

// member returns the keys with or without one.
func member(keys []string, key string, in bool) []string {
	i, is := slices.BinarySearch(keys, key)
	switch {
	case in && !is:
		return slices.Insert(slices.Clone(keys), i, key)
	case !in && is:
		return slices.Delete(slices.Clone(keys), i, i+1)
	}
	return keys
}

// The members of the canonical rows of sends that are looked for.
const (
	noAnswer = `"exchange_ms":null`
	lookDue  = `"look":"` + string(record.LookDue) + `"`
	noProof  = `"all_digest":null`
	sentAt   = `"sent_at":"`
)

// Meet takes in one stored row while all are looked through in the order of their keys.
// Read is called for a row that may be the newest proof: they are few.
func (k *Known) Meet(key, row []byte, read func() (*record.Send, error)) error {
	if bytes.Contains(row, []byte(noAnswer)) {
		k.Unanswered = append(k.Unanswered, string(key))
	}
	if bytes.Contains(row, []byte(lookDue)) {
		k.Due = append(k.Due, string(key))
	}
	_, at, _ := bytes.Cut(row, []byte(sentAt))
	if bytes.Contains(row, []byte(noProof)) || len(at) >= len(k.newest.at) && string(at[:len(k.newest.at)]) < k.newest.at {
		return nil
	}
	r, err := read()
	if err == nil {
		if p := proves(r); p.compare(k.newest) > 0 {
			k.newest = p
		}
	}
	return err
}
