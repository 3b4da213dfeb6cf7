package fakepf

import (
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/test/fakepf/data"
	"pfsensemcp/test/fakepf/php"
)

// maxRequest is the web server's bound of a request body.
const maxRequest = 200 << 20

// call is one request on its way through the checks.
type call struct {
	req    *http.Request
	path   string // normalised
	ep     *data.Endpoint
	method string
	user   string
	params php.Object
	body   []byte
	form   bool // params came from a form or the query, not from JSON
	fault  *Fault
	before map[string]*table // the configuration before a write, for Rollback and Lost
}

// ServeHTTP answers one request: faults first, then the checks in upstream's order. It
// is in the log before a byte of its answer is out, so that whoever has the answer finds
// it there.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &call{req: r, method: r.Method, path: normalise(r.URL.Path)}
	c.fault = s.faults.match(r.Method, c.path, r.URL.RawQuery)
	rec := s.log.begin(r, start)
	s.stop(r.Context(), r.Method, c.path)
	if s.opt.BlockAfter > 0 && s.failed.Load() >= int64(s.opt.BlockAfter) {
		rec.Fault = "blocked"
		s.log.end(rec, start)
		s.cut(w)
		return
	}
	var a *answer
	if c.fault != nil {
		rec.Fault = string(c.fault.Kind)
		a = s.before(c)
	}
	if a == nil {
		a = s.answer(c)
	}
	if c.fault != nil {
		c.fault.alter(a)
	}
	if a.status == http.StatusUnauthorized {
		s.failed.Add(1)
	}
	rec.User, rec.Status, rec.ResponseID = c.user, a.status, a.id
	rec.Body, rec.Bytes = string(c.body[:min(len(c.body), 8<<10)]), len(a.body)
	s.log.end(rec, start)
	s.send(w, c, a)
}

// normalise maps the spellings nginx and PHP take for the same page to one.
func normalise(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if t, ok := strings.CutSuffix(p, "/index.php"); ok && strings.HasPrefix(t, "/api/") {
		p = t
	}
	if len(p) > 1 && p != "/api/v2/" {
		p = strings.TrimSuffix(p, "/")
	}
	return p
}

