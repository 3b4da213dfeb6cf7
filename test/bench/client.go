package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"

	"pfsensemcp/test/bench/rig"
)

// lines is the least MCP client there is: it writes a line and reads a line, on
// one goroutine, so that hardly anything of what is measured is its own.
type lines struct {
	w    io.WriteCloser
	r    *bufio.Reader
	cmd  *exec.Cmd // nil on a socket
	id   int
	line []byte // of the request being written
}

// dial opens a session on mcpd's socket.
func dial(socket string) (*lines, error) {
	nc, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &lines{w: nc, r: bufio.NewReaderSize(nc, 1<<20)}
	return c, c.handshake()
}

// spawn starts a shim and opens a session through it.
func spawn(bin, socket string) (*lines, error) {
	c := &lines{cmd: exec.Command(bin+"/mcpd", "stdio", "--socket", socket)}
	c.cmd.Env = []string{}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.w, c.r = in, bufio.NewReaderSize(out, 1<<20)
	return c, c.handshake()
}

func (c *lines) handshake() error {
	if _, err := c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return err
	}
	_, err := io.WriteString(c.w, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// ask sends a request and returns the line of its answer without the line end,
// valid until the next one.
func (c *lines) ask(method, params string) ([]byte, error) {
	c.id++
	l := append(c.line[:0], `{"jsonrpc":"2.0","id":`...)
	l = strconv.AppendInt(l, int64(c.id), 10)
	l = append(append(append(l, `,"method":"`...), method...), `","params":`...)
	c.line = append(append(l, params...), "}\n"...)
	if _, err := c.w.Write(c.line); err != nil {
		return nil, err
	}
	answer, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("no answer to %s: %w", method, err)
	}
	want := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":`), int64(c.id), 10)
	if !bytes.HasPrefix(answer, want) || !bytes.HasPrefix(answer[len(want):], []byte(`,"result":`)) {
		return nil, fmt.Errorf("not the answer to %s: %.300s", method, answer)
	}
	return answer[:len(answer)-1], nil
}

// call calls a tool; an answer that says isError is an error here.
func (c *lines) call(tool, args string) ([]byte, error) {
	answer, err := c.ask("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
	if err == nil && bytes.HasSuffix(answer, []byte(`"isError":true}}`)) {
		return nil, fmt.Errorf("%s failed: %.300s", tool, answer)
	}
	return answer, err
}

// close ends the session, and the shim.
func (c *lines) close() error {
	err := c.w.Close()
	if c.cmd != nil {
		_, _ = io.Copy(io.Discard, c.r) // to the end of its output
		err = errors.Join(err, c.cmd.Wait())
	}
	return err
}

// raw reads the appliance as anybody would who wants nothing but the bytes.
type raw struct {
	a  *rig.Appliance
	tr *http.Transport
}

func newRaw(a *rig.Appliance) *raw {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.CA)
	return &raw{a: a, tr: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 64, DisableCompression: true,
	}}
}

func (g *raw) close() { g.tr.CloseIdleConnections() }

// get makes one GET and reads the body into buf.
func (g *raw) get(target string, buf *bytes.Buffer) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, g.a.URL+target, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", g.a.Key)
	req.Header.Set("Accept", "application/json")
	resp, err := g.tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	buf.Reset()
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", target, resp.Status)
	}
	return nil
}

// getAndScan makes the GETs one after the other and reads every token of every
// answer, keeping none. It returns the bytes read.
func (g *raw) getAndScan(targets []string) (n int, err error) {
	var buf bytes.Buffer
	var dec jsontext.Decoder
	for _, t := range targets {
		if err := g.get(t, &buf); err != nil {
			return n, err
		}
		n += buf.Len()
		dec.Reset(&buf)
		for {
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
