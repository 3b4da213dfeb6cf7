package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/proto/executor/v1"
)

// executord takes files, unless it fails.
type executord struct {
	grpc.ClientConnInterface

	mu    sync.Mutex
	err   error
	files []*executorpb.SubmitArtifactRequest
}

func (e *executord) Invoke(_ context.Context, method string, in, _ any, _ ...grpc.CallOption) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := in.(*executorpb.SubmitArtifactRequest)
	if !ok {
		return errors.New(method + " was called")
	}
	if e.err == nil {
		e.files = append(e.files, proto.CloneOf(r))
	}
	return e.err
}

type rig struct {
	*Relay
	*executord
	dir string
	out bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{executord: &executord{}, dir: t.TempDir()}
	var err error
	if r.Relay, err = New(r.dir, r.executord, slog.New(slog.NewTextHandler(&r.out, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.root.Close() })
	return r
}

// put writes a file of an age.
func (r *rig) put(t *testing.T, name, text string, age time.Duration) {
	t.Helper()
	p := filepath.Join(r.dir, name)
	err := os.WriteFile(p, []byte(text), 0o600)
	if err == nil {
		err = os.Chtimes(p, time.Time{}, time.Now().Add(-age))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// got returns what executord was given, a short line each.
func (r *rig) got() string {
	var out []string
	for _, f := range r.files {
		out = append(out, fmt.Sprintf("%d:%s", f.GetKind(), f.GetArtifact()))
	}
	return strings.Join(out, " ")
}

func (r *rig) passTimes(t *testing.T, n int) {
	t.Helper()
	for range n {
		r.failed(t.Context(), r.pass(t.Context()))
	}
}

func TestFilesArePassedOnOnceEachTheOldestFirstAndStayWhereTheyAre(t *testing.T) {
	r := newRig(t)
	r.put(t, "b.confirmation.json", "two", time.Minute)
	r.put(t, "a.authorization.json", "one", 2*time.Minute)
	r.put(t, "c.reconciliation.json", "three", 30*time.Second)
	r.passTimes(t, 1)
	if got := r.got(); got != "1:one" {
		t.Errorf("more than one at a time: %s", got)
	}
	r.passTimes(t, 9)
	if got := r.got(); got != "1:one 2:two 3:three" {
		t.Errorf("%s", got)
	}
	for name, text := range map[string]string{"a.authorization.json": "one", "b.confirmation.json": "two", "c.reconciliation.json": "three"} {
		if b, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || string(b) != text {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	// Another file of the same name is another file.
	r.put(t, "b.confirmation.json", "anew", 10*time.Second)
	r.passTimes(t, 3)
	if got := r.got(); got != "1:one 2:two 3:three 2:anew" {
		t.Errorf("%s", got)
	}
	if err := os.Remove(filepath.Join(r.dir, "a.authorization.json")); err != nil {
		t.Fatal(err)
	}
	r.passTimes(t, 1)
	if len(r.passed) != 2 {
		t.Errorf("%d files are remembered", len(r.passed))
	}
}

func TestWhatIsNoFileOfTheThreeKindsIsLeftAlone(t *testing.T) {
	r := newRig(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(secret, old, old); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"preview.json", "a.authorization.json.part", ".a.authorization.json", ".authorization.json", "a.rollback.json", "a.AUTHORIZATION.json",
		"a b.authorization.json", "a\n.authorization.json", "ä.authorization.json", strings.Repeat("x", 140) + ".authorization.json",
	} {
		r.put(t, name, "x", time.Minute)
	}
	r.put(t, "old.authorization.json", "x", 2*time.Hour)
	r.put(t, "future.authorization.json", "x", -time.Hour)
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(r.dir, "link.authorization.json")),
		syscall.Mkfifo(filepath.Join(r.dir, "pipe.authorization.json"), 0o600),
		os.Mkdir(filepath.Join(r.dir, "dir.authorization.json"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.passTimes(t, 20)
	if got := r.got(); got != "" {
		t.Errorf("passed on: %s", got)
	}
	// They are also safe from a change between the look and the opening.
	for _, name := range []string{"link.authorization.json", "pipe.authorization.json", "dir.authorization.json"} {
		looked, err := r.root.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := r.read(looked); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
	r.put(t, "swap.authorization.json", "x", time.Minute)
	looked, err := r.root.Lstat("swap.authorization.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(secret, filepath.Join(r.dir, "swap.authorization.json")); err != nil {
		t.Fatal(err)
	}
	if b, err := r.read(looked); err == nil {
		t.Errorf("another file than the one looked at was read: %q", b)
	}
}

func TestAFileIsLeftAloneUntilItHasSettled(t *testing.T) {
	r := newRig(t)
	r.put(t, "young.authorization.json", "x", 0)
	info, err := r.root.Lstat("young.authorization.json")
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int{0: 0, settled - 1: 0, settled: 1, maxAge: 1, maxAge + 1: 0} {
		if due, err := r.due(info.ModTime().Add(after)); err != nil || len(due) != want {
			t.Errorf("%v after it was written: %d files, %v", after, len(due), err)
		}
	}
}

func TestAFileThatIsNoSignedFileIsGivenUpAndTheNextHasItsTurn(t *testing.T) {
	r := newRig(t)
	r.put(t, "a.authorization.json", "", 3*time.Minute)
	r.put(t, "b.authorization.json", strings.Repeat("x", maxBytes+1), 2*time.Minute)
	r.put(t, "c.authorization.json", strings.Repeat("y", maxBytes), time.Minute)
	r.passTimes(t, 10)
	if len(r.files) != 1 || len(r.files[0].GetArtifact()) != maxBytes {
		t.Errorf("%d files", len(r.files))
	}
	if n := strings.Count(r.out.String(), "not passed on"); n != 1 {
		t.Errorf("the same failure is told %d times: %s", n, r.out.String())
	}
}

func TestWhenExecutordDoesNotTakeAFileItStaysDue(t *testing.T) {
	r := newRig(t)
	r.put(t, "a.authorization.json", "one", time.Minute)
	r.err = errs.New(errs.Unavailable, "executord is not reachable").WithClass("service")
	r.passTimes(t, 5)
	r.err = errs.New(errs.Unavailable, "executord takes no files from mcpd").WithClass("relay_off")
	r.passTimes(t, 5)
	if n := strings.Count(r.out.String(), "not passed on"); n != 2 {
		t.Errorf("two failures are told %d times: %s", n, r.out.String())
	}
	r.err = nil
	r.passTimes(t, 5)
	if got := r.got(); got != "1:one" {
		t.Errorf("%s", got)
	}
	if strings.Contains(r.out.String(), "one") {
		t.Errorf("the log quotes: %s", r.out.String())
	}
}

func TestAFullInboxIsPassedOnSlowerThanDenialsLockOut(t *testing.T) {
	// executord pauses after 20 denials in ten minutes.
	if n := 10 * time.Minute / every; n > 20 {
		t.Errorf("%d files in ten minutes", n)
	}
	for during, want := range map[time.Duration]int{every - 1: 1, 3*every + every/2: 4} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			for i := range maxFiles + 50 {
				r.put(t, fmt.Sprintf("%d.authorization.json", i), "x", time.Minute)
			}
			ctx, cancel := context.WithTimeout(t.Context(), during)
			defer cancel()
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
			if len(r.files) != want {
				t.Errorf("%d files within %v, want %d", len(r.files), during, want)
			}
		})
	}
}

func TestAnInboxThatIsNotThereIsAFaultOfTheSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/nowhere/inbox", file, ""} {
		if _, err := New(dir, nil, nil); errs.CodeOf(err) != errs.Invalid {
			t.Errorf("%q: %v", dir, err)
		}
	}
}
