package logview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
)

// tailBytes is how much of the end of a log file is read.
const tailBytes = 4 << 20

// pollEvery is how often a file is looked at for new lines.
const pollEvery = 300 * time.Millisecond

// file is one daemon's log below a directory of mcpctl run.
type file struct {
	daemon, path string
	f            *os.File
	ino          uint64
	part         []byte // the beginning of a line whose end is not written yet
}

// open opens the log from its end, or from its beginning for one that has been rotated.
func (l *file) open(back int64) error {
	f, err := os.OpenFile(l.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		_ = f.Close() // nothing was read from it
		return errors.Join(err, fs.ErrInvalid)
	}
	if at := fi.Size() - back; at > 0 {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			_ = f.Close()
			return err
		}
		if back > 0 {
			if err := l.skipLine(f); err != nil {
				_ = f.Close()
				return err
			}
		}
	}
	l.part = nil
	l.f, l.ino = f, inode(fi)
	return nil
}

// skipLine goes behind the line in whose middle the file was opened.
func (l *file) skipLine(f *os.File) error {
	one := make([]byte, 4096)
	for read := 0; read < MaxLine; {
		n, err := f.Read(one)
		if i := bytes.IndexByte(one[:n], '\n'); i >= 0 {
			_, err = f.Seek(int64(i+1-n), io.SeekCurrent)
			return err
		}
		if read += n; err != nil {
			return nil
		}
	}
	return nil
}

func inode(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// lines reads what is there now, at most tailBytes, and hands out whole lines.
func (l *file) lines(each func(Entry)) error {
	b, err := io.ReadAll(io.LimitReader(l.f, tailBytes))
	if err != nil {
		return err
	}
	b = append(l.part, b...)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		if i > 0 {
			each(ParseLine(l.daemon, b[:i], time.Time{}))
		}
		b = b[i+1:]
	}
	if len(b) > MaxLine {
		b = nil // no line of a daemon is that long
	}
	l.part = slices.Clone(b)
	return nil
}

// rotated says whether another file stands under the name, or this one was emptied.
func (l *file) rotated() bool {
	fi, err := os.Lstat(l.path)
	if err != nil {
		return false // it comes back
	}
	at, err := l.f.Seek(0, io.SeekCurrent)
	return err == nil && (inode(fi) != l.ino || fi.Size() < at)
}

// openAll opens the logs that are there; none at all is an error.
func openAll(dir string, back int64) ([]*file, error) {
	var all []*file
	for _, d := range Daemons() {
		l := &file{daemon: d, path: filepath.Join(dir, "log", d+".log")}
		switch err := l.open(back); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return all, errs.Wrap(err, errs.Unavailable, "the log of "+d+" cannot be read").WithNext("it is the user's who runs the suite: run mcpctl logs as that user")
		}
		all = append(all, l)
	}
	if !slices.ContainsFunc(all, func(l *file) bool { return l.f != nil }) {
		return all, errs.New(errs.NotFound, "there is no log in "+filepath.Join(dir, "log")).WithNext("name the directory that mcpctl run printed: --dir DIR")
	}
	return all, nil
}

func closeAll(all []*file) {
	for _, l := range all {
		if l.f != nil {
			_ = l.f.Close() // it was only read
		}
	}
}

// Files returns the newest entries of the logs below a directory of mcpctl run, as
// many as match and at most most, grouped.
func Files(dir string, most int, match func(Entry) bool) ([]Entry, error) {
	all, err := openAll(dir, tailBytes)
	defer closeAll(all)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, l := range all {
		if l.f == nil {
			continue
		}
		var own []Entry
		err := l.lines(func(e Entry) {
			if match(e) {
				own = append(own, e)
			}
		})
		if err != nil {
			return nil, errs.Wrap(err, errs.Unavailable, "the log of "+l.daemon+" cannot be read to its end")
		}
		out = append(out, own[max(0, len(own)-most):]...)
	}
	return Newest(out, most), nil
}

// Newest returns the newest entries, at most most, grouped.
func Newest(list []Entry, most int) []Entry {
	slices.SortStableFunc(list, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return Group(list[max(0, len(list)-most):])
}

// Follow hands out entries as they are written, until ctx ends. A log that is rotated
// is read on from its beginning, one that appears later as well.
func Follow(ctx context.Context, dir string, each func(Entry) error) error {
	all, err := openAll(dir, 0)
	defer closeAll(all)
	if err != nil {
		return err
	}
	return follow(ctx, all, each)
}

// follow is Follow of logs that are open at the place from where they are read on.
func follow(ctx context.Context, all []*file, each func(Entry) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		var batch []Entry
		for _, l := range all {
			if err := l.poll(func(e Entry) { batch = append(batch, e) }); err != nil {
				return errs.Wrap(err, errs.Unavailable, "the log of "+l.daemon+" cannot be read on")
			}
		}
		slices.SortStableFunc(batch, func(a, b Entry) int { return a.Time.Compare(b.Time) })
		for _, e := range batch {
			if err := each(e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// poll hands out what is new.
func (l *file) poll(each func(Entry)) error {
	if l.f == nil {
		if err := l.open(tailBytes); err != nil {
			return nil // not there yet
		}
	}
	if err := l.lines(each); err != nil {
		return err
	}
	if l.rotated() {
		return l.renew(each)
	}
	return nil
}

// renew goes on with the file that stands under the name now. What was written to the
// old one between the last read and the rotation is handed out first.
func (l *file) renew(each func(Entry)) error {
	if err := l.lines(each); err != nil {
		return err
	}
	_ = l.f.Close() // it was only read
	l.f, l.part = nil, nil
	if err := l.open(tailBytes); err != nil {
		return nil // it comes back
	}
	return l.lines(each)
}
