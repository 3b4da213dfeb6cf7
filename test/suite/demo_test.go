package suite

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/rawmcp"
)

// demo is `mcpctl run --demo` as a process, with a runtime directory of its own
// so that what it leaves behind can be seen.
func demo(t *testing.T, args ...string) (p *daemontest.Proc, runtimeDir string) {
	t.Helper()
	if err := demoBuilt(); err != nil {
		t.Fatal(err)
	}
	runtimeDir = daemontest.Dir(t)
	return daemontest.Start(t, daemontest.Options{
		Exe:  filepath.Join(binDir(t), "mcpctl"),
		Args: append([]string{"run", "--demo"}, args...),
		Env:  []string{"XDG_RUNTIME_DIR=" + runtimeDir},
	}), runtimeDir
}

// demoBuilt builds the programs that the demonstration takes from a directory of
// its own.
var demoBuilt = sync.OnceValue(func() error {
	bin, err := build()
	if err != nil {
		return err
	}
	return programs.Build(programs.Demo, filepath.Join(bin, "demo"), "cmd/docfetchd", "cmd/executord")
})

// leftOver returns what is still there of a suite that ran in dir: files, and
// processes that name it.
func leftOver(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte(dir)) {
			left = append(left, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return left
}

// whole is the time for a whole demonstration, which waits some seconds by itself.
const whole = 5 * time.Minute

func TestTheDemonstrationHoldsAndLeavesNothingBehind(t *testing.T) {
	p, dir := demo(t, "--once")
	if code := p.WaitFor(whole); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.Output())
	}
	if !strings.Contains(p.Output(), "steps held") || !strings.Contains(p.Output(), "ready socket=") {
		t.Errorf("it said:\n%s", p.Output())
	}
	if left := leftOver(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTheWriteRehearsalHoldsAndLeavesNothingBehind(t *testing.T) {
	if _, err := exec.LookPath("swtpm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("swtpm is missing: deploy/ensure-swtpm.sh installs it")
		}
		t.Skip("swtpm is missing: it plays the TPM")
	}
	p, dir := demo(t, "--write", "--once")
	if code := p.WaitFor(whole); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, p.Output())
	}
	if !strings.Contains(p.Output(), "acts of the write rehearsal held") || !strings.Contains(p.Output(), "steps held") {
		t.Errorf("it said:\n%s", p.Output())
	}
	if left := leftOver(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTwoDemonstrationsRunSideBySideAndCtrlCEndsEach(t *testing.T) {
	first, firstDir := demo(t)
	second, secondDir := demo(t)
	for _, p := range []*daemontest.Proc{first, second} {
		p.Until("the conversation's end", func() bool { return strings.Contains(p.Output(), "mcpServers") })
	}
	first.Signal(syscall.SIGINT)
	if code := first.Wait(); code != 0 {
		t.Errorf("exit code %d after Ctrl-C:\n%s", code, first.Output())
	}
	if left := leftOver(t, firstDir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// The other goes on.
	c, err := rawmcp.Start(context.Background(), nil, filepath.Join(binDir(t), "mcpd"), "stdio", "--socket", readySocket(t, second))
	if err != nil {
		t.Fatal(err)
	}
	begin(t, c)
	if len(rowsOf(t, c, "pfsense_get_firewall_rules", map[string]any{})) == 0 {
		t.Error("the second suite has no rules")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	// Killed, it can end nothing itself: the kernel does.
	second.Signal(syscall.SIGKILL)
	second.Until("its end", second.Ended)
	deadline := time.Now().Add(daemontest.Patience)
	for {
		left := leftOver(t, secondDir)
		if len(left) <= 1 { // its directory stays: nobody is left to remove it
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there after its supervisor was killed: %q", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// binDir is where the programs are.
func binDir(t *testing.T) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// readySocket reads the socket's path from the ready line.
func readySocket(t *testing.T, p *daemontest.Proc) string {
	t.Helper()
	for line := range strings.Lines(p.Output()) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "ready socket="); ok {
			return path
		}
	}
	t.Fatalf("no ready line in:\n%s", p.Output())
	return ""
}

func TestASecondSuiteInTheSameDirectoryIsRefusedByName(t *testing.T) {
	dir := daemontest.Dir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, _ := demo(t, "--dir", dir)
	first.Until("ready", func() bool { return strings.Contains(first.Output(), "ready socket=") })
	second, _ := demo(t, "--dir", dir)
	if code := second.Wait(); code != 1 || !strings.Contains(second.Output(), dir) || !strings.Contains(second.Output(), "--dir") {
		t.Errorf("exit code %d:\n%s", code, second.Output())
	}
	first.Signal(syscall.SIGTERM)
	first.Wait()
}

func TestAMissingProgramEndsTheRunWithItsName(t *testing.T) {
	lonely := filepath.Join(daemontest.Dir(t), "mcpctl")
	b, err := os.ReadFile(filepath.Join(binDir(t), "mcpctl"))
	if err == nil {
		err = os.WriteFile(lonely, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := daemontest.Start(t, daemontest.Options{Exe: lonely, Args: []string{"run", "--demo"}, Env: []string{"XDG_RUNTIME_DIR=" + daemontest.Dir(t)}})
	if code := p.Wait(); code != 1 || !strings.Contains(p.Output(), "make build") {
		t.Errorf("exit code %d:\n%s", code, p.Output())
	}
}
