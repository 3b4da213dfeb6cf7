package fair

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// take asks for a slot and returns the ticket without waiting.
func take(s *Slots, uid uint32, session uint64) *Ticket {
	t := NewTicket()
	s.Enlist(t, Owner{uid, session})
	return t
}

func TestAUidIsNeverGivenMoreThanHalfWhileAnotherWaits(t *testing.T) {
	s := New(4)
	var a, b []*Ticket
	for range 6 {
		a = append(a, take(s, 1, 1)) // alone: all four
	}
	for range 6 {
		b = append(b, take(s, 2, 1))
	}
	granted := func(ts []*Ticket) (n int) {
		for _, t := range ts {
			if t.granted {
				n++
			}
		}
		return n
	}
	if granted(a) != 4 || granted(b) != 0 {
		t.Fatalf("before: %d and %d", granted(a), granted(b))
	}
	s.Release(a[0])
	s.Release(a[1])
	if granted(a) != 2 || granted(b) != 2 {
		t.Fatalf("after two releases: %d and %d, want 2 and 2", granted(a), granted(b))
	}
	s.Release(b[0])
	if granted(a) != 2 || granted(b) != 2 {
		t.Fatalf("after a release of b: %d and %d, want 2 and 2", granted(a), granted(b))
	}
}

func TestSessionsOfOneUidTakeTurns(t *testing.T) {
	s := New(2)
	a := []*Ticket{take(s, 1, 1), take(s, 1, 1), take(s, 1, 1)}
	b := take(s, 1, 2)
	s.Release(a[0])
	if !b.granted || a[2].granted {
		t.Fatal("the session that holds nothing did not come before the one that holds a slot")
	}
}

func TestWithinASessionFirstComeFirstServed(t *testing.T) {
	s := New(1)
	first := take(s, 1, 1)
	second, third := take(s, 1, 1), take(s, 1, 1)
	s.Release(first)
	if !second.granted || third.granted {
		t.Fatal("the later ticket came first")
	}
}

func TestATicketSharedByTwoOwnersIsServedByTheFirstWhoseTurnItIs(t *testing.T) {
	s := New(2)
	held := []*Ticket{take(s, 1, 1), take(s, 1, 1)}
	queued := take(s, 1, 1)
	shared := take(s, 1, 1) // far back in the queue of uid 1
	s.Enlist(shared, Owner{2, 1})
	s.Release(held[0])
	if !shared.granted || queued.granted {
		t.Fatal("the second owner's turn did not count")
	}
	if shared.owner.UID != 2 {
		t.Fatalf("uid %d pays", shared.owner.UID)
	}
	s.Release(shared)
	s.Release(shared) // twice does nothing
	s.Release(held[1])
	s.Release(queued)
	if in, w, _ := s.Counts(); in != 0 || w != 0 || len(s.uids) != 0 {
		t.Fatalf("left behind: %d in use, %d waiting, %d uids", in, w, len(s.uids))
	}
}

func TestWaitingEndsWithTheContextAndLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		first := take(s, 1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		second := take(s, 2, 1)
		got := make(chan error)
		go func() { got <- s.Wait(ctx, second) }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		third := take(s, 3, 1)
		s.Release(first)
		if err := s.Wait(t.Context(), third); err != nil || second.granted {
			t.Fatalf("the slot was lost: %v", err)
		}
		s.Release(third)
		fourth := take(s, 4, 1) // granted at once, to somebody who is gone
		if err := s.Wait(ctx, fourth); err == nil {
			t.Fatal("a slot was given to a call that has ended")
		}
		if in, w, _ := s.Counts(); in != 0 || w != 0 {
			t.Fatalf("left behind: %d in use, %d waiting", in, w)
		}
	})
}

