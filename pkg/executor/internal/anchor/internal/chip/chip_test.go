package chip

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"

	"pfsensemcp/pkg/errs"
)

// getRandom is a command that changes nothing.
func getRandom() []byte { return []byte{0x80, 0x01, 0, 0, 0, 12, 0, 0, 0x01, 0x7b, 0, 8} }

func answer(code uint32) []byte {
	b := []byte{0x80, 0x01, 0, 0, 0, 10, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[6:], code)
	return b
}

// device is a file that blocks like the kernel's: no deadline, no interruption.
type device struct {
	answers chan []byte
	wrote   atomic.Int32
}

func (d *device) Write(b []byte) (int, error) { d.wrote.Add(1); return len(b), nil }

func (d *device) Read(b []byte) (int, error) {
	a, ok := <-d.answers
	if !ok {
		return 0, io.EOF
	}
	return copy(b, a), nil
}

func (d *device) Close() error { return nil }

func over(d io.ReadWriteCloser) (*Port, *Conn) {
	p := &Port{Address: "device:/dev/tpmrm0", Timeout: time.Minute}
	return p, &Conn{port: p, link: &link{ctx: context.Background(), rw: d, timeout: p.Timeout, open: &p.open}}
}

func TestADeviceThatHangsIsGivenUpAndKeepsThePortBusy(t *testing.T) {
	d := &device{answers: make(chan []byte)}
	p, c := over(d)
	c.timeout = 50 * time.Millisecond
	if _, err := c.Send(getRandom()); !Late(err) {
		t.Fatal(err)
	}
	if !p.Busy() {
		t.Fatal("the call that was given up is forgotten")
	}
	if _, err := c.Send(getRandom()); !errors.Is(err, errBroken) || d.wrote.Load() != 1 {
		t.Fatal("a broken connection was used again")
	}
	d.answers <- answer(0) // the device wakes up
	for end := time.Now().Add(time.Minute); p.Busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the port stays busy")
		}
	}
}

// A process that was stopped, or a machine that slept, finds the answer and the end of
// its time at once.
func TestAnAnswerThatIsThereCountsWhateverTheClockSays(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := &link{ctx: ctx, timeout: -time.Second}
	for range 100 {
		done := make(chan result, 1)
		done <- result{answer: answer(0)}
		if r, returned := l.wait(done); r.err != nil || !returned {
			t.Fatal(r.err)
		}
	}
	if r, returned := l.wait(nil); r.err == nil || returned {
		t.Fatal("no answer was taken for one")
	}
}

