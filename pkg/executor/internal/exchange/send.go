package exchange

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
)

const (
	maxHeader   = 64 << 10 // bytes of the response's header
	maxResponse = 1 << 20  // bytes of its body
	// maxRaw bounds what is read for a body: with it, chunk sizes and trailers.
	maxRaw = maxHeader + 2*maxResponse
	// probeTime is how long the connection is listened to before the first byte: one
	// that the appliance closed meanwhile must not swallow the request.
	probeTime = 2 * time.Millisecond
)

// Send makes the one exchange of this connection and closes it. It returns an error
// in the Result alone. Until the first byte is written ctx can stop it, and so can
// an appliance that closed the connection; from then on only the time limits can.
// On a connection that was used it does nothing, and Sent says what was sent
// before.
func (c *Conn) Send(ctx context.Context, ch Change) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used {
		class := classNotSent
		if c.sent > 0 { // by the first call: what became of that is not for this one to say
			class = classSend
		}
		return Result{Sent: c.sent, Err: errs.New(errs.Internal, "a connection is for one exchange").WithClass(class)}
	}
	defer c.close()
	c.used = true
	body, err := ch.Body()
	if err != nil {
		return Result{Err: err}
	}
	request := c.x.request(body)
	defer clear(request) // it holds the key
	if err := c.quiet(probeTime); err != nil {
		return Result{Err: err}
	}
	if err := ctx.Err(); err != nil {
		return Result{Err: notSent("the exchange was called off before its first byte", err)}
	}
	if c.may != nil && !c.may() {
		return Result{Err: notSent("the exchange came too late to be begun", nil)}
	}
	start := time.Now()
	r := c.exchange(start, request, ch)
	r.Sent, r.Took = c.sent, time.Since(start)
	return r
}

// quiet listens for wait: a connection on which the other side has said anything, or
// goodbye, is not written to. A read whose deadline has passed before it began looks
// at nothing, so on a busy host the time-out alone proves no silence: the kernel is
// asked too whether it holds bytes that nobody has read.
func (c *Conn) quiet(wait time.Duration) error {
	const tries = 100 // what is read and is no answer, such as a TLS session ticket, leads to another look
	var b [1]byte
	for range tries {
		_ = c.tls.SetReadDeadline(time.Now().Add(wait)) // Read says it
		if n, err := c.tls.Read(b[:]); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return notSent("the appliance closed the connection, or spoke first", err)
		}
		unread, err := c.unread()
		if err != nil {
			return notSent("the connection to the appliance could not be looked at", err)
		}
		if !unread {
			return nil
		}
	}
	return notSent("the appliance spoke first, or this host is too busy to hear that it did not", nil)
}

// unread says that bytes, an end or an error wait in the kernel to be read. It asks by
// epoll, as the runtime does: the sandbox has no call that peeks into a socket.
func (c *Conn) unread() (waits bool, err error) {
	raw, ok := c.raw.(syscall.Conn)
	if !ok {
		return false, errors.ErrUnsupported
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false, err
	}
	var asked error
	if err := control.Control(func(fd uintptr) { waits, asked = readable(int(fd)) }); err != nil {
		return false, err
	}
	return waits, asked
}

// readable asks the kernel, without waiting, whether a read of fd would return at once.
func readable(fd int) (bool, error) {
	set, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false, err
	}
	defer syscall.Close(set)                                                 //nolint:errcheck // it was made for one question
	want := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP} // errors come unasked
	if err := syscall.EpollCtl(set, syscall.EPOLL_CTL_ADD, fd, &want); err != nil {
		return false, err
	}
	var seen [1]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(set, seen[:], 0)
		if err != syscall.EINTR {
			return n > 0, err
		}
	}
}

// request returns all bytes of the request. Nothing but the checked body comes
// from outside; there is no query, no cookie and no Authorization, which would beat
// the key.
func (x *Exchanger) request(body []byte) []byte {
	e := Allowed()[0]
	b := make([]byte, 0, 1024+len(x.host)+len(x.agent)+len(x.key.Bytes())+len(body)) // never grown: a copy would keep the key
	for _, part := range []string{
		e.Method, " ", e.Path, " HTTP/1.1\r\nHost: ", x.host, "\r\nUser-Agent: ", x.agent,
		"\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: ", strconv.Itoa(len(body)), "\r\nX-API-Key: ",
	} {
		b = append(b, part...)
	}
	b = append(append(b, x.key.Bytes()...), "\r\n\r\n"...)
	return append(b, body...)
}

