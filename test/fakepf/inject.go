package fakepf

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/test/fakepf/php"
)

// before does what a fault does before an answer is made. It returns the
// answer when the fault is one.
func (s *Server) before(c *call) *answer {
	f := c.fault
	switch f.Kind {
	case Delay:
		s.wait(c.req.Context(), f.Delay)
	case Hang:
		select {
		case <-c.req.Context().Done():
		case <-s.done:
		}
		return html(504, page50x)
	case Status:
		id := f.ResponseID
		if id == "" {
			id = defaultID(f.Status)
		}
		return fail(f.Status, id, "canary-upstream-message of a fault")
	case Login:
		a := html(200, loginPage)
		a.ctype = "text/html; charset=UTF-8"
		return a
	case NotInstalled:
		return html(404, pageGone)
	case GatewayTimeout:
		s.wait(c.req.Context(), f.Delay)
		return html(504, page50x)
	case OutOfMemory:
		return html(500, pageOOM)
	case Redirect:
		a := html(302, "")
		a.header.Set("Location", f.Value)
		return a
	case InsertRow, DeleteRow:
		if ep := s.set.Endpoints[c.path]; ep != nil {
			s.shift(ep.Model, f)
		}
	case Rollback, Lost:
		s.mu.RLock()
		c.before = s.snapshot()
		s.mu.RUnlock()
	}
	return nil
}

func defaultID(status int) string {
	switch status {
	case 401:
		return "AUTH_AUTHENTICATION_FAILED"
	case 403:
		return "AUTH_AUTHORIZATION_FAILED"
	case 404:
		return "MODEL_OBJECT_NOT_FOUND"
	case 405:
		return "ENDPOINT_METHOD_NOT_ALLOWED"
	case 503:
		return "ENDPOINT_UNAVAILABLE"
	}
	return "ENDPOINT_RECEIVED_UNEXPECTED_ERROR"
}

// shift inserts a copy of the first row or deletes one.
func (s *Server) shift(model string, f *Fault) {
	s.change(model, func(t *table) error { //nolint:errcheck // no such model: nothing to shift
		switch {
		case len(t.rows) == 0:
		case f.Kind == InsertRow:
			pos := min(f.Row, len(t.rows))
			t.rows = slices.Insert(t.rows, pos, newRow(t.model, "", t.rows[0].raw))
		case f.Row < len(t.rows):
			t.rows = slices.Delete(t.rows, f.Row, f.Row+1)
		}
		return nil
	})
}

// rows makes a list fail as a whole for what is in the page.
func (f *Fault) rows(items []item) *answer {
	switch f.Kind {
	case TooMany:
		if len(items) > f.Row {
			return html(500, pageOOM)
		}
	case BadRow:
		for _, it := range items {
			if it.id != int64(f.Row) {
				continue
			}
			if f.Value == "empty" {
				a := success(nil)
				a.body = []byte("\n")
				return a
			}
			id := f.ResponseID
			if id == "" {
				id = "ENDPOINT_RECEIVED_UNEXPECTED_ERROR"
			}
			return fail(500, id, trace)
		}
	}
	return nil
}

// alter changes an answer that was good.
func (f *Fault) alter(a *answer) {
	switch f.Kind {
	case Field, DropField, NullRow, ScalarRow, DataKind, NoData, DuplicateKeys:
		f.edit(a)
	case Warning:
		a.body = append([]byte(warning), a.body...)
	case EmptyBody:
		a.body = []byte(f.Value)
	case WholeBody:
		a.body = []byte(f.Value)
	case Trailing:
		a.body = append(slices.Clone(a.body), f.Value...)
	case ContentType:
		a.ctype = f.Value
	case Huge:
		if n := f.Bytes - len(a.body); n > 0 {
			a.body = append(bytes.Repeat([]byte(" "), n), a.body...)
		}
	}
}

// sendFaulty sends an answer otherwise than it should be. It returns whether it did.
func (s *Server) sendFaulty(w http.ResponseWriter, c *call, a *answer) bool {
	f := c.fault
	switch f.Kind {
	case Reset, Truncate:
		s.cutAfter(w, a, f)
		return true
	case Drip:
		s.drip(w, c, a)
		return true
	case Late:
		if a.status == statusCut {
			s.cut(w)
			return true
		}
	}
	return false
}

