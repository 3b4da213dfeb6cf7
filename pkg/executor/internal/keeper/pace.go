package keeper

import (
	"slices"
	"sync"
	"time"
)

// Pace bounds how often something happens within a minute, in all and for one who asks.
// It protects what is slow or would be an oracle; what people may begin is counted in
// the store, where a restart does not forget it. The zero value is ready.
type Pace struct {
	mu   sync.Mutex
	hits []hit
}

type hit struct {
	who uint32
	at  int64 // boot milliseconds
}

// Take says whether it may happen now, and counts it when it may. Boot is now, in boot
// milliseconds, which nobody can set.
func (p *Pace) Take(boot int64, who uint32, own, all int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits = slices.DeleteFunc(p.hits, func(h hit) bool { return boot-h.at >= time.Minute.Milliseconds() })
	mine := 0
	for _, h := range p.hits {
		if h.who == who {
			mine++
		}
	}
	if mine >= own || len(p.hits) >= all {
		return false
	}
	p.hits = append(p.hits, hit{who, boot})
	return true
}
