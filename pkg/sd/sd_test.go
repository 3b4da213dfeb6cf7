package sd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// receiver binds a notify socket and returns a function that reads the next
// datagram.
func receiver(t *testing.T, name string) func() string {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func() string {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 1024)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestNotificationsReachAPathAndAnAbstractSocket(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "n"), "@pfsensemcp-sd-test-" + strconv.Itoa(os.Getpid())} {
		next := receiver(t, name)
		t.Setenv("NOTIFY_SOCKET", name)
		n, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			call func() error
			want string
		}{
			{func() error { return n.Ready("serving") }, "READY=1\nSTATUS=serving"},
			{func() error { return n.Extend(30*time.Second, "half") }, "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=half"},
			{n.Watchdog, "WATCHDOG=1"},
			{n.Stopping, "STOPPING=1\nSTATUS=stopping"},
		} {
			if err := step.call(); err != nil {
				t.Fatal(err)
			}
			if got := next(); got != step.want {
				t.Errorf("%s: got %q, want %q", name, got, step.want)
			}
		}
	}
}

func TestANotificationWhoseTimeIsOverBeforeItIsSentIsSentAllTheSame(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	next := receiver(t, name)
	t.Setenv("NOTIFY_SOCKET", name)
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	n.wait = -time.Second // as if the host had stopped the process for as long
	if err := n.Ready("serving"); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "READY=1\nSTATUS=serving" {
		t.Errorf("got %q", got)
	}
	// One that nobody takes is an error in the end, and no endless wait.
	full := 0
	for ; err == nil && full < 1<<20; full++ {
		err = n.Watchdog()
	}
	if err == nil {
		t.Errorf("%d notifications went to a socket that nobody reads", full)
	}
	for range full - 1 {
		if got := next(); got != "WATCHDOG=1" {
			t.Fatalf("got %q", got)
		}
	}
}

func TestAStatusTextCannotAddAnAssignment(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	next := receiver(t, name)
	t.Setenv("NOTIFY_SOCKET", name)
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Ready("a\nMAINPID=1\x00" + strings.Repeat("é", 300)); err != nil {
		t.Fatal(err)
	}
	got, ready := strings.CutPrefix(next(), "READY=1\n")
	if !ready || strings.ContainsAny(got, "\n\x00") || len(got) > len("STATUS=")+maxStatus || !strings.HasPrefix(got, "STATUS=a MAINPID=1 é") {
		t.Fatalf("status went out as %q", got)
	}
}

func TestWithoutSystemdEveryCallDoesNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n, err := Open()
	if n != nil || err != nil {
		t.Fatalf("Open() = %v, %v", n, err)
	}
	if n.Ready("x") != nil || n.Extend(time.Second, "x") != nil || n.Stopping() != nil || n.Watchdog() != nil || n.WatchdogEvery() != 0 {
		t.Fatal("a nil notifier did something")
	}
}

func TestANotifySocketThatCannotBeUsedIsAnErrorAtTheStart(t *testing.T) {
	for _, v := range []string{"relative", "vsock:2:1234", filepath.Join(t.TempDir(), "absent")} {
		t.Setenv("NOTIFY_SOCKET", v)
		if _, err := Open(); err == nil {
			t.Errorf("NOTIFY_SOCKET=%s was taken", v)
		}
	}
}

func TestTheWatchdogIsFedAtHalfItsTimeAndOnlyByTheProcessMeant(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	receiver(t, name)
	for _, row := range []struct {
		usec, pid string
		want      time.Duration
		fails     bool
	}{
		{"30000000", "", 15 * time.Second, false},
		{"30000000", strconv.Itoa(os.Getpid()), 15 * time.Second, false},
		{"30000000", "1", 0, false},
		{"", "", 0, false},
		{"-1", "", 0, true},
		{"soon", "", 0, true},
		{"9223372036854775807", "", 0, true},
	} {
		t.Setenv("NOTIFY_SOCKET", name)
		t.Setenv("WATCHDOG_USEC", row.usec)
		t.Setenv("WATCHDOG_PID", row.pid)
		n, err := Open()
		if (err != nil) != row.fails {
			t.Errorf("%+v: error %v", row, err)
		} else if err == nil && n.WatchdogEvery() != row.want {
			t.Errorf("%+v: every %v", row, n.WatchdogEvery())
		}
	}
	if _, there := os.LookupEnv("NOTIFY_SOCKET"); there {
		t.Error("NOTIFY_SOCKET is still in the environment")
	}
}

