// Package rawmcp is an MCP client for tests that shares no code with the SDK or
// with our own framing: JSON-RPC lines by bufio and encoding/json, over a
// socket or over a process's standard input and output. What it understands,
// any client can.
package rawmcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Wait bounds every wait for a line.
const Wait = 2 * time.Minute

// The protocol versions with a handshake, newest first, and the one without.
var (
	HandshakeVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
	ModernVersion     = "2026-07-28"
)

// Client is one MCP session. Call and Tool are for one caller at a time; Send
// and Line are the lines themselves.
type Client struct {
	w      io.WriteCloser
	lines  chan string
	end    error // why the lines ended; read it after lines is closed
	cmd    *exec.Cmd
	id     int
	modern bool

	mu    sync.Mutex
	notes []string // notifications met while waiting for an answer
}

// Reply is one answer.
type Reply struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
	Method string          `json:"method"` // of a notification
	Line   string          `json:"-"`
}

// Error is a protocol error.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// Error returns code and message.
func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// ToolResult is the result of a tool call.
type ToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

// Text returns the first text block.
func (r ToolResult) Text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// New returns a client on a connection that is open.
func New(r io.Reader, w io.WriteCloser) *Client {
	c := &Client{w: w, lines: make(chan string, 64)}
	go func() {
		defer close(c.lines)
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				if c.end = err; line != "" {
					c.end = fmt.Errorf("half a line at the end: %q", line)
				}
				return
			}
			c.lines <- line[:len(line)-1]
		}
	}()
	return c
}

// Dial returns a client on mcpd's socket.
func Dial(socket string) (*Client, error) {
	nc, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return New(nc, nc), nil
}

// Start runs a program, `mcpd stdio` say, and returns a client on its standard
// input and output. Standard error goes to stderr, nil for nowhere.
func Start(ctx context.Context, stderr *os.File, name string, args ...string) (*Client, error) {
	return StartAs(ctx, nil, stderr, name, args...)
}

// StartAs is Start as another user, for a caller that is root; nil is the
// caller's own.
func StartAs(ctx context.Context, user *syscall.Credential, stderr *os.File, name string, args ...string) (*Client, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	if stderr != nil {
		cmd.Stderr = stderr
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := New(out, in)
	c.cmd = cmd
	return c, nil
}

// Process returns the program that Start ran; nil after Dial.
func (c *Client) Process() *os.Process {
	if c.cmd == nil {
		return nil
	}
	return c.cmd.Process
}

// CloseInput ends the input of a program that Start ran; the lines that it still
// owes come, and then Close.
func (c *Client) CloseInput() error { return c.w.Close() }

// Close ends the input, waits for the rest of the lines and, after Start, for
// the program's end. It returns the program's failure, or an end of the lines
// in the middle of one.
func (c *Client) Close() error {
	_ = c.w.Close()
	for range c.lines {
	}
	if c.cmd != nil {
		if err := c.cmd.Wait(); err != nil {
			return err
		}
	}
	if c.end != nil && !errors.Is(c.end, io.EOF) && !errors.Is(c.end, net.ErrClosed) {
		return c.end
	}
	return nil
}

// Send writes one line as it is.
func (c *Client) Send(line string) error {
	_, err := io.WriteString(c.w, line+"\n")
	return err
}

// Line returns the next line.
func (c *Client) Line() (string, error) {
	t := time.NewTimer(Wait)
	defer t.Stop()
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", fmt.Errorf("no more lines: %w", c.end)
		}
		return line, nil
	case <-t.C:
		return "", errors.New("no line came in time")
	}
}

// Next returns the next line, read as a message.
func (c *Client) Next() (Reply, error) {
	line, err := c.Line()
	if err != nil {
		return Reply{}, err
	}
	r := Reply{Line: line}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return Reply{}, fmt.Errorf("not a message: %q", line)
	}
	return r, nil
}

// Call asks and returns the answer with the same id; notifications that come
// first are kept for Notes.
func (c *Client) Call(method string, params any) (Reply, error) {
	c.id++
	id := fmt.Sprint(c.id)
	p, err := c.params(params)
	if err != nil {
		return Reply{}, err
	}
	if err := c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"` + p + `}`); err != nil {
		return Reply{}, err
	}
	for {
		r, err := c.Next()
		if err != nil {
			return Reply{}, err
		}
		if r.Method != "" {
			c.mu.Lock()
			c.notes = append(c.notes, r.Line)
			c.mu.Unlock()
			continue
		}
		if string(r.ID) != id {
			return Reply{}, fmt.Errorf("an answer to %s while %s was asked: %s", r.ID, id, r.Line)
		}
		if r.Error != nil {
			return r, r.Error
		}
		return r, nil
	}
}

// params renders the params of a call; without a handshake every call carries
// the version and the client's capabilities.
func (c *Client) params(v any) (string, error) {
	if v == nil && !c.modern {
		return "", nil
	}
	if !c.modern {
		b, err := json.Marshal(v)
		return `,"params":` + string(b), err
	}
	m := map[string]any{}
	if v != nil {
		b, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(b, &m); err != nil {
			return "", err
		}
	}
	m["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    ModernVersion,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "rawmcp", "version": "1"},
	}
	b, err := json.Marshal(m)
	return `,"params":` + string(b), err
}

// Notes returns the notifications met so far.
func (c *Client) Notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.notes...)
}

// Initialize begins a session of one of HandshakeVersions and returns the
// result.
func (c *Client) Initialize(version string) (json.RawMessage, error) {
	r, err := c.Call("initialize", map[string]any{
		"protocolVersion": version, "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "rawmcp", "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	return r.Result, c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// Modern makes every later call one of ModernVersion, which has no handshake,
// and asks the server what it is.
func (c *Client) Modern() (json.RawMessage, error) {
	c.modern = true
	r, err := c.Call("server/discover", nil)
	return r.Result, err
}

// Tools returns the names of the tools.
func (c *Client) Tools() ([]string, error) {
	r, err := c.Call("tools/list", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// Tool calls a tool. A result that says isError is no error here.
func (c *Client) Tool(name string, args any) (ToolResult, error) {
	if args == nil {
		args = map[string]any{}
	}
	r, err := c.Call("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return ToolResult{}, err
	}
	var out ToolResult
	return out, json.Unmarshal(r.Result, &out)
}
