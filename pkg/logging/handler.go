package logging

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// sink takes one whole line, line end included.
type sink interface {
	Write(line []byte) error
}

// core is what all handlers of one Log share.
type core struct {
	daemon  string
	level   slog.Level
	journal bool // put journald's level prefix before the line
	text    bool // the readable form
	unknown func(key string)
	red     redactor

	mu      sync.Mutex // one line at a time, and the count with it
	out     sink
	dropped uint64 // lines since the last one that was written
	total   uint64 // lines dropped in all
}

// handler is a slog.Handler with the attributes given before.
type handler struct {
	c     *core
	group string // prefix of later keys, ends in a dot or is empty
	attrs []slog.Attr
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.c.level }

func (h *handler) WithAttrs(as []slog.Attr) slog.Handler {
	n := *h
	n.attrs = slices.Clip(slices.Concat(h.attrs, prefixed(h.group, as)))
	return &n
}

func (h *handler) WithGroup(name string) slog.Handler {
	n := *h
	if name != "" {
		n.group = h.group + name + "."
	}
	return &n
}

// prefixed returns attributes with the group's name in their keys.
func prefixed(group string, as []slog.Attr) []slog.Attr {
	if group == "" {
		return as
	}
	out := make([]slog.Attr, len(as))
	for i, a := range as {
		out[i] = inGroup(group, a)
	}
	return out
}

func inGroup(group string, a slog.Attr) slog.Attr {
	if group != "" {
		// A group without a name joins the one around it.
		a.Key = strings.TrimSuffix(group+a.Key, ".")
	}
	return a
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	as := append(make([]slog.Attr, 0, len(h.attrs)+r.NumAttrs()), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		as = append(as, inGroup(h.group, a))
		return true
	})
	return h.c.log(r, as)
}

// log formats and writes one line. The error is for slog, which ignores it: what
// could not be written is counted and told by the next line that can be.
func (c *core) log(r slog.Record, as []slog.Attr) error {
	line := c.line(r, as)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped > 0 {
		note := slog.NewRecord(r.Time, slog.LevelWarn, "log lines were dropped", 0)
		if c.out.Write(c.line(note, []slog.Attr{slog.Uint64(KeyCount, c.dropped)})) == nil {
			c.dropped = 0
		}
	}
	if err := c.out.Write(line); err != nil {
		c.dropped++
		c.total++
		return err
	}
	return nil
}