func TestOnlyAbsoluteDirectoriesAreTaken(t *testing.T) {
	for v, want := range map[string]string{"/run/credentials/x": "/run/credentials/x", "/run/x/": "/run/x", "x": "", "": ""} {
		t.Setenv("CREDENTIALS_DIRECTORY", v)
		t.Setenv("XDG_RUNTIME_DIR", v)
		if CredentialsDirectory() != want || RuntimeDirectory() != want {
			t.Errorf("%q gives %q and %q", v, CredentialsDirectory(), RuntimeDirectory())
		}
	}
}

// inherited runs this test binary again with files as descriptors 3, 4, … and
// returns what TestChildListsItsSockets prints there. Descriptors have fixed
// numbers, so only a fresh process can be asked.
func inherited(t *testing.T, names string, env []string, files ...*os.File) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildListsItsSockets$", "-test.v")
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), append([]string{"SD_TEST_CHILD=1", "LISTEN_FDS=" + strconv.Itoa(len(files)), "LISTEN_FDNAMES=" + names}, env...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for l := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(l, "RESULT "); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no result in\n%s", out)
	return ""
}

func TestChildListsItsSockets(t *testing.T) {
	if os.Getenv("SD_TEST_CHILD") == "" {
		t.Skip("only runs as a child of the tests below")
	}
	if os.Getenv("LISTEN_PID") == "" {
		t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	}
	got, err := Listeners()
	if err != nil {
		os.Stdout.WriteString("RESULT error: " + err.Error() + "\n")
		return
	}
	var parts []string
	for _, name := range []string{"exec", "exec-admin"} {
		if l := got[name]; l != nil {
			parts = append(parts, name+"="+filepath.Base(l.Addr().String()))
			_ = l.Close() // must leave the file
		}
	}
	if again, err := Listeners(); err != nil || len(again) != 0 {
		parts = append(parts, "and they can be taken twice")
	}
	os.Stdout.WriteString("RESULT " + strings.Join(parts, " ") + "\n")
}

func unixListener(t *testing.T, name string) *os.File {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return fileOf(t, l)
}

func fileOf(t *testing.T, s interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	f, err := s.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSocketsAreInheritedByNameWhateverTheirOrder(t *testing.T) {
	d := t.TempDir()
	a, b := unixListener(t, filepath.Join(d, "a.sock")), unixListener(t, filepath.Join(d, "b.sock"))
	if got, want := inherited(t, "exec-admin:exec", nil, a, b), "exec=b.sock exec-admin=a.sock"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(d, "a.sock")); err != nil {
		t.Errorf("closing an inherited listener removed systemd's socket: %v", err)
	}
}

func TestSocketsMeantForAnotherProcessAreLeftAlone(t *testing.T) {
	a := unixListener(t, filepath.Join(t.TempDir(), "a.sock"))
	if got := inherited(t, "exec", []string{"LISTEN_PID=1"}, a); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestADescriptorThatIsNotTheSocketItIsSaidToBeIsRefused(t *testing.T) {
	d := t.TempDir()
	good := unixListener(t, filepath.Join(d, "a.sock"))
	plain, err := os.Create(filepath.Join(d, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	gram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(d, "g.sock"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer gram.Close()
	conn, err := net.Dial("unix", filepath.Join(d, "a.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, row := range []struct {
		want  string
		names string
		files []*os.File
	}{
		{"is not a socket", "exec", []*os.File{plain}},
		{"is not a Unix socket", "exec", []*os.File{fileOf(t, tcp.(*net.TCPListener))}},
		{"is not a stream socket", "exec", []*os.File{fileOf(t, gram)}},
		{"is not a listening socket", "exec", []*os.File{fileOf(t, conn.(*net.UnixConn))}},
		{"is not bound to an absolute path", "exec", []*os.File{unixListener(t, "@pfsensemcp-sd-listen-"+strconv.Itoa(os.Getpid()))}},
		{"two inherited sockets are called exec", "exec:exec", []*os.File{good, good}},
		{"1 names for 2 sockets", "exec", []*os.File{good, good}},
		{"has no usable name", "", []*os.File{good}},
		{"has no usable name", "Exec\x1b", []*os.File{good}},
	} {
		if got := inherited(t, row.names, nil, row.files...); !strings.Contains(got, row.want) {
			t.Errorf("want %q, got %q", row.want, got)
		}
	}
}

func TestTooManySocketsAreRefusedBeforeADescriptorIsTouched(t *testing.T) {
	for _, v := range []string{"17", "-1", "x"} {
		t.Setenv("LISTEN_FDS", v)
		t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
		t.Setenv("LISTEN_FDNAMES", "")
		if _, err := Listeners(); err == nil {
			t.Errorf("LISTEN_FDS=%s was taken", v)
		}
	}
}
