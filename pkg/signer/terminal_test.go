package signer

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/signer/internal/vault"
	"pfsensemcp/test/terminal"
)

// person is a terminal with a person at it.
type person struct {
	*terminal.Terminal
	t testing.TB
}

func newTerminal(t testing.TB) *person {
	t.Helper()
	return &person{terminal.New(t), t}
}

// wait waits until the screen shows the text n times, or the run has ended.
func (x *person) wait(text string, n int, ended <-chan struct{}) bool {
	limit := time.After(2 * time.Minute)
	for {
		if strings.Count(x.Text(), text) >= n {
			return true
		}
		select {
		case <-x.More:
		case <-ended:
			return strings.Count(x.Text(), text) >= n
		case <-limit:
			x.t.Fatalf("the screen never showed %q:\n%s", text, x.Text())
		}
	}
}

// answer is what a person types when the screen shows a question.
type answer struct{ question, types string }

var sayYes = []answer{{"anything else to stop: ", "yes\n"}}

// result is what became of a run.
type result struct {
	code        int
	shown, errs string
}

// machine is one owner's machine.
type machine struct {
	t   testing.TB
	dir string
	now func() time.Time
	n   int
}

// newMachine makes a machine with the pins of the examples and an owner's key in the
// open form.
func newMachine(t testing.TB, o authority.Owner, key ed25519.PrivateKey, clock string) *machine {
	t.Helper()
	m := &machine{t: t, dir: filepath.Join(t.TempDir(), "mcpsign"), now: func() time.Time { return at.At(clock) }}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m.put("pins.json", pinsFile(t, pin()))
	if key != nil {
		m.put(string(o)+".key", key.Seed())
	}
	return m
}

// put writes a file into the signer's directory.
func (m *machine) put(name string, b []byte) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), b, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// file writes a file that was carried to the machine.
func (m *machine) file(b []byte) string {
	m.t.Helper()
	m.n++
	path := filepath.Join(filepath.Dir(m.dir), fmt.Sprintf("in%d.json", m.n))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// out returns a name for a result.
func (m *machine) out() string {
	m.n++
	return filepath.Join(filepath.Dir(m.dir), fmt.Sprintf("out%d.json", m.n))
}

// run runs a command at a terminal where a person answers as told, in order.
func (m *machine) run(answers []answer, args ...string) result {
	m.t.Helper()
	x := newTerminal(m.t)
	var errs bytes.Buffer
	ended := make(chan struct{})
	var code int
	go func() {
		defer close(ended)
		code = Run(Env{In: x.Slave, Out: x.Slave, Err: &errs, Dir: m.dir, Version: "test", Now: m.now, cost: vault.Cost{Passes: 1, MemoryKiB: 8 << 10, Threads: 1}}, args)
	}()
	asked := map[string]int{}
	for _, a := range answers {
		asked[a.question]++
		if !x.wait(a.question, asked[a.question], ended) {
			break
		}
		if err := x.Type(a.types); err != nil {
			m.t.Fatal(err)
		}
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		m.t.Fatalf("the run does not end:\n%s", x.Text())
	}
	// The run has written all it will: one more line marks the end of the stream.
	if _, err := x.Slave.WriteString("<end>\n"); err != nil {
		m.t.Fatal(err)
	}
	x.wait("<end>", 1, nil)
	return result{code, strings.TrimSuffix(x.Text(), "<end>\n"), errs.String()}
}

// pin is the examples' executor as an owner pins it.
func pin() authority.Pin {
	return authority.Pin{
		Name: "edge firewall", StoreID: at.StoreID, NVIndexName: at.NVIndexName, ApplianceTarget: at.Intent().Appliance,
		Attestation: at.Executor(), Authorities: *at.Owners(),
	}
}

func pinsFile(t testing.TB, pins ...authority.Pin) []byte {
	t.Helper()
	b, err := (&authority.Pins{Executors: pins}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plan is the examples' plan with the digest of the pinned keys.
func plan(t testing.TB) change.Plan {
	t.Helper()
	p, x := at.Plan(), pin()
	set, err := x.AuthoritySet()
	if err != nil {
		t.Fatal(err)
	}
	p.Executor.AuthoritySet = set
	return p
}

// logged returns the log of signatures.
func (m *machine) logged() string {
	b, err := os.ReadFile(filepath.Join(m.dir, "signed.log"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(b)
}
