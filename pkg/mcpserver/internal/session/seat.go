package session

import (
	"sync"

	"pfsensemcp/pkg/errs"
)

// The bounds of all sessions together. Big lines are what memory is made of: at
// most 16 of 4 MiB are held at a time, 4 of one uid; everything else is at most
// 64 KiB a session.
const (
	MaxSessions   = 256
	MaxPerUID     = 64
	maxBig        = 16
	maxBigPerUID  = 4
	ClassSessions = "too_many_sessions"
	sessionsNext  = "close MCP clients that are not used any more"
)

// Pool counts sessions.
type Pool struct {
	mu    sync.Mutex
	all   int
	big   int
	users map[uint32]*user
}

type user struct{ sessions, big int }

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{users: make(map[uint32]*user)} }

// Seat is one session's place in the pool.
type Seat struct {
	pool *Pool
	uid  uint32
	left bool // guarded by pool.mu
}

// Admit gives a uid a seat, or says why not.
func (p *Pool) Admit(uid uint32) (*Seat, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= MaxSessions {
		return nil, errs.Newf(errs.Exhausted, "this server has %d sessions, as many as it takes", MaxSessions).WithClass(ClassSessions).WithNext(sessionsNext)
	}
	u := p.users[uid]
	if u == nil {
		u = &user{}
		p.users[uid] = u
	}
	if u.sessions >= MaxPerUID {
		return nil, errs.Newf(errs.Exhausted, "this account has %d sessions, as many as it may", MaxPerUID).WithClass(ClassSessions).WithNext(sessionsNext)
	}
	u.sessions++
	p.all++
	return &Seat{pool: p, uid: uid}, nil
}

// Count returns how many sessions there are.
func (p *Pool) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

func (s *Seat) leave() {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.left {
		return
	}
	s.left = true
	p.all--
	u := p.users[s.uid]
	if u.sessions--; u.sessions == 0 && u.big == 0 {
		delete(p.users, s.uid)
	}
}

// takeBig asks for room for a line over 64 KiB.
func (s *Seat) takeBig() bool {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.users[s.uid]
	if u == nil || p.big >= maxBig || u.big >= maxBigPerUID {
		return false
	}
	p.big++
	u.big++
	return true
}

func (s *Seat) giveBig() {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.big--
	u := p.users[s.uid]
	if u.big--; u.sessions == 0 && u.big == 0 {
		delete(p.users, s.uid)
	}
}
