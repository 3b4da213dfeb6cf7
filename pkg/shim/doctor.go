package shim

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/shim/internal/place"
)

// doctorTimeout bounds the whole look. mcpd may wait two seconds for an executord that
// hangs, twice, and the host may be busy.
const doctorTimeout = 10 * time.Second

// Doctor writes what a shim on this account sees: the sockets, whether mcpd
// answers, its version, its protocol versions, and how large its list of tools
// is. It returns an error, already explained in the output, when mcpd cannot
// be used. dial may be nil.
func Doctor(ctx context.Context, w io.Writer, version string, sockets []string, dialer func(context.Context, string) (net.Conn, error)) error {
	if dialer == nil {
		dialer = place.Dial
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	row("shim", "%s", version)
	for _, p := range sockets {
		row("socket", "%s: %s", p, place.Describe(p))
	}
	began := time.Now()
	conn, path, err := place.Find(ctx, sockets, dialer)
	if err != nil {
		row("reachable", "no: %s", err)
		return err
	}
	defer conn.Close()
	row("reachable", "yes, %s in %.1f ms", path, float64(time.Since(began).Microseconds())/1000)
	if err := ask(ctx, conn, row); err != nil {
		row("answers", "no: %s", err)
		return err
	}
	return nil
}

// errSilent is what a stopped or overloaded mcpd looks like from here.
var errSilent = errors.New("mcpd took the connection and said nothing for 10 s; see its log")

// ask holds the short conversation. It uses the protocol without a handshake,
// which says the versions and leaves no session behind.
func ask(ctx context.Context, conn net.Conn, row func(string, string, ...any)) error {
	if t, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(t); err != nil {
			return errClosed
		}
	}
	l := &link{conn: conn, in: jsonline.NewReader(conn)}
	meta := []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpd stdio --doctor","version":"1"}}}`)
	found, err := l.call(1, "server/discover", meta)
	if err != nil {
		return err
	}
	server := "an unnamed server"
	if info, ok := member(found, "_meta", "io.modelcontextprotocol/serverInfo"); ok {
		name, _ := member(info, "name")
		v, _ := member(info, "version")
		server = plain(jsonline.Text(name) + " " + jsonline.Text(v))
	}
	row("server", "%s", server)
	if v, ok := member(found, "supportedVersions"); ok {
		row("protocol", "%s", plain(strings.Join(texts(v), " ")))
	}
	list, err := l.call(2, "tools/list", meta)
	if err != nil {
		return err
	}
	tools, ok := member(list, "tools")
	if !ok {
		return errors.New("the list of tools is not there")
	}
	row("tools", "%d, %d bytes", count(tools), len(tools))
	return nil
}

// call asks and returns the result.
func (l *link) call(id int, method string, params []byte) (jsontext.Value, error) {
	key, _ := jsonline.ParseID(fmt.Appendf(nil, "%d", id))
	req := jsonline.AppendRequest(nil, key, method, params)
	if !l.send(bytes.TrimSuffix(req, []byte("\n"))) {
		return nil, errClosed
	}
	for {
		line, err := l.in.Next()
		switch {
		case err != nil && l.refusal != "":
			return nil, l.refusal
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, errSilent
		case err != nil:
			return nil, errClosed
		}
		m, err := jsonline.Parse(line)
		if err != nil {
			return nil, errors.New("what listens there does not speak MCP")
		}
		if l.noteRefusal(m) || m.Kind != jsonline.Response || m.ID.Key() != key.Key() {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s is refused", method)
		}
		return bytes.Clone(m.Result), nil
	}
}

// member follows names into nested objects.
func member(v jsontext.Value, names ...string) (jsontext.Value, bool) {
	ok := true
	for _, n := range names {
		if v, ok = jsonline.Member(v, n); !ok {
			return nil, false
		}
	}
	return v, true
}

// texts returns the strings of a JSON array.
func texts(v jsontext.Value) (out []string) {
	elements, _, err := jsonline.Split(v)
	if err != nil {
		return nil
	}
	for _, e := range elements {
		out = append(out, jsonline.Text(e))
	}
	return out
}

func count(v jsontext.Value) int {
	elements, _, err := jsonline.Split(v)
	if err != nil {
		return 0
	}
	return len(elements)
}
