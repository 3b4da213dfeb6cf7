package witness

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/witness/wire"
)

// connection serves one request and closes.
func (s *Server) connection(ctx context.Context, raw net.Conn) {
	c := tls.Server(raw, s.tls)
	defer func() { _ = c.Close() }() // the answer was written, or there is none
	began := time.Now()
	_ = c.SetDeadline(began.Add(within)) // a connection without deadlines fails at the next call
	if err := c.HandshakeContext(ctx); err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "a client was refused", slog.String(logging.KeyOutcome, "denied"))
		return
	}
	who := fingerprint(c.ConnectionState().PeerCertificates[0])
	req, body, err := request(c)
	word, answer := wire.Malformed, []byte(nil)
	if err == nil {
		word, answer = s.answer(ctx, who, req, body)
	}
	status := http.StatusOK
	if word != "" {
		status = wire.Status(word)
		if answer, err = (wire.Refusal{Word: word}).Encode(); err != nil {
			return
		}
	}
	s.note(ctx, who, req, status, word, time.Since(began))
	_ = c.SetDeadline(time.Now().Add(within))
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(answer), answer) // who does not hear it finds out by reading
}

// note logs a request: who, what, and how it ended. Nothing that the peer wrote
// is in it.
func (s *Server) note(ctx context.Context, who Fingerprint, req *http.Request, status int, word string, took time.Duration) {
	what := "unknown"
	if req != nil && req.RequestURI == wire.ReadPath {
		what = wire.ReadPath
	} else if req != nil && req.RequestURI == wire.AdvancePath {
		what = wire.AdvancePath
	}
	level, outcome := slog.LevelInfo, "succeeded"
	if word != "" {
		level, outcome = slog.LevelWarn, "failed"
	}
	s.cfg.Log.LogAttrs(ctx, level, "witness request",
		slog.String(logging.KeyPath, what), slog.Int(logging.KeyStatus, status), slog.String(logging.KeyOutcome, outcome),
		slog.String(logging.KeyClass, word), slog.String(logging.KeyDetail, "certificate "+who.String()[:16]),
		slog.Int64(logging.KeyDurationMS, took.Milliseconds()))
}

var errRequest = errors.New("the request is not one of ours")

// request reads one request with its body.
func request(c io.Reader) (*http.Request, []byte, error) {
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(c, maxRequest)))
	if err != nil {
		return nil, nil, err
	}
	if req.ProtoMajor != 1 || req.ProtoMinor != 1 || len(req.TransferEncoding) > 0 || req.ContentLength < 0 || req.ContentLength > wire.MaxBody {
		return req, nil, errRequest
	}
	body := make([]byte, req.ContentLength)
	_, err = io.ReadFull(req.Body, body)
	return req, body, err
}

// answer carries a request out. It returns the word of a refusal, or "" and the
// answer.
func (s *Server) answer(ctx context.Context, who Fingerprint, req *http.Request, body []byte) (string, []byte) {
	var out []byte
	var err error
	switch req.Method + " " + req.RequestURI {
	case http.MethodGet + " " + wire.ReadPath:
		if len(body) > 0 {
			return wire.Malformed, nil
		}
		out, err = s.read(ctx)
		if err != nil {
			return readWord(err), nil
		}
	case http.MethodPost + " " + wire.AdvancePath:
		if !s.mayAdvance(who) {
			return wire.Forbidden, nil
		}
		o, perr := wire.ParseOrder(body)
		if perr != nil {
			return wire.Malformed, nil
		}
		left, ours := s.left(o)
		switch {
		case !ours:
			return wire.Malformed, nil
		case left <= 0:
			return wire.Stale, nil
		}
		out, err = s.advance(ctx, o.Expected, left)
		if err != nil {
			return advanceWord(err), nil
		}
	default:
		return wire.NoRoute, nil
	}
	return "", out
}

func (s *Server) read(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	facts, err := s.about(ctx)
	if err != nil {
		return nil, err
	}
	v, err := s.cfg.Counter.Read(ctx)
	if err != nil {
		return nil, err
	}
	return wire.Reading{Facts: facts, Value: v, Ticket: s.ticket(v)}.Encode()
}

// about reads the facts once; that the index is still the one with this Name is
// checked by every read.
func (s *Server) about(ctx context.Context) (wire.Facts, error) {
	s.mu.Lock()
	known := s.facts
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	f, err := s.cfg.Counter.Facts(ctx)
	if err != nil {
		return f, err
	}
	s.mu.Lock()
	s.facts = &f
	s.mu.Unlock()
	return f, nil
}

// advance gives the order as long as it has left: the counter looks at its
// deadline at the last moment before the increment.
func (s *Server) advance(ctx context.Context, expected int64, left time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	v, err := s.cfg.Counter.Advance(ctx, expected)
	if err != nil {
		return nil, err
	}
	return wire.Advanced{Value: v}.Encode()
}

// readWord is the word for a reading that failed: nothing can have happened.
func readWord(err error) string {
	if w := class(err); wire.Status(w) != 0 && w != wire.Unreachable {
		return w
	}
	return wire.Unavailable
}

// advanceWord is the word for an order that failed. An error that nobody classed
// proves nothing.
func advanceWord(err error) string {
	if w := class(err); wire.Status(w) != 0 {
		return w
	}
	return wire.Unreachable
}

func class(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Class
	}
	return ""
}
