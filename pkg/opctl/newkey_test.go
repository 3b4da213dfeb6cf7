package opctl

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/keyfile"
)

// making runs `mcpctl keys new` at a terminal.
func making(t *testing.T, answer string, args ...string) (code int, shown, out string) {
	t.Helper()
	x := newTerminal(t)
	var o bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- Run(context.Background(), Env{In: x.Slave, Out: &o, Err: x.Slave, Now: clock}, append([]string{"keys", "new"}, args...))
	}()
	if answer != "" {
		x.asks(question)
		x.types(answer)
	}
	code = <-done
	const end = "[the command ended]" // behind all that it showed
	if _, err := x.Slave.WriteString(end); err != nil {
		t.Fatal(err)
	}
	x.asks(end)
	return code, x.Text(), o.String()
}

func TestANewKeyIsOneThatExecutordReads(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	for _, c := range []struct {
		args  string
		check func(b []byte) (secret string, err error)
		says  []string
	}{
		{"--kind root --id k2 --epoch 2", func(b []byte) (string, error) {
			r, err := keyfile.ParseRoot(b)
			if err == nil && (r.KeyID != "k2" || r.Epoch != 2) {
				t.Errorf("%s, epoch %d", r.KeyID, r.Epoch)
			}
			return string(b[len(b)-64:]), err
		}, []string{"a root key, new", "k2, epoch 2", "next: as root: systemd-creds encrypt --name=next-root-key", "mcpctl keys rotate"}},
		{"--kind attestation --id executor-2", func(b []byte) (string, error) {
			a, err := keyfile.ParseAttestation(b)
			if err == nil && a.KeyID != "executor-2" {
				t.Errorf("%s", a.KeyID)
			}
			return string(b[len(b)-64:]), err
		}, []string{"an attestation key, new", "executor-2  key SHA-256 ", "mcpctl keys pins"}},
		{"--kind counter-auth", func(b []byte) (string, error) {
			_, err := keyfile.ParseCounterAuth(b)
			return strings.TrimSpace(string(b)), err
		}, []string{"a counter's secret, new", "mcpctl anchor provision"}},
	} {
		path := dir + "/" + strings.Fields(c.args)[1]
		args := append(strings.Fields(c.args), "-o", path)
		code, shown, out := making(t, "yes\n", args...)
		if code != ExitOK {
			t.Fatalf("%s: exit %d: %s", c.args, code, shown)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := c.check(b)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", c.args, info.Mode(), err)
		}
		for _, word := range append(c.says, path, strconv.Itoa(len(b))+" bytes, SECRET") {
			if !strings.Contains(out, word) {
				t.Errorf("%s: does not say %q:\n%s", c.args, word, out)
			}
		}
		if strings.Contains(out+shown, secret[:16]) || strings.Contains(out+shown, canon.Hash(b)) {
			t.Errorf("%s: something of the key is shown", c.args)
		}
		// A second one never takes the place of the first.
		if code, shown, _ := making(t, "", args...); code == ExitOK || !strings.Contains(shown, "nothing is ever overwritten") {
			t.Errorf("%s: again: exit %d: %s", c.args, code, shown)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
			t.Errorf("%s: the key was replaced: %v", c.args, err)
		}
	}
}

func TestNoKeyIsMadeWithoutAPersonOrInTheWrongForm(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"", "--kind root", "--kind nope --id k2", "--kind root --id k2", "--kind root --epoch 2", "--kind root --id k2 --epoch -1", "--kind root --id k2 --epoch 4294967296",
		"--kind attestation", "--kind attestation --id x --epoch 2", "--kind counter-auth --id x", "--kind counter-auth --epoch 1", "--kind counter-auth extra",
	} {
		if code, shown, _ := making(t, "", append(strings.Fields(args), "-o", dir+"/k")...); code != ExitUsage || !strings.Contains(shown, "usage: mcpctl keys new") {
			t.Errorf("%s: exit %d: %s", args, code, shown)
		}
	}
	if code, shown, _ := making(t, "", "--kind", "counter-auth"); code != ExitUsage || !strings.Contains(shown, "-o FILE is missing") {
		t.Errorf("exit %d: %s", code, shown)
	}
	if code, shown, _ := making(t, "no\n", "--kind", "counter-auth", "-o", dir+"/k"); code != ExitFail || !strings.Contains(shown, "nothing was done") {
		t.Errorf("exit %d: %s", code, shown)
	}
	if code, shown, _ := making(t, "yes\n", "--kind", "root", "--id", "a b", "--epoch", "2", "-o", dir+"/k"); code == ExitOK || !strings.Contains(shown, "key_id must be") || !strings.Contains(shown, "next: choose an id") {
		t.Errorf("exit %d: %s", code, shown)
	}
	code, out, errOut := run(t, "keys", "new", "--kind", "counter-auth", "-o", dir+"/k")
	if code != ExitFail || out != "" || !strings.Contains(errOut, "at a terminal alone") {
		t.Errorf("exit %d: %s%s", code, out, errOut)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
