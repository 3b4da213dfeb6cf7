// Package talk owns a raw MCP client of the shim for the demonstration: JSON lines, no MCP
// library, so that what is shown is what crosses the wire.
//
// Only packages of supervise import it. It must never reach mcpd but through the
// shim's standard input and output.
//
// The attack it stops: a demonstration that shows what no client would meet.
package talk

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"pfsensemcp/pkg/errs"
)

// Within bounds one step of the Client: the daemon's own deadline for
// a call is 45 s.
const Within = 60 * time.Second

// Answer is what came back.
type Answer struct {
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
	ID     int            `json:"id"`
}

// ToolAnswer is the part of a tools/call result that the checks read.
type ToolAnswer struct {
	IsError    bool `json:"isError"`
	Content    []struct{ Text string }
	Structured map[string]jsontext.Value `json:"structuredContent"`
}

// Tool decodes a's result as a tool's.
func (a Answer) Tool() (ToolAnswer, error) {
	var t ToolAnswer
	if len(a.Error) > 0 {
		return t, errors.New("the call was answered with a protocol error")
	}
	err := json.Unmarshal(a.Result, &t, json.MatchCaseInsensitiveNames(true))
	return t, err
}

// Client is one conversation.
type Client struct {
	in    io.WriteCloser
	lines chan []byte
	cmd   *exec.Cmd
	ctx   context.Context
}

// Dial starts the shim as an MCP client would.
func Dial(ctx context.Context, path, socket string, stderr io.Writer) (*Client, error) {
	cmd := exec.CommandContext(ctx, path, "stdio", "--socket", socket)
	cmd.Env = []string{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the shim cannot be started")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the shim cannot be started")
	}
	if err := cmd.Start(); err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the shim cannot be started")
	}
	c := &Client{in: in, lines: make(chan []byte), cmd: cmd, ctx: ctx}
	go func() {
		defer close(c.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			select {
			case c.lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return c, nil
}

// Call sends a request and waits for its answer; it returns the answer's size
// in bytes too.
func (c *Client) Call(id int, method, params string) (Answer, int, error) {
	var a Answer
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		return a, 0, errors.New("the shim is gone")
	}
	t := time.NewTimer(Within)
	defer t.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return a, 0, errors.New("the shim ended")
			}
			a = Answer{}
			if err := json.Unmarshal(line, &a); err != nil {
				return a, 0, errors.New("the shim wrote something that is not a JSON-RPC message")
			}
			if a.ID == id && (len(a.Result) > 0 || len(a.Error) > 0) {
				return a, len(line), nil
			}
		case <-t.C:
			return a, 0, errors.New("no answer in time")
		case <-c.ctx.Done():
			return a, 0, c.ctx.Err()
		}
	}
}

// Notify sends a notification.
func (c *Client) Notify(method string) error {
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":%q}`+"\n", method)
	return err
}

// Close ends the Client as a client does: it closes the shim's input.
func (c *Client) Close() {
	_ = c.in.Close() // the shim sees end of input either way
	for range c.lines {
	}
	_ = c.cmd.Wait() // its exit code says nothing that the steps did not
}
