package fakepf

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what a fault does.
type Kind string

// The kinds of fault. Those of the first group happen before an answer is
// made, the second group changes a good answer, the third the way it is sent,
// the fourth belongs to writes.
const (
	Delay          Kind = "delay"           // wait Delay, then answer
	Hang           Kind = "hang"            // no answer until the client or the server ends
	Status         Kind = "status"          // an error envelope: Status, ResponseID
	Login          Kind = "login"           // 200 with the web interface's login page
	NotInstalled   Kind = "not_installed"   // 404 with an HTML page
	GatewayTimeout Kind = "gateway_timeout" // 504 with an HTML page, as nginx gives after 180 s
	OutOfMemory    Kind = "out_of_memory"   // 500 with PHP's text
	Redirect       Kind = "redirect"        // 302 to Value
	InsertRow      Kind = "insert_row"      // a row comes in at Row before the answer: the list shifts
	DeleteRow      Kind = "delete_row"      // row Row goes before the answer: the list shifts

	IgnoreLimit   Kind = "ignore_limit"   // limit and offset are ignored
	BadRow        Kind = "bad_row"        // 500 when the page holds row Row; Value "empty": 200 with a line end
	TooMany       Kind = "too_many"       // OutOfMemory when the page holds more than Row rows
	Field         Kind = "field"          // Field of row Row becomes Value, raw bytes
	DropField     Kind = "drop_field"     // Field of row Row is left out
	NullRow       Kind = "null_row"       // row Row becomes null
	ScalarRow     Kind = "scalar_row"     // row Row becomes Value, raw bytes
	DataKind      Kind = "data_kind"      // data becomes Value, raw bytes
	NoData        Kind = "no_data"        // the envelope has no data
	DuplicateKeys Kind = "duplicate_keys" // a key stands twice: of the envelope, or Field of row Row
	Warning       Kind = "warning"        // PHP's text in front of the body
	EmptyBody     Kind = "empty_body"     // 200 with no body, or with Value
	Trailing      Kind = "trailing"       // Value after the body
	ContentType   Kind = "content_type"   // Value as content type; none when empty
	Huge          Kind = "huge"           // blanks up to Bytes bytes, still JSON
	WholeBody     Kind = "whole_body"     // the body becomes Value

	Reset    Kind = "reset"    // the connection is reset after Bytes bytes of the body
	Truncate Kind = "truncate" // the connection ends after Bytes bytes of the body
	Drip     Kind = "drip"     // Bytes bytes every Delay

	Late      Kind = "late"       // the write happens Delay after the answer was given up (LandPending when 0); the client gets Value: reset, timeout (504) or hang
	Rollback  Kind = "rollback"   // the write is undone Delay after its answer
	Lost      Kind = "lost"       // another writer's older configuration is written over the change, at once
	Locked    Kind = "locked"     // 503 after Delay (Options.LockWait when 0), nothing written
	QueueFull Kind = "queue_full" // 503 although written
	IDType    Kind = "id_type"    // the answer's id has another type than the one sent
)

// Fault is one rule. The first rule that matches a request and is not used up
// is applied; a request meets at most one.
type Fault struct {
	ID     int    // set by AddFault
	Kind   Kind   //
	Path   string // glob over the path (path.Match, and a final ** for everything below); "" is all
	Method string // "" is all
	Query  string // text that the raw query must hold; "" is all
	Nth    int    // the first matching request it applies to, counted from 1; 0 is the first
	Count  int    // how many from there on; 0 is one, -1 all

	Delay      time.Duration
	Bytes      int
	Row        int
	Field      string
	Value      string
	Status     int
	ResponseID string

	seen int
}

type faultList struct {
	mu   sync.Mutex
	next int
	list []*Fault
}

// AddFault adds a rule and returns its id. An unknown kind or a bad glob is an error.
func (s *Server) AddFault(f Fault) (int, error) {
	if !slices.Contains(kinds(), f.Kind) {
		return 0, fmt.Errorf("no fault %q", f.Kind)
	}
	if _, err := path.Match(f.Path, "/"); err != nil {
		return 0, fmt.Errorf("path %q: %w", f.Path, err)
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.next++
	f.ID = s.faults.next
	s.faults.list = append(s.faults.list, &f)
	return f.ID, nil
}

// Fault is AddFault for tests: a wrong rule panics.
func (s *Server) Fault(f Fault) int {
	id, err := s.AddFault(f)
	if err != nil {
		panic(err)
	}
	return id
}

// RemoveFault removes a rule; ClearFaults removes all.
func (s *Server) RemoveFault(id int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = slices.DeleteFunc(s.faults.list, func(f *Fault) bool { return f.ID == id })
}

// ClearFaults removes all rules.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = nil
}

func kinds() []Kind {
	return []Kind{
		Delay, Hang, Status, Login, NotInstalled, GatewayTimeout, OutOfMemory, Redirect, InsertRow, DeleteRow,
		IgnoreLimit, BadRow, TooMany, Field, DropField, NullRow, ScalarRow, DataKind, NoData, DuplicateKeys, Warning, EmptyBody, Trailing, ContentType, Huge, WholeBody,
		Reset, Truncate, Drip, Late, Rollback, Lost, Locked, QueueFull, IDType,
	}
}

// match returns a copy of the rule that applies to the request, nil for none.
// Every rule that fits counts the request, applied or not.
func (l *faultList) match(method, p, query string) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	var hit *Fault
	for _, f := range l.list {
		if f.Method != "" && f.Method != method || !fits(f.Path, p) || !strings.Contains(query, f.Query) {
			continue
		}
		f.seen++
		first, count := max(f.Nth, 1), f.Count
		if count == 0 {
			count = 1
		}
		if hit == nil && f.seen >= first && (count < 0 || f.seen < first+count) {
			c := *f
			hit = &c
		}
	}
	return hit
}

func fits(glob, p string) bool {
	if glob == "" {
		return true
	}
	if base, ok := strings.CutSuffix(glob, "**"); ok {
		return strings.HasPrefix(p, base)
	}
	ok, err := path.Match(glob, p)
	return ok && err == nil
}