// answer runs the checks in the order the real package was seen to have:
// enabled, interface, key and privilege, access list, Accept, method, body,
// endpoint fields, model.
func (s *Server) answer(c *call) *answer {
	switch {
	case c.path == "/" || strings.HasSuffix(c.path, ".php") || strings.HasSuffix(c.path, ".html"):
		a := html(200, loginPage)
		a.ctype = "text/html; charset=UTF-8"
		a.header.Set("Set-Cookie", "PHPSESSID=00000000000000000000000000000071; path=/; secure; HttpOnly")
		return a
	case c.path == "/api/v2" && !strings.HasSuffix(c.req.URL.Path, "/"):
		a := html(301, "<html><head><title>301 Moved Permanently</title></head></html>\r\n")
		a.header.Set("Location", "/api/v2/")
		return a
	case strings.HasPrefix(c.path, "/api/v2/schema/"):
		return s.schema(c)
	}
	c.ep = s.set.Endpoints[c.path]
	if c.ep == nil {
		return html(404, pageGone)
	}
	if c.method == http.MethodHead {
		return &answer{status: 405, ctype: jsonType, header: http.Header{}}
	}
	s.mu.RLock()
	st, wrecked := s.settings, s.wrecked
	s.mu.RUnlock()
	if wrecked {
		return html(500, pageXML)
	}
	if !st.Enabled {
		return fail(503, "ENDPOINT_REST_API_IS_NOT_ENABLED", "The REST API is currently not enabled.")
	}
	if !st.InterfaceAllowed {
		return fail(403, "ENDPOINT_INTERFACE_NOT_ALLOWED", "The requested action is not allowed by admin policy")
	}
	if c.method == http.MethodOptions {
		return fail(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", trace)
	}
	if a := s.authenticate(c, st); a != nil {
		return a
	}
	if !st.ClientAllowed {
		return fail(403, "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL", "The requested action is not allowed by admin policy")
	}
	binary, a := accept(c.req)
	if a != nil {
		return a
	}
	if !c.ep.Has(c.method) {
		return fail(405, "ENDPOINT_METHOD_NOT_ALLOWED", "Resource at "+c.path+" does not support the requested HTTP method `"+c.method+"`")
	}
	if st.ReadOnly && c.method != http.MethodGet {
		return fail(405, "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", "Resource at "+c.path+" cannot support the requested HTTP method `"+c.method+"` because the REST API is currently in read-only mode.")
	}
	if a := decodeRequest(c); a != nil {
		return a
	}
	if c.method == http.MethodGet {
		a = s.get(c)
	} else {
		a = s.write(c)
	}
	if binary && a.status == 200 {
		return fail(406, "BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED", "The requested resource cannot be encoded as a binary file.")
	}
	return a
}

// authenticate checks who calls and whether they may. An Authorization header
// of any kind beats the key, good or bad.
func (s *Server) authenticate(c *call, st Settings) *answer {
	denied := fail(401, "AUTH_AUTHENTICATION_FAILED", "Authentication failed.")
	if h := c.req.Header.Get("Authorization"); h != "" {
		user, pass, ok := c.req.BasicAuth()
		if !ok {
			return denied
		}
		if want, known := s.opt.Users[user]; !known || want != pass {
			denied.header.Set("WWW-Authenticate", `Basic realm="Login for pfSense REST API"`)
			return denied
		}
		c.user = user
		return nil
	}
	key := c.req.Header.Get("X-API-Key")
	s.mu.RLock()
	keys := s.keys
	s.mu.RUnlock()
	for _, k := range keys {
		if !st.KeyAuth || key == "" || k.Secret != key || k.Disabled {
			continue
		}
		c.user = k.User
		want := Privilege(c.ep.Path, c.method)
		for _, p := range k.Privileges {
			if p == want || p == "page-all" {
				return nil
			}
		}
		return fail(403, "AUTH_AUTHORIZATION_FAILED", "Authorization failed. You do not have sufficient privileges to access this resource.")
	}
	return denied
}

// accept compares the Accept header as one text, as upstream does. It returns
// whether the answer was asked for as a binary file.
func accept(r *http.Request) (binary bool, _ *answer) {
	h := r.Header.Get("Accept")
	if h == "" || h == "*/*" {
		return false, nil
	}
	name, _, _ := strings.Cut(h, ";")
	switch strings.ToLower(name) {
	case jsonType:
		return false, nil
	case "application/octet-stream":
		return true, nil
	}
	return false, fail(406, "CONTENT_HANDLER_ENCODE_NOT_FOUND", "No content handler exists for `"+h+"`. Change the value of your `Accept` header to a valid option and try again.")
}

// decodeRequest reads the parameters: from the query when there is no content
// type, from the body alone when it is JSON, whatever the method.
func decodeRequest(c *call) *answer {
	h := c.req.Header.Get("Content-Type")
	name, _, _ := strings.Cut(h, ";")
	switch strings.ToLower(name) {
	case "", "application/x-www-form-urlencoded":
		c.form = true
		q := c.req.URL.RawQuery
		if q == "" && name != "" {
			b, err := readBody(c.req)
			if err != nil {
				return html(413, page413)
			}
			q = string(b)
		}
		c.params = parseQuery(q)
		return nil
	case jsonType:
		b, err := readBody(c.req)
		if err != nil {
			return html(413, page413)
		}
		c.body = b
		if len(strings.TrimSpace(string(b))) == 0 {
			return nil
		}
		v, err := php.Decode(b)
		if err != nil {
			return fail(400, "JSON_CONTENT_HANDLER_COULD_NOT_DECODE_JSON", "Request body could not be decoded as JSON.")
		}
		switch v := v.(type) {
		case php.Object:
			c.params = v
		case nil, []any:
		default:
			return fail(500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", "Cannot assign a scalar to property RESTAPI\\Core\\Endpoint::$request_data of type array\n#0 {main}")
		}
		return nil
	case "application/octet-stream":
		return fail(415, "CONTENT_HANDLER_CANNOT_DECODE_CONTENT", "Content handler `application/octet-stream` does not support decoding content. Change the value of your `Content-Type` header to a valid option and try again.")
	}
	return fail(415, "CONTENT_HANDLER_DECODE_NOT_FOUND", "No content handler exists for `"+name+"`. Change the value of your `Content-Type` header to a valid option and try again.")
}

func readBody(r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
}

// send writes the answer as nginx would: chunked, compressed when asked for.
func (s *Server) send(w http.ResponseWriter, c *call, a *answer) {
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("Server", "nginx")
	if a.ctype != "" {
		h.Set("Content-Type", a.ctype)
	} else {
		h["Content-Type"] = nil
	}
	if c.fault != nil && s.sendFaulty(w, c, a) {
		return
	}
	if strings.Contains(c.req.Header.Get("Accept-Encoding"), "gzip") && a.ctype == jsonType && len(a.body) > 0 {
		h.Set("Content-Encoding", "gzip")
		w.WriteHeader(a.status)
		if z, err := gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil {
			z.Write(a.body) //nolint:errcheck // the client is gone: nothing to do
			z.Close()
		}
		return
	}
	if a.ctype == "text/html" {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if c.method != http.MethodHead {
		w.Write(a.body) //nolint:errcheck // the client is gone: nothing to do
	}
	if f, ok := w.(http.Flusher); ok && a.ctype == jsonType && len(a.body) > 0 {
		f.Flush()
	}
}

// cut ends the connection with a reset, no answer.
func (s *Server) cut(w http.ResponseWriter) {
	hj, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hj.Hijack()
	if err != nil {
		return
	}
	reset(conn)
}

// reset closes a connection so that the other side sees a reset.
func reset(conn net.Conn) {
	raw := conn
	if t, ok := conn.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if t, ok := raw.(*net.TCPConn); ok {
		t.SetLinger(0) //nolint:errcheck // a plain close is the next best
	}
	raw.Close()
}