// exchange writes the request and reads its answer.
func (c *Conn) exchange(start time.Time, request []byte, ch Change) (r Result) {
	_ = c.tls.SetWriteDeadline(start.Add(min(c.x.write, c.x.overall))) // Write says it
	c.sent += int64(len(request))                                      // before the call: a byte that may be out counts
	if _, err := c.tls.Write(request); err != nil {
		r.Err = ambiguous(classSend, "the connection failed while the request was being sent", err)
		return r
	}
	end := start.Add(c.x.overall)
	if limit := time.Now().Add(c.x.response); limit.Before(end) {
		_ = c.tls.SetReadDeadline(limit)
	} else {
		_ = c.tls.SetReadDeadline(end)
	}
	in := &capped{r: c.tls, left: maxHeader}
	buffered := bufio.NewReader(in)
	resp, err := http.ReadResponse(buffered, &http.Request{Method: Allowed()[0].Method})
	if err != nil {
		class := classSend
		if in.left < maxHeader { // something came
			class = classResponse
		}
		r.Err = ambiguous(class, "the request was sent and no response header came that could be read", err)
		return r
	}
	defer resp.Body.Close()
	r.Status = resp.StatusCode
	_ = c.tls.SetReadDeadline(end)
	in.left = maxRaw
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	defer clear(text)
	switch {
	case err != nil:
		r.Err = ambiguous(classResponse, "the answer broke off, or took too long", err)
	case len(text) > maxResponse:
		r.Err = ambiguous(classResponse, "the answer is longer than 1 MiB", errTooLarge)
	case !fromREST(resp) || buffered.Buffered() > 0:
		r.Err = ambiguous(classResponse, "the answer is not one of the REST API", nil)
	}
	if r.Err != nil {
		return r
	}
	env, ok := parse(text)
	if !ok || env.code != resp.StatusCode {
		r.Err = ambiguous(classResponse, "the answer is no complete envelope of the REST API that confirms its status", nil)
		return r
	}
	r.Answered, r.ResponseID = true, env.id
	r.EchoOK = r.Status/100 == 2 && echoes(env.data, ch)
	return r
}

var errTooLarge = errors.New("longer than allowed")

// capped is a reader that ends in an error, not in io.EOF, after left bytes.
type capped struct {
	r    io.Reader
	left int
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// fromREST says that a response can be pfREST's by its header.
func fromREST(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.ProtoMajor == 1 && resp.StatusCode >= 200 &&
		strings.EqualFold(strings.TrimSpace(kind), "application/json") && len(resp.Header["Content-Type"]) == 1 &&
		resp.Header.Get("Content-Encoding") == ""
}

// envelope is what pfREST wraps around every answer.
type envelope struct {
	code int
	id   string
	data jsontext.Value
}

// parse reads one whole JSON object without a member that stands twice, at any
// depth, and with exactly the members of an envelope.
func parse(text []byte) (e envelope, ok bool) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return e, false
	}
	delete(members, "_links") // of the HATEOAS setting
	code, data := members["code"], members["data"]
	var status, message *string
	var id string
	if len(members) != 5 || len(code) != 3 || data == nil ||
		json.Unmarshal(members["status"], &status) != nil || status == nil ||
		json.Unmarshal(members["message"], &message) != nil || message == nil ||
		json.Unmarshal(members["response_id"], &id) != nil || id == "" || len(id) > 80 ||
		strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || data.Kind() != '{' && data.Kind() != '[' {
		return e, false
	}
	for _, d := range code {
		if d < '0' || d > '9' {
			return e, false
		}
		e.code = e.code*10 + int(d-'0')
	}
	e.id, e.data = id, data
	return e, true
}

// echoes says that the object shows nothing else than what was sent: each of id,
// name and descr is absent or the very same, the position as a number too.
func echoes(data jsontext.Value, ch Change) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return false
	}
	if id, there := members["id"]; there && string(id) != strconv.FormatInt(ch.Locator, 10) {
		return false
	}
	for member, sent := range map[string]string{"name": ch.Name, "descr": ch.Descr} {
		shown, there := members[member]
		var text *string
		if there && (json.Unmarshal(shown, &text) != nil || text == nil || *text != sent) {
			return false
		}
	}
	return true
}
