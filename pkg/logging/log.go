package logging

import (
	"io"
	"log/slog"
	"os"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging/internal/rotate"
)

// Options says what is logged and where.
type Options struct {
	Daemon   string           // name in every line
	Format   string           // auto, journal, text; "" is auto. Without effect when File is set
	Level    string           // debug, info, warn, error; "" is info
	File     string           // absolute path of the log file; "" logs to Stderr
	MaxBytes int64            // size at which the file is rotated, 1024 to 100000000; 0 is 5000000
	Backups  int              // rotated files that are kept, 1 to 100; 0 is 5
	Stderr   io.Writer        // required when File is ""
	Unknown  func(key string) // for tests: called with an attribute key that is not ours
}

// Log is the log of one process. It is safe for concurrent use.
type Log struct {
	// Logger is what packages get as a field of their Config.
	Logger *slog.Logger

	c    *core
	file *rotate.File
}

// New opens the log. Errors are of class configuration.
func New(o Options) (*Log, error) {
	c := &core{daemon: o.Daemon, unknown: o.Unknown}
	switch o.Level {
	case "debug":
		c.level = slog.LevelDebug
	case "", "info":
	case "warn":
		c.level = slog.LevelWarn
	case "error":
		c.level = slog.LevelError
	default:
		return nil, errs.New(errs.Invalid, "log level must be debug, info, warn or error").WithClass("configuration")
	}
	l := &Log{c: c}
	if o.File != "" {
		f, err := rotate.Open(o.File, o.MaxBytes, o.Backups)
		if err != nil {
			return nil, err
		}
		c.out, l.file = f, f
	} else {
		if o.Stderr == nil {
			return nil, errs.New(errs.Internal, "log without file and without standard error")
		}
		c.out = stream{o.Stderr}
		switch o.Format {
		case "", "auto":
			c.text = isTerminal(o.Stderr)
			c.journal = !c.text
		case "journal":
			c.journal = true
		case "text":
			c.text = true
		default:
			return nil, errs.New(errs.Invalid, "log format must be auto, journal or text").WithClass("configuration")
		}
	}
	l.Logger = slog.New(&handler{c: c})
	return l, nil
}

// Redact registers a secret. From now on, for the life of the process, it is
// replaced in every line, plain and in base64 (at any place in longer data),
// hexadecimal, percent-encoded and escaped forms. A new key is registered before
// its first use, and the old one stays.
func (l *Log) Redact(secret []byte) { l.c.red.add(secret) }

// Close closes the log file. Lines logged later are dropped and counted; standard
// error stays open.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.file.Close()
}

// stream writes lines to a writer that is not ours to close.
type stream struct{ w io.Writer }

// Write writes the line in one call, so that lines of several writers to one pipe
// do not mix.
func (s stream) Write(line []byte) error {
	_, err := s.w.Write(line)
	return err
}

// isTerminal says whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
