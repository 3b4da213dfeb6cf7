package fakepf

import (
	"slices"
	"strings"
	"sync"
	"time"

	"pfsensemcp/test/fakepf/php"
)

// revision is one version of the stored configuration.
type revision struct {
	Time        int64
	Description string
}

const historyCap = 30

// lockFile is the write lock of the package: a file that the writer makes and
// removes, and that nobody removes when the writer died.
type lockFile struct {
	mu   sync.Mutex
	held bool
	free chan struct{} // closed when the lock is given back
	met  int           // how often somebody found it held
}

func (l *lockFile) take() (wait <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.met++
		return l.free, false
	}
	l.held, l.free = true, make(chan struct{})
	return nil, true
}

func (l *lockFile) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.held = false
		close(l.free)
	}
}

// HoldLock leaves the write lock behind, as a writer that died would. Writes
// then wait Options.LockWait and answer 503.
func (s *Server) HoldLock() { s.lock.take() }

// ReleaseLock takes the lock file away; writers that wait go on.
func (s *Server) ReleaseLock() { s.lock.give() }

// LandPending lets the writes of Late faults without a Delay happen now, in
// the order they were asked for. It returns how many there were.
func (s *Server) LandPending() int {
	s.mu.Lock()
	list := s.landing
	s.landing = nil
	s.mu.Unlock()
	for _, f := range list {
		f()
	}
	return len(list)
}

