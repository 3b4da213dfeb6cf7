// Package sd owns what systemd and a daemon say to each other: the notify
// socket (READY, STOPPING, STATUS, WATCHDOG, EXTEND_TIMEOUT_USEC), the sockets handed over by name
// (LISTEN_FDS), and the directories named in the environment.
//
// Only pkg/daemon and the programs under cmd import it. It is, with pkg/conf,
// the only place that reads the environment. It never speaks any other
// protocol, never opens a socket after Open, and never passes a variable on.
//
// The attacks it stops. A descriptor that is not the listening Unix socket it
// is said to be (a connected socket, a TCP socket, an abstract name that file
// modes do not protect) is refused before anything accepts on it. The notify
// socket is connected once, at the start, so that a sandbox may refuse
// connect(2) for the rest of the process's life. A text put into STATUS cannot
// add an assignment of its own. The variables are removed once read: no later
// part of the process can be led to take the same descriptors twice.
package sd

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
)

// writeWait bounds one notification. systemd reads its socket at once; when it
// does not, a daemon that serves is worth more than one that waits to say so.
const writeWait = 2 * time.Second

// maxStatus bounds a status text in bytes; `systemctl status` shows one line.
const maxStatus = 200

// Notifier is the connection to systemd's notify socket. A nil *Notifier, which
// Open returns when there is no systemd, takes every call and does nothing.
type Notifier struct {
	conn     *net.UnixConn
	wait     time.Duration // for one notification to be taken
	watchdog time.Duration
}

// Open reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, removes them from
// the environment and connects. Without NOTIFY_SOCKET it returns nil, nil. A
// socket that is named but cannot be reached is an error: the unit would be
// killed at its start time-out with no word of why.
func Open() (*Notifier, error) {
	path := take("NOTIFY_SOCKET")
	usec, pid := take("WATCHDOG_USEC"), take("WATCHDOG_PID")
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' {
		return nil, errs.New(errs.Invalid, "NOTIFY_SOCKET is neither an absolute path nor an abstract name").
			WithNext("start the daemon from its unit, or unset NOTIFY_SOCKET")
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the notify socket of NOTIFY_SOCKET cannot be reached").
			WithNext("start the daemon from its unit, or unset NOTIFY_SOCKET")
	}
	n := &Notifier{conn: conn, wait: writeWait}
	if usec != "" && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		us, err := strconv.ParseInt(usec, 10, 64)
		if err != nil || us <= 0 || us > int64(24*time.Hour/time.Microsecond) {
			_ = conn.Close()
			return nil, errs.New(errs.Invalid, "WATCHDOG_USEC is not a number of microseconds between 1 and a day")
		}
		n.watchdog = time.Duration(us) * time.Microsecond
	}
	return n, nil
}

// Ready says that the daemon serves, with a status line.
func (n *Notifier) Ready(status string) error { return n.send("READY=1\nSTATUS=" + line(status)) }

// Extend says that a start or an end goes on and how far it is. It asks systemd to wait
// for d from now on, if its own limit would end before: who does not say so again
// in time is ended.
func (n *Notifier) Extend(d time.Duration, status string) error {
	return n.send("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10) + "\nSTATUS=" + line(status))
}

// Stopping says that the daemon ends by its own will.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1\nSTATUS=stopping") }

// Watchdog says that the daemon is alive. Call it at least every WatchdogEvery.
func (n *Notifier) Watchdog() error { return n.send("WATCHDOG=1") }

// WatchdogEvery returns how often Watchdog must be called: half of the time
// after which systemd kills, as sd_watchdog_enabled(3) advises. 0 means never.
func (n *Notifier) WatchdogEvery() time.Duration {
	if n == nil {
		return 0
	}
	return n.watchdog / 2
}

func (n *Notifier) send(msg string) error {
	if n == nil {
		return nil
	}
	if err := n.conn.SetWriteDeadline(time.Now().Add(n.wait)); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the notify socket is closed")
	}
	_, err := n.conn.Write([]byte(msg))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// On a busy host the time may be over before the first try was made, and a
		// READY that systemd never gets has the unit killed.
		err = n.try(msg)
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "systemd did not take a notification")
	}
	return nil
}

// try hands msg to the kernel once, whatever the time, and does not wait.
func (n *Notifier) try(msg string) error {
	raw, err := n.conn.SyscallConn()
	if err != nil {
		return err
	}
	var tried error
	err = raw.Control(func(fd uintptr) { _, tried = syscall.Write(int(fd), []byte(msg)) })
	return errors.Join(err, tried)
}

// line makes a text fit for one assignment: a line break in it would begin
// another one.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxStatus {
		s = strings.ToValidUTF8(s[:maxStatus], "")
	}
	return s
}

// CredentialsDirectory returns CREDENTIALS_DIRECTORY, "" when it is not set or
// not an absolute path.
func CredentialsDirectory() string { return directory("CREDENTIALS_DIRECTORY") }

// RuntimeDirectory returns XDG_RUNTIME_DIR, "" when it is not set or not an
// absolute path.
func RuntimeDirectory() string { return directory("XDG_RUNTIME_DIR") }

func directory(name string) string {
	if d := os.Getenv(name); filepath.IsAbs(d) {
		return filepath.Clean(d)
	}
	return ""
}

// take reads a variable and removes it. It is meant for us alone: a program
// started from here later must not believe it was meant too.
func take(name string) string {
	v := os.Getenv(name)
	_ = os.Unsetenv(name) // fails only for a name with '=' or NUL in it
	return v
}
