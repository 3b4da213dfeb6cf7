package fakedocs

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// JSON answers with a document.
func JSON(body []byte) http.HandlerFunc { return Typed("application/json", body) }

// HTML answers with a page.
func HTML(body []byte) http.HandlerFunc { return Typed("text/html; charset=utf-8", body) }

// Typed answers with a body of a type, compressed when that was asked for.
func Typed(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if w.Header().Get("Cache-Control") == "" {
			w.Header().Set("Cache-Control", "max-age=600")
		}
		w.Header().Set("ETag", `"pretend-`+strconv.Itoa(len(body))+`"`)
		w.Header().Set("Set-Cookie", "visitor=you; Secure")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(compressed(body)) //nolint:errcheck // the client may have gone
			return
		}
		w.Write(body) //nolint:errcheck // the client may have gone
	}
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(body) //nolint:errcheck // a buffer never fails
	z.Close()     //nolint:errcheck // the same
	return b.Bytes()
}

// With sets headers before the answer; an empty value removes one that the answer
// would set.
func With(h http.HandlerFunc, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		h(w, r)
	}
}

// Status answers with a status and no body to speak of.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		w.Write([]byte("<html>status</html>")) //nolint:errcheck // the client may have gone
	}
}

// Redirect sends the client elsewhere.
func Redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

// Slow sends the body in pieces with a pause after each.
func Slow(contentType string, body []byte, pieces int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		rest := body
		for range pieces {
			n := min(len(rest), len(body)/pieces+1)
			if _, err := w.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
			http.NewResponseController(w).Flush() //nolint:errcheck // the next write tells
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-r.Context().Done():
				t.Stop()
				return
			}
		}
	}
}

// Silent takes the request and never answers, not even one who is just leaving: a
// handler that returns says 200 with no body, and a client that has sent its goodbye
// and has not closed yet can still take that.
func Silent() http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Huge sends blanks inside a JSON document until the client has had enough.
func Huge(contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		blanks := bytes.Repeat([]byte(" "), 64<<10)
		w.Write([]byte("{")) //nolint:errcheck // the next write tells
		for r.Context().Err() == nil {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	}
}

// Bomb sends a few kilobytes that unpack to size bytes.
func Bomb(contentType string, size int) http.HandlerFunc {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for left := size; left > 0; left -= len(blanks) {
		z.Write(blanks) //nolint:errcheck // a buffer never fails
	}
	z.Close() //nolint:errcheck // the same
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(b.Bytes()) //nolint:errcheck // the client may have gone
	}
}

// Cut sends the first half of what it announces and drops the connection.
func Cut(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body[:len(body)/2])           //nolint:errcheck // the connection is dropped anyway
		http.NewResponseController(w).Flush() //nolint:errcheck // the same
		panic(http.ErrAbortHandler)
	}
}

// Counted calls count and then answers.
func Counted(count func(), h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		count()
		h(w, r)
	}
}
