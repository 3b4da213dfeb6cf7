package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
)

func sh(script string) *Process {
	return &Process{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func TestAProcessThatEndsIsStartedAgain(t *testing.T) {
	p := sh("exit 3")
	var stderr Tail
	if err := p.Start(nil, &stderr); err != nil {
		t.Fatal(err)
	}
	first := p.PID()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var said []string
	var wg sync.WaitGroup
	wg.Go(func() {
		p.Keep(ctx, func(s string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, s)
			if len(said) == 2 {
				cancel()
			}
		}, &stderr)
	})
	wg.Wait()
	if p.PID() == first {
		t.Error("it was not started again")
	}
	if len(said) < 2 || !strings.Contains(said[0], "exit status 3") || !strings.Contains(said[1], "2s") {
		t.Errorf("said %q: expected the exit status and a longer second wait", said)
	}
}

func TestTheWaitBeforeAStartBeginsAnewAfterARunThatWentWell(t *testing.T) {
	var wait time.Duration
	for i, c := range []struct{ ran, want time.Duration }{
		{0, time.Second},
		{0, 2 * time.Second},
		{time.Second, 4 * time.Second},
		{steadyAfter - 1, 8 * time.Second},
		{steadyAfter, time.Second},
		{time.Second, 2 * time.Second},
		{5 * time.Minute, time.Second},
		{0, 2 * time.Second},
		{0, 4 * time.Second},
		{0, 8 * time.Second},
		{0, 16 * time.Second},
		{0, maxBackoff},
		{0, maxBackoff},
	} {
		if wait = nextWait(wait, c.ran); wait != c.want {
			t.Fatalf("end %d, after %v: waits %v, want %v", i+1, c.ran, wait, c.want)
		}
	}
}

// make build replaces the programs under a running suite.
func TestAProcessWhoseProgramIsAwayForAWhileIsStartedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it waits for two restarts")
	}
	program := filepath.Join(t.TempDir(), "sh")
	p := sh("exit 3")
	p.Path = program
	if err := os.Symlink("/bin/sh", program); err != nil {
		t.Fatal(err)
	}
	var stderr Tail
	if err := p.Start(nil, &stderr); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	first := p.PID()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Keep(ctx, func(line string) {
		switch {
		case strings.Contains(line, "cannot be started"):
			if err := os.Symlink("/bin/sh", program); err != nil {
				t.Error(err)
			}
		case p.PID() != first:
			cancel()
		}
	}, &stderr)
	if p.PID() == first {
		t.Error("it was not started again")
	}
}

func TestNoDaemonIsBornWithADescriptorOfTheCaller(t *testing.T) {
	var left [2]int // as a shell leaves one: not marked
	if err := syscall.Pipe(left[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(left[0]); _ = syscall.Close(left[1]) })
	has := func() bool {
		p := sh("test -e /proc/self/fd/" + strconv.Itoa(left[1]))
		var stderr Tail
		if err := p.Start(nil, &stderr); err != nil {
			t.Fatal(err)
		}
		<-p.Ended()
		return p.How() == "exit status 0"
	}
	if !has() {
		t.Fatal("the descriptor is not handed down: nothing is proved")
	}
	if err := KeepDescriptors(); err != nil {
		t.Fatal(err)
	}
	if has() {
		t.Error("a program has a descriptor that the caller left open")
	}
}

func TestAnUnsetSettingIsNotSentToAFileThatWillBeGone(t *testing.T) {
	p := sh("exit 1")
	p.Name = "mcpd"
	var stderr Tail
	if err := p.Start(nil, &stderr); err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	if next := errs.Public(NotStarted(p, &stderr, func(string) {})).Next; !strings.Contains(next, "PFSENSE_") || !strings.Contains(next, "--demo") {
		t.Errorf("next: %s", next)
	}
}

func TestWhatAProgramSaidBeforeItEndedIsShownLineByLine(t *testing.T) {
	p := sh(`printf 'one\ntwo\033[2J\n' >&2; exit 1`)
	var stderr Tail
	if err := p.Start(nil, &stderr); err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	var said []string
	if msg := errs.Public(NotStarted(p, &stderr, func(s string) { said = append(said, s) })).Msg; strings.Contains(msg, "one") {
		t.Errorf("%s", msg)
	}
	if len(said) != 2 || said[0] != "one" || strings.Contains(said[1], "\x1b") {
		t.Errorf("%q", said)
	}
}

func TestStopEndsAProcessThatIgnoresSIGTERM(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it waits for the grace of a stop")
	}
	p := sh(`trap "" TERM; echo up >&2; while :; do read x; done </dev/zero`)
	var stderr Tail
	if err := p.Start(nil, &stderr); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); stderr.String() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not say that it ignores the signal")
		}
	}
	p.Stop()
	if !strings.Contains(p.How(), "killed") {
		t.Errorf("it ended by %s", p.How())
	}
}

func TestTheEndOfStandardErrorIsKept(t *testing.T) {
	var tl Tail
	for range 1000 {
		if _, err := tl.Write([]byte("a line of nothing\n")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tl.Write([]byte("the reason\n")); err != nil {
		t.Fatal(err)
	}
	if s := tl.String(); len(s) > tailBytes || !strings.HasSuffix(s, "the reason") {
		t.Errorf("%d bytes kept, ending in %q", len(s), s[len(s)-20:])
	}
}

func TestAReadyLineIsFoundAmongOthers(t *testing.T) {
	rl := NewReadyLine()
	for _, line := range []string{"starting\n", "ready url=https://127.0.0.1:1 ca=/x/ca.pem\n", "ready url=second\n", strings.Repeat("x", 1<<20) + "\n"} {
		if _, err := rl.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if v := <-rl.Line; v["url"] != "https://127.0.0.1:1" || v["ca"] != "/x/ca.pem" {
		t.Errorf("values %v", v)
	}
}

func TestAMissingProgramIsNamedWithTheNextStep(t *testing.T) {
	if _, err := Find(t.TempDir(), "mcpd"); err == nil || !strings.Contains(err.Error(), "mcpd") {
		t.Errorf("%v", err)
	}
}
