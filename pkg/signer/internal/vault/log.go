package vault

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/canon"
)

// logName is the log in the signer's directory, maxLog its bound: tens of thousands
// of approvals.
const (
	logName = "signed.log"
	maxLog  = 16 << 20
)

// Entry is one signature as the log keeps it: one line of canonical JSON.
type Entry struct {
	At      time.Time
	Kind    string // the signature's role
	Subject string // what must not be signed twice under the kind
	ID      string // id or nonce of what was signed
	Input   string // hash of the file that was reviewed
	Output  string // hash of the file that was signed
}

func (e Entry) line() ([]byte, error) {
	b, err := canon.Encode(canon.Object{
		"at": e.At.UTC().Format(time.RFC3339), "kind": e.Kind, "subject": e.Subject, "id": e.ID, "input": e.Input, "output": e.Output,
	})
	return append(b, '\n'), err
}

// Log is the log of what was signed, held by this process alone.
type Log struct {
	f    *os.File
	seen map[string]time.Time
}

// OpenLog opens the log, making it when there is none, and reads all of it. A second
// process is refused, and so is a log with a line that is none: what was signed
// before must be known.
func (d *Dir) OpenLog() (*Log, error) {
	path := d.Path(logName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, Refuse("the log of signatures cannot be opened", "check "+shown(path))
	}
	l := &Log{f: f, seen: map[string]time.Time{}}
	if err := l.read(path); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return l, nil
}

func (l *Log) read(path string) error {
	if err := syscall.Flock(int(l.f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return Refuse("another mcpsign is running", "finish or end it first")
	}
	b, err := readOpen(l.f, path, maxLog)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	if whole != len(b) {
		// A line without an end was being written when the machine stopped. Its
		// signature never left: the line is durable before the file is filled.
		if err := l.f.Truncate(int64(whole)); err != nil {
			return Refuse("the log of signatures cannot be mended", "remove its last, incomplete line by hand: "+shown(path))
		}
	}
	for line := range strings.Lines(string(b[:whole])) {
		v, err := canon.DecodeExact([]byte(strings.TrimSuffix(line, "\n")))
		o, ok := v.(canon.Object)
		at, _ := o["at"].(string)
		kind, _ := o["kind"].(string)
		subject, _ := o["subject"].(string)
		when, terr := time.Parse(time.RFC3339, at)
		if err != nil || !ok || kind == "" || subject == "" || terr != nil {
			return Refuse("the log of signatures has a line that mcpsign did not write", "find out who changed it: "+shown(path))
		}
		l.seen[kind+" "+subject] = when
	}
	return nil
}

// Signed returns when the subject was signed under the kind before.
func (l *Log) Signed(kind, subject string) (time.Time, bool) {
	at, ok := l.seen[kind+" "+subject]
	return at, ok
}

// Add makes an entry durable. Only then may the signature leave the process.
func (l *Log) Add(e Entry) error {
	b, err := e.line()
	if err == nil {
		_, err = l.f.Write(b)
	}
	if err == nil {
		err = l.f.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(l.f.Name()))
	}
	if err != nil {
		return Refuse("the log of signatures cannot be written", "check the file system; nothing was signed")
	}
	l.seen[e.Kind+" "+e.Subject] = e.At
	return nil
}

// Close releases the log.
func (l *Log) Close() { _ = l.f.Close() } // every entry is synced
