package breaker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const name = "/api/v2/firewall/rules"

func TestTwoTimeOutsInARowPauseAPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		late := func() { b.Leave(name, b.Enter(name, true).Probe, TimedOut) }
		late()
		b.Leave(name, false, Answered) // not in a row
		late()
		if d := b.Enter(name, true); d.Refused() {
			t.Fatalf("paused after one: %+v", d)
		}
		late()
		if d := b.Enter(name, true); !d.Path || d.Wait != firstHold {
			t.Fatalf("not paused: %+v", d)
		}
		if d := b.Enter("/another", true); d.Refused() {
			t.Fatalf("another path is paused: %+v", d)
		}
		time.Sleep(firstHold - time.Nanosecond)
		if d := b.Enter(name, true); d.Wait != time.Nanosecond {
			t.Fatalf("%+v", d)
		}
		time.Sleep(time.Nanosecond)
		if d := b.Enter(name, true); !d.Probe {
			t.Fatalf("not tried again: %+v", d)
		}
	})
}

func TestOneRequestAloneTriesAPausedPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		b.Leave(name, false, TimedOut)
		b.Leave(name, false, TimedOut)
		time.Sleep(firstHold)
		if d := b.Enter(name, false); d.Refused() || d.Probe {
			t.Fatalf("a look that reserves nothing: %+v", d)
		}
		var mu sync.Mutex
		let := 0
		for range 20 {
			go func() {
				if d := b.Enter(name, true); d.Probe {
					mu.Lock()
					let++
					mu.Unlock()
				}
			}()
		}
		synctest.Wait()
		if let != 1 {
			t.Fatalf("%d requests try it at once", let)
		}
		b.Leave(name, true, Unknown) // it was cancelled: the next one tries
		if d := b.Enter(name, true); !d.Probe {
			t.Fatalf("%+v", d)
		}
		b.Leave(name, true, TimedOut)
		if d := b.Enter(name, true); d.Wait != 2*firstHold {
			t.Fatalf("not doubled: %+v", d)
		}
	})
}

func TestThePauseDoublesUpToTenMinutesAndOnlyByTheOneThatTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		b.Leave(name, false, TimedOut)
		b.Leave(name, false, TimedOut)
		b.Leave(name, false, TimedOut) // was under way when it opened
		want := firstHold
		for range 6 {
			if d := b.Enter(name, true); d.Wait != want {
				t.Fatalf("paused for %v, want %v", d.Wait, want)
			}
			time.Sleep(want)
			b.Leave(name, b.Enter(name, true).Probe, TimedOut)
			want = min(2*want, lastHold)
		}
		b.Leave(name, false, Answered)
		if d := b.Enter(name, true); d.Refused() || d.Probe {
			t.Fatalf("an answer did not close it: %+v", d)
		}
		if _, _, paths := b.Snapshot(); len(paths) != 0 {
			t.Fatalf("%+v", paths)
		}
	})
}

func TestARefusedKeyStaysRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(time.Now)
		b.Rekey(1)
		b.Refuse(0) // of the key before
		if d := b.Enter(name, true); d.Refused() {
			t.Fatalf("blamed for the key before: %+v", d)
		}
		b.Refuse(1)
		time.Sleep(1000 * time.Hour)
		if d := b.Enter(name, true); !d.Key || time.Since(d.At) != 1000*time.Hour {
			t.Fatalf("%+v", d)
		}
		if b.MaybeBlocked() {
			t.Fatal("silence is blamed on a refusal long ago")
		}
		b.Rekey(2)
		if d := b.Enter(name, true); d.Refused() {
			t.Fatalf("the new key: %+v", d)
		}
		b.Refuse(2)
		if !b.MaybeBlocked() {
			t.Fatal("not remembered")
		}
		b.Reset()
		if d := b.Enter(name, true); d.Refused() || !b.MaybeBlocked() {
			t.Fatalf("%+v", d)
		}
	})
}
