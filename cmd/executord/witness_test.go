package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/witness/wire"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/swtpm"
)

// put writes an owner-only file.
func put(t *testing.T, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pair makes a certificate for 127.0.0.1 and writes it and its key.
func pair(t *testing.T, dir, name string) (c tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile = put(t, dir, name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	keyFile = put(t, dir, name+"-key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pk}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, certFile, keyFile
}

// freePort is one of an address that nobody else uses: what connects out from 127.0.0.1
// meanwhile may be given the same port.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+mrand.IntN(254), mrand.IntN(256), 1+mrand.IntN(254)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// site of a witness: its settings file, without the Name that provisioning prints.
func witnessSite(t *testing.T, tpm string) (dir, listen string, client tls.Certificate, text, secret string) {
	t.Helper()
	dir = daemontest.Dir(t)
	auth, err := keyfile.NewCounterAuth()
	if err != nil {
		t.Fatal(err)
	}
	_, cert, key := pair(t, dir, "own")
	client, _, _ = pair(t, dir, "client")
	sum := sha256.Sum256(client.Certificate[0])
	listen = freePort(t)
	text = fmt.Sprintf(`sandbox = "available"
lab = true
listen = %q
[anchor]
tpm = %q
nv_index = 0x01500020
# nv_index_name
[tls]
certificate = %q
[clients]
advance = [%q]
[credentials]
nv_auth = %q
tls_key = %q
`, listen, tpm, cert, hex.EncodeToString(sum[:]), put(t, dir, "auth", auth), key)
	return dir, listen, client, text, strings.TrimSpace(string(auth))
}

func TestReview26AWitnessIsProvisionedStepByStepAndServesInItsSandbox(t *testing.T) {
	tpm := swtpm.New(t)
	dir, listen, client, text, secret := witnessSite(t, tpm.Address())
	config := put(t, dir, "witness.toml", []byte(text))
	step := func(name, typed string) (string, error) {
		var out bytes.Buffer
		o := provisioning{config: config, step: name, handle: 0x01500020}
		err := o.run(strings.NewReader(typed+"\n"), &out)
		return out.String(), err
	}
	if out, err := step("", ""); err != nil || !strings.Contains(out, "step          S2") || !strings.Contains(out, "IBM, software") {
		t.Fatal(out, err)
	}
	if _, err := step("--define", "yes"); err == nil {
		t.Fatal("defined without confirmation")
	}
	if _, err := step("--first", "0x01500020"); err == nil {
		t.Fatal("incremented what is not defined")
	}
	if out, err := step("--define", "0x01500020"); err != nil || !strings.Contains(out, "defined") {
		t.Fatal(out, err)
	}
	if _, err := step("--define", "0x01500020"); err == nil {
		t.Fatal("defined twice")
	}
	out, err := step("--first", "0x01500020")
	if err != nil {
		t.Fatal(out, err)
	}
	_, name, ok := strings.Cut(out, "nv_index_name = ")
	if !ok || strings.Contains(out, secret) {
		t.Fatal(out)
	}
	put(t, dir, "witness.toml", []byte(strings.Replace(text, `# nv_index_name`, "nv_index_name = "+strings.TrimSpace(name), 1)))

	p := daemontest.Start(t, daemontest.Options{Args: []string{"witness", "--config", config}, Env: []string{daemontest.RunMain + "=1"}})
	var first, r wire.Reading
	p.Until("the witness to serve", func() bool {
		body, err := call(listen, client, "GET "+wire.ReadPath+" HTTP/1.1\r\nHost: w\r\n\r\n")
		if err != nil {
			return false
		}
		first, err = wire.ParseReading(body)
		return err == nil
	})
	var answer string
	p.Until("an order that does not grow old on a busy machine", func() bool {
		body, err := call(listen, client, "GET "+wire.ReadPath+" HTTP/1.1\r\nHost: w\r\n\r\n")
		if err != nil {
			return false
		}
		if r, err = wire.ParseReading(body); err != nil {
			return false
		}
		order, err := wire.Order{Expected: r.Value, Ticket: r.Ticket}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		body, err = call(listen, client, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n%s", wire.AdvancePath, len(order), order))
		if err != nil {
			t.Fatal(err, p.Output())
		}
		answer = string(body)
		return answer != `{"error":"stale"}` && answer != `{"error":"anchor_unavailable"}` // with both nothing happened
	})
	if r.Value != first.Value || answer != fmt.Sprintf(`{"value":%d}`, first.Value+1) {
		t.Fatal(answer, p.Output())
	}
	p.Stop()
	for _, wall := range []string{"seccomp", "landlock_files", "undumpable", "no_new_privs"} {
		if !strings.Contains(p.Output(), wall) {
			t.Errorf("it served without %s", wall)
		}
	}
	if strings.Contains(p.Output(), secret) {
		t.Fatal("the secret is in the log")
	}
}

// call sends one request and returns the body of the answer.
func call(addr string, client tls.Certificate, raw string) ([]byte, error) {
	// The test is about the process; whom a client believes is tested elsewhere.
	c, err := tls.Dial("tcp", addr, &tls.Config{Certificates: []tls.Certificate{client}, InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, raw); err != nil {
		return nil, err
	}
	got, err := io.ReadAll(c)
	_, body, _ := bytes.Cut(got, []byte("\r\n\r\n"))
	return body, err
}

func TestAWitnessServesNothingWithoutThePinnedName(t *testing.T) {
	dir, _, _, text, _ := witnessSite(t, "unix:/nowhere/tpm")
	p := daemontest.Start(t, daemontest.Options{
		Args: []string{"witness", "--config", put(t, dir, "witness.toml", []byte(text))}, Env: []string{daemontest.RunMain + "=1"},
	})
	if code := p.Wait(); code != 1 || !strings.Contains(p.Output(), "nv_index_name") {
		t.Fatalf("%d: %s", code, p.Output())
	}
}

func TestTheSettingsOfAWitnessAreStrict(t *testing.T) {
	dir, listen, _, text, _ := witnessSite(t, "unix:/nowhere/tpm")
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string, env ...string) error {
		return conf.Load(&witnessSettings{}, conf.Options{Path: put(t, dir, "w.toml", []byte(text)), Env: env})
	}
	if err := read(text); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][2]string{
		{"lab = true", "lab = false"},
		{host + ":", "localhost:"},
		{host + ":", ":"},
		{"[clients]", "[clients]\nwrite = []"},
		{"nv_index = 0x01500020\n", ""},
		{`sandbox = "available"`, `socket_dir = "/run"`},
		{`advance = ["`, `advance = ["00`},
		{"advance = [", "read = ["},
	} {
		if err := read(strings.Replace(text, row[0], row[1], 1)); err == nil {
			t.Errorf("%q instead of %q was accepted", row[1], row[0])
		}
	}
	if err := read(text, "PFSENSE_SANDBOX=available"); err == nil {
		t.Error("the environment was heard")
	}
}

func TestProvisioningNeedsATerminal(t *testing.T) {
	file, err := os.Open(put(t, t.TempDir(), "in", []byte("0x01500020\n")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, in := range []io.Reader{strings.NewReader("0x01500020\n"), file} {
		var stderr bytes.Buffer
		if code := provision([]string{"--config", "/nowhere", "--define", "0x01500020"}, in, io.Discard, &stderr); code != 1 || !strings.Contains(stderr.String(), "terminal") {
			t.Fatalf("%d: %s", code, stderr.String())
		}
	}
	for _, args := range [][]string{{"x"}, {"--define"}, {"--define", "x"}, {"--define", "1", "--first", "1"}, {"--define", "0x100000000"}} {
		if code := provision(args, file, io.Discard, io.Discard); code != 2 {
			t.Errorf("%v: %d", args, code)
		}
	}
	if code := provision([]string{"--help"}, file, io.Discard, io.Discard); code != 0 {
		t.Error(code)
	}
}
