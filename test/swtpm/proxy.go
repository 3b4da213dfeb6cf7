package swtpm

import (
	"bytes"
	"encoding/binary"
	"net"
	"path/filepath"
	"sync"
)

// The command codes that tests look for.
const (
	NVDefineSpace = 0x12a
	NVIncrement   = 0x134
	NVRead        = 0x14e
	NVReadPublic  = 0x169
)

// Code returns the command code of a command.
func Code(command []byte) uint32 { return binary.BigEndian.Uint32(command[6:]) }

// Answer returns an answer without parameters: 0 for success, or an error code.
func Answer(code uint32) []byte {
	b := []byte{0x80, 0x01, 0, 0, 0, 10, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[6:], code)
	return b
}

// Proxy stands between a program and the TPM. It records every byte and may change
// what is answered.
type Proxy struct {
	tpm  *TPM
	sock string

	mu    sync.Mutex
	hook  func(command []byte, forward func() []byte) []byte
	codes []uint32
	wire  bytes.Buffer
	conns int
	up    net.Conn // of the connection that is served
}

// Send gives a command of the test's own to the TPM, from within a hook: it
// implements transport.TPM.
func (p *Proxy) Send(command []byte) ([]byte, error) {
	p.mu.Lock()
	up := p.up
	p.mu.Unlock()
	if _, err := up.Write(command); err != nil {
		return nil, err
	}
	return message(up)
}

// Proxy starts one on a socket of its own.
func (t *TPM) Proxy() *Proxy {
	t.tb.Helper()
	p := &Proxy{tpm: t, sock: filepath.Join(t.dir, "proxy")}
	l, err := net.Listen("unix", p.sock)
	if err != nil {
		t.tb.Fatal(err)
	}
	t.tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(c)
		}
	}()
	return p
}

// Address returns unix: and the path of the proxy's socket.
func (p *Proxy) Address() string { return "unix:" + p.sock }

// Hook sets what is done with each command. forward gives it to the TPM and
// returns the answer, nil when the connection broke; the hook returns what the
// program gets, nil to break its connection. A nil hook forwards.
func (p *Proxy) Hook(hook func(command []byte, forward func() []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// Count returns how many commands with a code the program has sent.
func (p *Proxy) Count(code uint32) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.codes {
		if c == code {
			n++
		}
	}
	return n
}

// Connections returns how many the program has opened.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// Wire returns every byte that has crossed, both ways.
func (p *Proxy) Wire() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.wire.Bytes())
}

// serve serves one connection; the TPM takes one at a time, and so does this.
func (p *Proxy) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	p.mu.Lock()
	p.conns++
	p.mu.Unlock()
	up, err := net.Dial("unix", p.tpm.sock)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	p.mu.Lock()
	p.up = up
	p.mu.Unlock()
	for {
		command, err := message(c)
		if err != nil {
			return
		}
		p.mu.Lock()
		hook := p.hook
		p.codes = append(p.codes, Code(command))
		p.wire.Write(command)
		p.mu.Unlock()
		forward := func() []byte {
			if _, err := up.Write(command); err != nil {
				return nil
			}
			answer, err := message(up)
			if err != nil {
				return nil
			}
			return answer
		}
		var answer []byte
		if hook == nil {
			answer = forward()
		} else {
			answer = hook(command, forward)
		}
		if answer == nil {
			return
		}
		p.mu.Lock()
		p.wire.Write(answer)
		p.mu.Unlock()
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}
