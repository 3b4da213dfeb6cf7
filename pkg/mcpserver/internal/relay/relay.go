// Package relay owns the inbox: one directory whose signed files mcpd passes on
// to executord, so that who signs off the host needs no account on it. It is off
// unless a site names a directory, and does nothing unless executord's own
// setting lets it.
//
// mcpserver alone imports it. It reads files of three kinds, told apart by their
// names, and hands their bytes over as they are: it understands none of them,
// learns of no outcome and tells nobody of one. It must never write, rename or
// delete: a file is a person's, who takes it away.
//
// The attacks it stops: a link or a pipe in the inbox that makes mcpd read
// something else, or wait; and a full inbox, or one that is still full after a
// restart, that becomes a flood of denials in executord and locks out the people
// who approve.
package relay

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/proto/executor/v1"
)

// The bounds. One file in half a minute is slower than the denials that make
// executord pause, and faster than two people sign.
const (
	every     = 30 * time.Second // between two files, and between two looks
	settled   = 2 * time.Second  // since the last change of a file: it is not being copied
	maxAge    = time.Hour        // a file that was left lying is not passed on again by a restart
	maxBytes  = 16 << 10         // of a file
	maxFiles  = 256              // in the directory; what is beyond is not seen
	askWithin = 5 * time.Second
)

// kindOf returns the kind of a file that is passed on, by its name: letters, digits, dots,
// dashes and underscores, and one of these ends. Any other file is left alone.
func kindOf(name string) (kind executorpb.SubmitArtifactRequest_Kind, ok bool) {
	if !plainName.MatchString(name) {
		return 0, false
	}
	for end, kind := range map[string]executorpb.SubmitArtifactRequest_Kind{
		".authorization.json":  executorpb.SubmitArtifactRequest_KIND_AUTHORIZATION,
		".confirmation.json":   executorpb.SubmitArtifactRequest_KIND_CONFIRMATION,
		".reconciliation.json": executorpb.SubmitArtifactRequest_KIND_RECONCILIATION,
	} {
		if strings.HasSuffix(name, end) && len(name) > len(end) {
			return kind, true
		}
	}
	return 0, false
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Relay watches one inbox. One goroutine at a time may run it.
type Relay struct {
	root  *os.Root
	front executorpb.FrontClient
	log   *slog.Logger

	passed map[string]fs.FileInfo // files that are there and were passed on, or given up
	quiet  string                 // the class of the last failure, which is told once
}

// New opens the inbox. The directory must be there; its files need to be
// readable for this user and nothing more.
func New(dir string, conn grpc.ClientConnInterface, log *slog.Logger) (*Relay, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the inbox is no directory that can be opened").WithClass("configuration").
			WithNext("create it, readable for mcpd's user, or leave relay_inbox out")
	}
	return &Relay{root: root, front: executorpb.NewFrontClient(conn), log: log, passed: map[string]fs.FileInfo{}}, nil
}

// Run passes files on until ctx ends. A failure is logged and tried again; it
// ends nothing.
func (r *Relay) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		r.failed(ctx, r.pass(ctx))
		select {
		case <-ctx.Done():
			return r.root.Close()
		case <-tick.C:
		}
	}
}

// failed logs a failure unless the one before was of the same class.
func (r *Relay) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	e := errs.Public(err)
	if e.Class == r.quiet {
		return
	}
	r.quiet = e.Class
	r.log.LogAttrs(ctx, slog.LevelWarn, "a file of the inbox was not passed on", logging.Err(err))
}

// pass passes on the oldest file that is due, if there is one.
func (r *Relay) pass(ctx context.Context) error {
	due, err := r.due(time.Now())
	if err != nil || len(due) == 0 {
		return err
	}
	f := due[0]
	kind, _ := kindOf(f.Name())
	data, err := r.read(f)
	if err != nil {
		r.passed[f.Name()] = f // as it is now it will not become better
		return err
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if _, err := r.front.SubmitArtifact(asking, &executorpb.SubmitArtifactRequest{Kind: kind, Artifact: data}); err != nil {
		return err // it stays due
	}
	r.passed[f.Name()] = f
	r.quiet = ""
	r.log.LogAttrs(ctx, slog.LevelInfo, "a file of the inbox was passed on",
		slog.String(logging.KeyDetail, strings.ToLower(strings.TrimPrefix(kind.String(), "KIND_"))), slog.String(logging.KeyPath, f.Name()))
	return nil
}

// due returns the files that are to be passed on, the oldest first, and forgets
// those that are gone.
func (r *Relay) due(now time.Time) ([]fs.FileInfo, error) {
	dir, err := r.root.Open(".")
	if err != nil {
		return nil, unreadable(err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	var due []fs.FileInfo
	seen := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if _, ok := kindOf(name); !ok {
			continue
		}
		seen[name] = true
		info, err := r.root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		age := now.Sub(info.ModTime())
		if age < settled || age > maxAge || same(r.passed[name], info) {
			continue
		}
		due = append(due, info)
	}
	for name := range r.passed {
		if !seen[name] {
			delete(r.passed, name)
		}
	}
	slices.SortFunc(due, func(a, b fs.FileInfo) int {
		if c := a.ModTime().Compare(b.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return due, nil
}

// same says whether a file is still the one that was passed on.
func same(was, is fs.FileInfo) bool {
	return was != nil && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// read returns the bytes of the very file that was looked at.
func (r *Relay) read(looked fs.FileInfo) ([]byte, error) {
	// Without waiting: what is a file now may have become a pipe.
	f, err := r.root.OpenFile(looked.Name(), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() || !same(looked, info) {
		return nil, errs.New(errs.Conflict, "a file of the inbox changed while it was read").WithClass("inbox_file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(data) == 0 || len(data) > maxBytes {
		return nil, errs.Newf(errs.Invalid, "a file of the inbox has not 1 to %d bytes", maxBytes).WithClass("inbox_file").
			WithNext("a signed file is smaller; take it away")
	}
	return data, nil
}

func unreadable(err error) error {
	return errs.Wrap(err, errs.Unavailable, "the inbox or a file in it cannot be read").WithClass("inbox_read").
		WithNext("mcpd's user needs to read the directory and its files")
}
