package pfrest

import (
	"context"
	"sync/atomic"

	"pfsensemcp/pkg/pfrest/internal/envelope"
	"pfsensemcp/pkg/pfrest/internal/fair"
)

type getKey struct {
	ep   Endpoint
	page Page
}

// flight is one GET that several callers may wait for.
type flight struct {
	*fair.Crowd
	memory // held by each caller, and by the flight until nobody can join it
	done   chan struct{}
	ans    Answer
	err    error
}

// memory is a body that several hold; the last who lets it go wipes it.
type memory struct {
	body    []byte
	holders atomic.Int32
}

func (m *memory) drop() {
	if m.holders.Add(-1) == 0 {
		envelope.Wipe(m.body)
	}
}

// Release says that Data is not used any more. When everybody who shares it has
// said so, its memory is overwritten: it holds what the appliance sent, not only
// what a model names. Once an Answer at most; without it the bytes stay until
// the garbage collector gives their memory to something else.
func (a Answer) Release() {
	if a.memory != nil {
		a.memory.drop()
	}
}

// Get makes one GET of a registered endpoint and returns the data of a checked
// envelope. Who asks the same while the request is under way gets the same
// answer; a caller who leaves takes nothing from the others. Release the answer
// when its data has been read. Every error is an
// *errs.Error with one of the classes, whose texts are ours. At most one request
// is made, and none after an error of class authentication or breaker_open.
func (c *Client) Get(ctx context.Context, caller Caller, ep Endpoint, page Page) (Answer, error) {
	if err := c.check(ep, page); err != nil {
		return Answer{}, err
	}
	if c.authoritative {
		alone := &flight{Crowd: fair.NewCrowd(c.slots, fair.Owner(caller), func() {})}
		alone.holders.Store(1)
		return c.getOnce(ctx, call{ep, page, c.requestID(ctx), alone.Crowd}, &alone.memory)
	}
	key := getKey{ep, page}
	c.mu.Lock()
	f := c.gets[key]
	if f != nil && f.Join(fair.Owner(caller)) {
		f.holders.Add(1)
		c.stats.Joined++
	} else {
		life, cancel := context.WithCancel(c.life)
		f = &flight{Crowd: fair.NewCrowd(c.slots, fair.Owner(caller), cancel), done: make(chan struct{})}
		f.holders.Store(2)
		c.gets[key] = f
		go c.fly(life, key, f, c.requestID(ctx))
	}
	c.mu.Unlock()
	defer f.Leave(fair.Owner(caller))
	select {
	case <-f.done:
		return f.ans, f.err
	case <-ctx.Done():
		f.drop()
		return Answer{}, gone(ctx, ep)
	}
}

// fly makes the request of a flight.
func (c *Client) fly(ctx context.Context, key getKey, f *flight, requestID string) {
	f.ans, f.err = c.getOnce(ctx, call{key.ep, key.page, requestID, f.Crowd}, &f.memory)
	c.mu.Lock()
	if c.gets[key] == f {
		delete(c.gets, key)
	}
	c.mu.Unlock()
	f.drop() // nobody can join any more
	close(f.done)
}

// maxHint bounds the memory that is set aside on the strength of the last answer.
const maxHint = 1 << 20

// getOnce makes one GET into memory of its own, sized after the last answer of
// the endpoint, because the callers keep it.
func (c *Client) getOnce(ctx context.Context, cl call, m *memory) (Answer, error) {
	b := c.buffers.Take()
	defer c.buffers.Give(b)
	size := c.endpoints[cl.ep]
	body, env, err := c.exchange(ctx, cl, &b.Parser, make([]byte, 0, size.Load()))
	if err != nil {
		envelope.Wipe(body)
		return Answer{}, err
	}
	m.body = body
	// Room for the next answer to be a little longer, and for one more read.
	size.Store(int64(min(len(body)+len(body)/8+512, maxHint)))
	ans := Answer{Links: env.Links, Bytes: len(body), memory: m}
	data := env.Data
	if n := cl.page.Limit; n > 0 && len(env.Rows) > n {
		ans.IgnoredLimit = true
		data = envelope.Cut(body, env, cl.page.Offset, n)
	}
	ans.Data = body[data[0]:data[1]:data[1]]
	return ans, nil
}
