package chip

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pause"
)

const (
	// headerLen is what every command and response begins with: tag, length, code.
	headerLen = 10
	// maxMessage is the largest command or response of a TPM.
	maxMessage = 4096
	// retries bounds how often one command is given again to a TPM that says it
	// is busy.
	retries = 3
	// retryPause is the first wait before that; it doubles.
	retryPause = 20 * time.Millisecond
)

var (
	errTimeout = errors.New("the TPM did not answer in time")
	errBroken  = errors.New("the connection to the TPM failed before")
	errFrame   = errors.New("the TPM's answer is malformed")
)

// Port is where a TPM is, and the account of what was asked there. An increment
// must not start while it is Busy.
type Port struct {
	Address string        // device:PATH or unix:PATH, as CheckAddress accepts
	Timeout time.Duration // of one command, and of connecting
	open    atomic.Int32  // exchanges that have not returned
}

// Busy says whether a call that was given up has not returned: it might still
// change something.
func (p *Port) Busy() bool { return p.open.Load() > 0 }

// Socket says whether the address is a socket: an emulator, without a resource
// manager, that serves one user at a time.
func (p *Port) Socket() bool { return strings.HasPrefix(p.Address, "unix:") }

// Dial opens a connection for one operation. ctx bounds all of its commands until
// Detach.
func (p *Port) Dial(ctx context.Context) (*Conn, error) {
	dctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	rw, err := dial(dctx, p.Address)
	if err != nil {
		return nil, err
	}
	return &Conn{link: &link{ctx: ctx, rw: rw, timeout: p.Timeout, open: &p.open}, port: p}, nil
}

// dial opens a connection to an address that CheckAddress accepts.
func dial(ctx context.Context, address string) (io.ReadWriteCloser, error) {
	kind, path, _ := strings.Cut(address, ":")
	if kind == "unix" {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	// Opened without O_NONBLOCK and kept from the runtime's poller: with it the
	// kernel's driver queues a command and a read before the answer is the end of
	// the file. The caller's deadline is kept by link instead.
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	fi, err := f.Stat()
	if err == nil && fi.Mode()&os.ModeCharDevice == 0 {
		err = errs.New(errs.Invalid, "the path of the TPM is not a character device")
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return nil, err
	}
	return f, nil
}

// CheckAddress accepts device:PATH and unix:PATH. It names no /dev/tpm0: without
// the kernel's resource manager two users of the TPM evict each other's sessions.
func CheckAddress(address string) error {
	kind, path, ok := strings.Cut(address, ":")
	switch {
	case !ok || kind != "device" && kind != "unix" || !strings.HasPrefix(path, "/"):
		return errs.New(errs.Invalid, "the address of the TPM must be device:PATH or unix:PATH, the path absolute").WithClass("configuration").
			WithNext("device:/dev/tpmrm0 on a real host, unix:PATH of swtpm in a laboratory")
	case kind == "device" && strings.HasPrefix(path, "/dev/tpm") && !strings.HasPrefix(path, "/dev/tpmrm"):
		return errs.New(errs.Invalid, "the address of the TPM is not the resource-managed device").WithClass("configuration").
			WithNext("set device:/dev/tpmrm0")
	}
	return nil
}

// link is one connection to the TPM, for one operation. It implements go-tpm's
// transport.TPM, which knows neither deadlines nor a bound on retries: its own
// wrapper gives an increment that the TPM called busy again, up to eleven times.
// After an error the link is broken and only Close is left.
type link struct {
	ctx     context.Context // of the operation; replaced once an increment was issued
	rw      io.ReadWriteCloser
	timeout time.Duration
	open    *atomic.Int32 // exchanges of the owner that have not returned
	broken  bool
}

// once are the commands that are given to the TPM once, whatever it answers: an
// error code is not authenticated, so it proves nothing about what happened.
func once(command []byte) bool {
	code := tpm2.TPMCC(binary.BigEndian.Uint32(command[6:]))
	return code == tpm2.TPMCCNVIncrement || code == tpm2.TPMCCNVDefineSpace
}

// Send gives a command to the TPM and returns its answer, as go-tpm asks.
func (l *link) Send(command []byte) ([]byte, error) {
	if len(command) < headerLen || len(command) > maxMessage {
		return nil, errFrame
	}
	gap := retryPause
	for try := 0; ; try++ {
		answer, err := l.exchange(command)
		if err != nil {
			return nil, err
		}
		busy := tpm2.TPMRC(binary.BigEndian.Uint32(answer[6:])) == tpm2.TPMRCRetry
		if !busy || try == retries || once(command) {
			return answer, nil
		}
		if err := pause.For(l.ctx, gap); err != nil {
			return nil, err
		}
		gap *= 2
	}
}

// exchange writes one command and reads its answer, in a goroutine of its own
// because a read or write of a device cannot be interrupted. When it gives a
// device up, the call may still be running: open counts it.
func (l *link) exchange(command []byte) ([]byte, error) {
	if l.broken {
		return nil, errBroken
	}
	if err := l.ctx.Err(); err != nil {
		l.broken = true
		return nil, err
	}
	done := make(chan result, 1)
	own := slices.Clone(command) // the caller's may change once we have given up
	l.open.Add(1)
	go func() {
		answer, err := roundTrip(l.rw, own)
		l.open.Add(-1) // before the answer is seen, or the next operation would find us busy
		done <- result{answer, err}
	}()
	r, returned := l.wait(done)
	if r.err != nil {
		if _, socket := l.rw.(net.Conn); socket {
			// Closing a socket ends what reads or writes it; of a device it does not.
			_ = l.rw.Close() // it failed already
			if !returned {
				<-done
			}
		}
		l.broken = true
		return nil, r.err
	}
	return r.answer, nil
}

// result is how an exchange ended.
type result struct {
	answer []byte
	err    error
}

// wait waits for an exchange to end, or for its time to, and says whether it returned.
// A process that was stopped finds both at once: an answer that is there counts.
func (l *link) wait(done <-chan result) (result, bool) {
	t := time.NewTimer(l.timeout)
	defer t.Stop()
	err := errTimeout
	select {
	case r := <-done:
		return r, true
	case <-t.C:
	case <-l.ctx.Done():
		err = l.ctx.Err()
	}
	select {
	case r := <-done:
		return r, true
	default:
		return result{err: err}, false
	}
}

// roundTrip writes a command and reads the answer to its end.
func roundTrip(rw io.ReadWriter, command []byte) ([]byte, error) {
	if _, err := rw.Write(command); err != nil {
		return nil, err
	}
	buf := make([]byte, maxMessage)
	n, err := io.ReadAtLeast(rw, buf, headerLen)
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(buf[2:])
	if size < headerLen || size > maxMessage || uint32(n) > size {
		return nil, errFrame
	}
	if _, err := io.ReadFull(rw, buf[n:size]); err != nil {
		return nil, err
	}
	return buf[:size], nil
}

// Close ends the connection. What the TPM has received it may still carry out.
func (l *link) Close() error {
	l.broken = true
	return l.rw.Close()
}