// write answers a request that changes something. This appliance plays the
// change of an alias and the apply of the firewall; other writes are counted
// and answered 500, so that no test takes one for done.
func (s *Server) write(c *call) *answer {
	switch {
	case c.method == "PATCH" && c.ep.Model == "FirewallAlias":
		return s.patchAlias(c)
	case c.method == "POST" && c.ep.Model == "FirewallApply":
		return s.applyFirewall(c)
	}
	s.mu.RLock()
	missing := c.ep.Package != "" && !s.packages[c.ep.Package]
	s.mu.RUnlock()
	if missing {
		return fail(404, "MODEL_MISSING_REQUIRED_PACKAGE", "The requested action requires the `"+c.ep.Package+"` package but it is not installed.")
	}
	s.unplay.Add(1)
	return fail(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", "This pretend appliance does not play this change. Nothing was done.")
}

// Unplayed returns how many writes were asked for that this appliance does not play.
func (s *Server) Unplayed() int { return int(s.unplay.Load()) }

// switches are the parameters that steer a write.
type switches struct{ apply, async, dry bool }

func writeSwitches(c *call) (w switches, _ *answer) {
	w = switches{async: true, dry: prefersDryRun(c.req.Header.Get("Prefer"))}
	for _, p := range c.params {
		switch p.Key {
		case "apply": // anything but a boolean is taken for false, without a word
			w.apply = p.Value == true
		case "async":
			b, ok := p.Value.(bool)
			if !ok {
				return w, fail(400, "ENDPOINT_ASYNC_FIELD_INVALID_TYPE", "Field `async` must be of type `boolean`.")
			}
			w.async = b
		case "dry_run":
			switch v := p.Value.(type) {
			case bool:
				w.dry = w.dry || v
			case nil: // a real write
			default:
				return w, fail(400, "ENDPOINT_DRY_RUN_FIELD_INVALID_TYPE", "Field `dry_run` must be of type `boolean`.")
			}
		}
	}
	return w, nil
}

// patchAlias changes one alias as upstream does: the configuration is read
// first, written back whole at the end, and everything that happened in between
// is lost.
func (s *Server) patchAlias(c *call) *answer {
	m := s.set.Models["FirewallAlias"]
	sw, a := writeSwitches(c)
	if a != nil {
		return a
	}
	id, _ := c.params.Get("id")
	if id == nil {
		return fail(400, "MODEL_REQUIRES_ID", "Field `id` is required.")
	}
	s.mu.RLock()
	read := s.snapshot()
	n := len(read["FirewallAlias"].rows)
	s.mu.RUnlock()
	if id == false {
		if !sw.dry {
			s.Wreck() // a false id writes stray text over the whole list
		}
		return success(append(envelope(nil, 200, "SUCCESS", ""), `{"id":false,"name":null,"type":null,"descr":null,"address":null,"detail":null}`...))
	}
	pos, ok := position(id, n)
	if !ok {
		return notFound("Object", id)
	}
	old := read["FirewallAlias"].rows[pos].object()
	changed, a := changeAlias(old.Clone(), c.params)
	if a != nil {
		return a
	}
	shown := php.Append(nil, append(php.Object{{Key: "id", Value: shownID(c, id)}}, changed...))
	if sw.dry {
		return success(append(envelope(nil, 200, "SUCCESS", ""), shown...))
	}
	stored := s.stored(changed)
	t := read["FirewallAlias"].with()
	t.rows[pos] = newRow(m, "", php.Append(nil, stored))
	read["FirewallAlias"] = t
	land := func() {
		if s.poisoned(changed) {
			s.poison()
		} else {
			s.save(read, c.user+"@127.0.0.1:  Modified Firewall Alias via API")
		}
	}
	if c.fault != nil && c.fault.Kind == Late {
		// The real one is still validating: it holds no lock, and when it lands
		// it undoes what others wrote in between.
		return s.late(c, func() { land(); s.finish(c, sw) })
	}
	if a := s.takeLock(c); a != nil {
		return a
	}
	land()
	s.lock.give()
	s.finish(c, sw)
	if c.fault != nil && c.fault.Kind == Rollback {
		s.after(c.fault.Delay, func() { s.save(c.before, "(system): Installed 15 minute filter reload for Time Based Rules") })
	}
	if c.fault != nil && c.fault.Kind == Lost {
		s.mu.Lock() // no history: it looks as after a clean write
		s.tables["FirewallAlias"] = c.before["FirewallAlias"]
		s.mu.Unlock()
	}
	if c.fault != nil && c.fault.Kind == QueueFull {
		a := fail(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "There are too many queued processes for this dispatcher. Please try again later.")
		a.header.Set("Retry-After", "300")
		return a
	}
	out := success(append(envelope(nil, 200, "SUCCESS", ""), shown...))
	out.header.Set("Set-Cookie", "PHPSESSID=00000000000000000000000000000071; path=/")
	out.header.Set("Expires", "Thu, 19 Nov 1981 08:52:00 GMT")
	out.header.Set("Cache-Control", "no-store, no-cache, must-revalidate")
	out.header.Set("Pragma", "no-cache")
	return out
}

// shownID is the id as the answer echoes it: as it was sent, unless a fault
// wants it of another type.
func shownID(c *call, id any) any {
	if c.fault == nil || c.fault.Kind != IDType {
		return id
	}
	if _, ok := id.(string); ok {
		pos, _ := position(id, 1<<30)
		return int64(pos)
	}
	return php.Text(id)
}

// takeLock waits for the write lock as upstream does: 61 tries, one a second.
func (s *Server) takeLock(c *call) *answer {
	deadline := time.NewTimer(s.opt.LockWait)
	defer deadline.Stop()
	if c.fault != nil && c.fault.Kind == Locked {
		d := c.fault.Delay
		if d == 0 {
			d = s.opt.LockWait
		}
		s.wait(c.req.Context(), d)
		return locked()
	}
	for {
		free, ok := s.lock.take()
		if ok {
			return nil
		}
		select {
		case <-free:
		case <-deadline.C:
			return locked()
		case <-s.done:
			return locked()
		}
	}
}

func locked() *answer {
	return fail(503, "MODEL_WRITE_CONFIG_LOCKED", "The configuration is locked by another process. Please try again later.")
}

// save makes a configuration the stored one. The version it replaces goes to
// the history; of several in one second only the last label stays.
func (s *Server) save(next map[string]*table, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.tables["ConfigHistoryRevision"].with()
	now := s.opt.Now().Unix()
	if s.live.Time == now {
		s.live.Description = label
	} else {
		row := php.Object{{Key: "time", Value: s.live.Time}, {Key: "description", Value: s.live.Description}, {Key: "version", Value: "23.9"}, {Key: "filesize", Value: int64(0)}}
		h.rows = slices.Insert(h.rows, 0, newRow(h.model, "", php.Append(nil, row)))
		h.rows = h.rows[:min(len(h.rows), historyCap)]
		s.live = revision{Time: now, Description: label}
	}
	keep := map[string]*table{"ConfigHistoryRevision": h}
	for name := range next { // what is not configuration does not come back
		if strings.HasSuffix(name, "Status") || strings.HasSuffix(name, "Log") || name == "FirewallState" || name == "DHCPServerLease" || name == "ARPTable" {
			keep[name] = s.tables[name]
		}
	}
	s.tables = next
	for name, t := range keep {
		s.tables[name] = t
	}
}

// finish marks the change pending and starts an apply when it was asked for.
func (s *Server) finish(c *call, sw switches) {
	s.mu.Lock()
	if !slices.Contains(s.pending, "aliases") {
		s.pending = append(s.pending, "aliases")
	}
	if sw.apply { // upstream clears the mark before the reload has begun
		s.pending = slices.DeleteFunc(s.pending, func(p string) bool { return p == "aliases" })
	}
	s.mu.Unlock()
	if sw.apply && !sw.async {
		s.wait(c.req.Context(), s.opt.ApplyTime)
	}
}

// applyFirewall starts an apply. Its answer shows what is pending, still.
func (s *Server) applyFirewall(c *call) *answer {
	sw, a := writeSwitches(c)
	if a != nil {
		return a
	}
	if c.fault != nil && c.fault.Kind == QueueFull {
		a := fail(503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", "There are too many queued processes for this dispatcher. Please try again later.")
		a.header.Set("Retry-After", "300")
		return a
	}
	clear := func() {
		s.mu.Lock()
		s.pending = nil
		s.mu.Unlock()
	}
	switch {
	case sw.dry:
	case sw.async:
		defer s.after(s.opt.ApplyTime, clear)
	default:
		s.wait(c.req.Context(), s.opt.ApplyTime)
		clear()
	}
	m := s.set.Models["FirewallApply"]
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.computed(m, s.tables[m.Name].rows[0])
	return success(s.view().append(envelope(nil, 200, "SUCCESS", ""), c.ep, m, r, nil, nil, true))
}

// SetPending marks a subsystem as changed and not applied, as another admin's
// change would.
func (s *Server) SetPending(subsystems ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.Clone(subsystems)
}

// Record writes a new revision with a label, as a change in the web interface would.
func (s *Server) Record(label string) {
	s.mu.RLock()
	next := s.snapshot()
	s.mu.RUnlock()
	s.save(next, label)
}