func TestALowerLimitTakesNothingAwayAndAHigherOneGrants(t *testing.T) {
	s := New(1)
	a, b, c := take(s, 1, 1), take(s, 2, 1), take(s, 3, 1)
	s.SetLimit(2)
	if !b.granted || c.granted {
		t.Fatal("the second slot was not granted")
	}
	s.SetLimit(1)
	s.Release(a)
	if c.granted {
		t.Fatal("granted above the limit")
	}
	s.Release(b)
	if !c.granted {
		t.Fatal("not granted")
	}
}

// Whatever the order of events: never more than the limit, nothing is granted
// while it waits in a queue, no slot idles while somebody waits, and a grant to
// a uid at or above half means that no uid with less was waiting.
func TestSlotsStayFairAndBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4
		s := New(limit)
		var all []*Ticket
		owner := map[*Ticket]Owner{}
		check := func() {
			if s.inUse > limit {
				t.Fatalf("%d in use", s.inUse)
			}
			if s.inUse < limit && s.waiting > 0 {
				t.Fatalf("%d in use while %d wait", s.inUse, s.waiting)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				o := Owner{uint32(rapid.IntRange(1, 4).Draw(t, "uid")), uint64(rapid.IntRange(1, 3).Draw(t, "session"))}
				k := NewTicket()
				owner[k] = o
				all = append(all, k)
				s.Enlist(k, o)
			},
			"release": func(t *rapid.T) {
				var held []*Ticket
				waitingUIDs, before := map[uint32]bool{}, map[uint32]int{}
				for _, k := range all {
					if k.granted {
						held = append(held, k)
					} else if !k.done {
						waitingUIDs[owner[k].UID] = true
					}
				}
				if len(held) == 0 {
					t.Skip()
				}
				gone := rapid.SampledFrom(held).Draw(t, "ticket")
				for _, k := range held {
					if k != gone {
						before[owner[k].UID]++
					}
				}
				s.Release(gone)
				for _, k := range all {
					if !k.granted || before[owner[k].UID] < limit/2 {
						continue
					}
					isNew := true
					for _, h := range held {
						isNew = isNew && h != k
					}
					for uid := range waitingUIDs {
						if isNew && uid != owner[k].UID {
							t.Fatalf("uid %d got slot %d while uid %d waited with %d", owner[k].UID, before[owner[k].UID]+1, uid, before[uid])
						}
					}
				}
			},
			"give up": func(t *rapid.T) {
				var queued []*Ticket
				for _, k := range all {
					if !k.done {
						queued = append(queued, k)
					}
				}
				if len(queued) == 0 {
					t.Skip()
				}
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if s.Wait(ctx, rapid.SampledFrom(queued).Draw(t, "ticket")) == nil {
					t.Fatal("granted")
				}
			},
			"": func(*rapid.T) { check() },
		})
	})
}

func TestWhoJoinsWhileATicketWaitsBringsTheirTurn(t *testing.T) {
	s := New(2)
	held := []*Ticket{take(s, 1, 1), take(s, 1, 1)}
	queued := take(s, 1, 1)
	cancelled := false
	w := NewCrowd(s, Owner{1, 1}, func() { cancelled = true })
	k := NewTicket()
	w.Seat(k)
	if !w.Join(Owner{2, 1}) {
		t.Fatal("it cannot be joined")
	}
	s.Release(held[0])
	if !k.granted || queued.granted {
		t.Fatal("the one who joined brought no turn")
	}
	w.Unseat()
	if !w.Join(Owner{3, 1}) || len(s.uids[3].sessionsOrNil()) != 0 {
		t.Fatal("a ticket that was granted is enlisted again")
	}
	w.Leave(Owner{1, 1})
	w.Leave(Owner{2, 1})
	w.Leave(Owner{9, 9}) // never there
	if cancelled {
		t.Fatal("cancelled while somebody waits")
	}
	if w.Leave(Owner{3, 1}); !cancelled {
		t.Fatal("it goes on for nobody")
	}
	if w.Join(Owner{4, 1}) {
		t.Fatal("joined what was cancelled")
	}
}

func (u *share) sessionsOrNil() map[uint64]*queue {
	if u == nil {
		return nil
	}
	return u.sessions
}