func TestACallersEndBreaksOffACommandUntilItIsDetached(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d := &device{answers: make(chan []byte, 1)}
	_, c := over(d)
	c.ctx = ctx
	if _, err := c.Send(getRandom()); !errors.Is(err, context.Canceled) || d.wrote.Load() != 0 {
		t.Fatal(err)
	}
	_, c = over(d)
	c.ctx = ctx
	c.Detach()
	d.answers <- answer(0)
	if _, err := c.Send(getRandom()); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerThatIsNoneIsRefused(t *testing.T) {
	for name, a := range map[string][]byte{
		"too short": {0x80, 0x01, 0, 0, 0, 3}, "a length below the header": {0x80, 0x01, 0, 0, 0, 9, 0, 0, 0, 0},
		"a length beyond the bound": {0x80, 0x01, 0, 1, 0, 0, 0, 0, 0, 0}, "more than its length": append(answer(0), 1),
	} {
		d := &device{answers: make(chan []byte, 1)}
		d.answers <- a
		close(d.answers)
		_, c := over(d)
		if _, err := c.Send(getRandom()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	_, c := over(&device{})
	for _, command := range [][]byte{nil, make([]byte, headerLen-1), make([]byte, maxMessage+1)} {
		if _, err := c.Send(command); err == nil {
			t.Error("a command of no length was sent")
		}
	}
}

func TestAnIncrementAndADefinitionAreGivenOnceWhateverIsAnswered(t *testing.T) {
	for code, sent := range map[tpm2.TPMCC]int32{
		tpm2.TPMCCNVIncrement: 1, tpm2.TPMCCNVDefineSpace: 1, tpm2.TPMCCNVRead: retries + 1, tpm2.TPMCCGetRandom: retries + 1,
	} {
		d := &device{answers: make(chan []byte, 16)}
		for range cap(d.answers) {
			d.answers <- answer(uint32(tpm2.TPMRCRetry))
		}
		_, c := over(d)
		command := getRandom()
		binary.BigEndian.PutUint32(command[6:], uint32(code))
		got, err := c.Send(command)
		if err != nil || !bytes.Equal(got, answer(uint32(tpm2.TPMRCRetry))) || d.wrote.Load() != sent {
			t.Errorf("%x: given %d times, want %d: %v", code, d.wrote.Load(), sent, err)
		}
	}
}

func TestOnlyTheResourceManagedDeviceOrASocketIsAnAddress(t *testing.T) {
	for _, a := range []string{"device:/dev/tpmrm0", "device:/dev/tpmrm1", "unix:/run/swtpm/sock"} {
		if err := CheckAddress(a); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{"", "/dev/tpmrm0", "device:", "device:dev/tpmrm0", "device:/dev/tpm0", "unix:sock", "tcp:/x", "Device:/dev/tpmrm0"} {
		if err := CheckAddress(a); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func TestAFileIsNoDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tpm")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Port{Address: "device:" + path, Timeout: time.Minute}
	if _, err := p.Dial(context.Background()); err == nil {
		t.Fatal("a file was taken for a TPM")
	}
	p.Address = "device:" + path + "x"
	if _, err := p.Dial(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	// A character device is opened without the runtime's poller, so that reads
	// and writes are the kernel's blocking ones.
	p.Address = "device:/dev/null"
	c, err := p.Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(getRandom()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	c.End()
}

func TestN6WhatATPMSaysOfItselfMakesItsAssurance(t *testing.T) {
	for _, row := range []struct {
		device  bool
		machine Machine
		maker   string
		vendor  string
		want    string
	}{
		{true, BareMetal, "IFX", "SLB9670", HardwareWitness},
		{true, BareMetal, "STM", "", HardwareWitness},
		{true, BareMetal, "INTC", "Intel", HardwareWitness},
		{true, BareMetal, "AMD", "AMD", HardwareWitness},
		{true, BareMetal, "NTC", "rls NPCT 75x", HardwareWitness},
		{true, Virtual, "IFX", "SLB9670", Software},
		{true, MachineUnknown, "IFX", "SLB9670", Unknown},
		{true, MachineUnknown, "IBM", "SW   TPM", Software},
		{true, BareMetal, "IBM", "SW   TPM", Software},
		{true, BareMetal, "IBM", "", Software},
		{true, BareMetal, "MSFT", "xCG fTPM", Software},
		{true, BareMetal, "VMW", "VMware TPM", Software},
		{true, BareMetal, "GOOG", "vTPM", Software},
		{true, BareMetal, "AMZN", "NitroTPM", Software},
		{true, BareMetal, "IFX", "QEMU", Software},
		{true, BareMetal, "IFX", "TPM Simulator", Software},
		{true, BareMetal, "ZZZZ", "", Unknown},
		{false, BareMetal, "IFX", "SLB9670", Software},
	} {
		if got := assurance(row.device, row.machine, row.maker, row.vendor); got != row.want {
			t.Errorf("%+v is %s", row, got)
		}
	}
}

func TestN6TheProcessorsFlagsTellAVirtualMachine(t *testing.T) {
	for text, want := range map[string]Machine{
		"processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n": Virtual,
		"processor\t: 0\nflags\t\t: fpu vme lahf_lm\n":            BareMetal,
		"vmx flags\t: hypervisor\nflags\t\t: fpu\n":               BareMetal,
		"model name\t: hypervisor\nFeatures\t: fp asimd\n":        MachineUnknown,
		"flags\t\t: fpu nohypervisor\n":                           BareMetal,
		"":                                                        MachineUnknown,
	} {
		if got := machineOf(text); got != want {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// FuzzAnAnswerOfATPM feeds arbitrary bytes to everything that reads answers: what
// sits on the bus is not trusted.
func FuzzAnAnswerOfATPM(f *testing.F) {
	f.Add(answer(0))
	f.Add(append(answer(0), make([]byte, 64)...))
	// GetCapability: one handle
	f.Add([]byte{0x80, 1, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0x50, 0, 0x20})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerLen {
			binary.BigEndian.PutUint32(b[2:], uint32(len(b)))
		}
		feed := func() *Conn {
			d := &device{answers: make(chan []byte, 16)}
			for range cap(d.answers) {
				d.answers <- b
			}
			close(d.answers)
			_, c := over(d)
			c.timeout = time.Minute
			return c
		}
		_, _ = feed().Find(0x01500020)
		_, _ = feed().Indices(0x01000000, 0x01bfffff)
		_, _ = feed().Self(BareMetal)
		_ = feed().Authorize([]byte("0123456789abcdef"))
	})
}