// edit changes the decoded answer. Raw bytes go in as they are.
func (f *Fault) edit(a *answer) {
	v, err := php.Decode(a.body)
	env, ok := v.(php.Object)
	if err != nil || !ok {
		return
	}
	data, _ := env.Get("data")
	list, isList := data.([]any)
	at := f.Row
	for i, r := range list {
		if o, ok := r.(php.Object); ok {
			if id, _ := o.Get("id"); id == int64(f.Row) {
				at = i
				break
			}
		}
	}
	row := func(change func(php.Object) any) {
		if !isList {
			if o, ok := data.(php.Object); ok {
				data = change(o)
			}
		} else if at < len(list) {
			if o, ok := list[at].(php.Object); ok {
				list[at] = change(o)
			}
		}
	}
	switch f.Kind {
	case Field:
		row(func(o php.Object) any { return o.Set(f.Field, php.Raw(f.Value)) })
	case DropField:
		row(func(o php.Object) any {
			return slices.DeleteFunc(o.Clone(), func(m php.Member) bool { return m.Key == f.Field })
		})
	case NullRow:
		row(func(php.Object) any { return nil })
	case ScalarRow:
		row(func(php.Object) any { return php.Raw(f.Value) })
	case DataKind:
		data = php.Raw(f.Value)
	case DuplicateKeys:
		if f.Field == "" {
			env = append(env, php.Member{Key: "status", Value: "ok"})
		}
		row(func(o php.Object) any {
			if v, ok := o.Get(f.Field); ok {
				return append(o, php.Member{Key: f.Field, Value: v})
			}
			return o
		})
	}
	if f.Kind == NoData {
		env = slices.DeleteFunc(env, func(m php.Member) bool { return m.Key == "data" })
	} else {
		env = env.Set("data", data)
	}
	a.body = append(php.Append(nil, env), '\n')
}

// cutAfter writes the head and Bytes bytes of the body, then ends the
// connection: with a reset, or in order but too early.
func (s *Server) cutAfter(w http.ResponseWriter, a *answer, f *Fault) {
	hj, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is reset
	}
	var head bytes.Buffer
	w.Header().Write(&head) //nolint:errcheck // into memory
	conn, _, err := hj.Hijack()
	if err != nil {
		return
	}
	out := []byte("HTTP/1.1 " + strconv.Itoa(a.status) + " " + http.StatusText(a.status) + "\r\n" + head.String() +
		"Content-Length: " + strconv.Itoa(len(a.body)) + "\r\n\r\n")
	if f.Kind == Reset && f.Bytes <= 0 {
		out = nil
	}
	out = append(out, a.body[:min(max(f.Bytes, 0), len(a.body))]...)
	conn.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // Write says it
	conn.Write(out)                                   //nolint:errcheck // the client is gone: nothing to cut
	if f.Kind == Reset {
		reset(conn)
		return
	}
	conn.Close()
}

func (s *Server) drip(w http.ResponseWriter, c *call, a *answer) {
	w.WriteHeader(a.status)
	fl, _ := w.(http.Flusher)
	for b := a.body; len(b) > 0; {
		n := min(max(c.fault.Bytes, 1), len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
		if fl != nil {
			fl.Flush()
		}
		b = b[n:]
		if !s.wait(c.req.Context(), c.fault.Delay) {
			return
		}
	}
}

// statusCut stands for "no answer, the connection is reset".
const statusCut = -1

// late gives up the answer of a write now and lets it happen later.
func (s *Server) late(c *call, land func()) *answer {
	if c.fault.Delay == 0 {
		s.mu.Lock()
		s.landing = append(s.landing, land)
		s.mu.Unlock()
	} else {
		s.after(c.fault.Delay, land)
	}
	switch {
	case strings.HasPrefix(c.fault.Value, "hang"):
		select {
		case <-c.req.Context().Done():
		case <-s.done:
		}
		return html(504, page50x)
	case c.fault.Value == "timeout":
		return html(504, page50x)
	}
	return &answer{status: statusCut, header: http.Header{}}
}
