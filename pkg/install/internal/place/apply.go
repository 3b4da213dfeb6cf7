package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// staged is a new file beside the one that it shall become.
type staged struct {
	Step
	temp string // path below the root
}

// Apply does what the steps say. Every new file is first written in full beside its
// place; only when all of them are on the disk are they put in place. What fails
// before leaves everything as it was. A file that changed since the plan is an error.
// answers are kept for the next run; no secret may be among them.
func (t *Tree) Apply(steps []Step, answers map[string]string) (err error) {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := t.read()
	if err != nil {
		return err
	}
	rec.Answers = answers
	fresh := t.missing(steps)
	var ready []staged
	defer func() {
		t.drop()
		for _, s := range ready {
			if rerr := os.Remove(t.at(s.temp)); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) && err == nil {
				err = errs.Wrap(rerr, errs.Unavailable, s.temp+" is left over and cannot be removed").WithNext("remove it by hand")
			}
		}
		if err != nil {
			for _, dir := range fresh {
				_ = os.Remove(t.at(dir)) // stays when something is in it by now
			}
		}
	}()
	for i, s := range steps {
		if s.Action != Write && s.Action != Replace {
			continue
		}
		if err := t.parents(s.Path, true); err != nil {
			return err
		}
		w := staged{s, filepath.Join(filepath.Dir(s.Path), "."+filepath.Base(s.Path)+".setup"+strconv.Itoa(i))}
		ready = append(ready, w) // before it is made: what fails in between is removed too
		if err := t.stage(w); err != nil {
			return err
		}
	}
	all := rec.clone()
	for _, s := range steps {
		if s.Action != Left && s.Action != Kept {
			all.add(s.File)
		}
	}
	if err := t.draft(all); err != nil {
		return err
	}
	for _, s := range steps {
		if s.Action == Mend {
			if err := t.mend(s); err != nil {
				return err
			}
		}
	}
	for n, w := range ready {
		if err := t.settle(w); err != nil {
			if n > 0 { // the files in place are ours; the error is told either way
				if t.draft(rec) == nil {
					_ = t.keep(rec)
				}
			}
			return err
		}
		rec.add(w.File)
	}
	return t.keep(all)
}

// lock keeps a second setup, uninstall or rotate-key out: each would put the other's
// half-written files in place.
func (t *Tree) lock() (unlock func(), err error) {
	d, err := os.OpenFile(t.at("/"), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err == nil {
		if err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = d.Close() }, nil // nothing was written through it
		}
		_ = d.Close() // nothing was written through it
	}
	return nil, errs.Wrap(err, errs.Conflict, "another mcpctl setup, uninstall or rotate-key is under way; nothing was changed").
		WithNext("wait until it has ended, then run this again")
}

// missing are the directories that are not there yet, the innermost first.
func (t *Tree) missing(steps []Step) []string {
	var out []string
	paths := []string{RecordPath}
	for _, s := range steps {
		paths = append(paths, s.Path)
	}
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(t.at(dir)); errors.Is(err, fs.ErrNotExist) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// stage writes a new file in full.
func (t *Tree) stage(w staged) error {
	_ = os.Remove(t.at(w.temp)) // of a run that was killed; O_EXCL decides
	f, err := os.OpenFile(t.at(w.temp), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err == nil {
		_, err = f.Write(w.Data)
		err = errors.Join(err, f.Chown(t.UID, t.GID), f.Chmod(w.Mode), f.Sync(), f.Close())
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, w.Path+" cannot be written; nothing was changed").WithNext("check the free space of its file system, and run it as root")
	}
	return nil
}

// settle puts a staged file in its place. A new one never takes the place of a file
// that appeared meanwhile.
func (t *Tree) settle(w staged) error {
	var err error
	if w.Action == Write {
		err = os.Link(t.at(w.temp), t.at(w.Path))
	} else {
		now, derr := t.digest(w.Path)
		if derr != nil {
			return derr
		}
		if now != w.before {
			err = fs.ErrExist
		} else {
			err = os.Rename(t.at(w.temp), t.at(w.Path))
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return errs.Wrap(err, errs.Conflict, w.Path+" was changed by somebody else at this moment").WithNext("run it again")
	case err != nil:
		return errs.Wrap(err, errs.Unavailable, w.Path+" cannot be put in place").WithNext("check its file system, and run it again: it goes on where it stopped")
	}
	return t.syncDir(filepath.Dir(w.Path))
}

// syncDir makes the name of a synced file durable.
func (t *Tree) syncDir(dir string) error {
	d, err := os.Open(t.at(dir))
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the directory "+dir+" cannot be synced").WithNext("check its file system, and run it again")
	}
	return nil
}

// mend sets owner and mode of the file itself, not of what a link in its place means.
func (t *Tree) mend(s Step) error {
	f, err := os.OpenFile(t.at(s.Path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(f.Chown(t.UID, t.GID), f.Chmod(s.Mode), f.Close())
	}
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "owner and mode of "+s.Path+" cannot be set").WithNext("run it as root")
	}
	return nil
}

// Own is a file that setup put there.
type Own struct {
	Path   string
	Secret bool
	Edited bool // a person changed it since
	Gone   bool
}

// Owned returns what setup has put there, in the order of the paths.
func (t *Tree) Owned() ([]Own, error) {
	rec, err := t.read()
	if err != nil {
		return nil, err
	}
	var out []Own
	for path, want := range rec.Files {
		now, err := t.digest(path)
		if err != nil {
			now = "unreadable" // a link in its place: it is somebody's
		}
		out = append(out, Own{Path: path, Gone: now == "", Edited: now != want})
	}
	for _, path := range rec.Secrets {
		_, err := os.Lstat(t.at(path))
		out = append(out, Own{Path: path, Secret: true, Gone: errors.Is(err, fs.ErrNotExist)})
	}
	slices.SortFunc(out, func(a, b Own) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return out, nil
}

// Remove takes files away and forgets them. With, for a path, the bytes that the
// package shipped, these are put back instead; they are all on the disk before the first
// file goes.
func (t *Tree) Remove(paths []string, shipped map[string][]byte) error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := t.read()
	if err != nil {
		return err
	}
	defer t.drop()
	back := map[string]staged{}
	defer func() {
		for _, w := range back {
			_ = os.Remove(t.at(w.temp)) // it is in place, or what kept it out is told
		}
	}()
	for i, path := range paths {
		b := shipped[path]
		if b == nil {
			continue
		}
		s := Step{File: File{Path: path, Mode: 0o644, Data: b}, Action: Replace}
		if s.before, err = t.digest(path); err != nil {
			return err
		}
		w := staged{s, filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".setup"+strconv.Itoa(i))}
		back[path] = w
		if err := t.stage(w); err != nil {
			return err
		}
	}
	for _, path := range paths {
		if err = t.away(path, back); err != nil {
			break
		}
		rec.forget(path)
	}
	// Room for what is left of the record came with the files that went.
	if derr := t.draft(rec); derr != nil {
		return errors.Join(err, errs.Wrap(derr, errs.Unavailable, "what was removed is not remembered: "+RecordPath+" cannot be written").
			WithNext("check the free space of its file system, and run it again"))
	}
	return errors.Join(err, t.keep(rec))
}

// away takes one file away, or puts what the package shipped in its place.
func (t *Tree) away(path string, back map[string]staged) error {
	if w, ok := back[path]; ok {
		return t.settle(w)
	}
	if err := os.Remove(t.at(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errs.Wrap(err, errs.Unavailable, path+" cannot be removed").WithNext("run it as root")
	}
	return nil
}

// Swap puts a new key in the place of one that is there, in one step, and returns what
// stood there. A failure leaves the old one.
func (t *Tree) Swap(f File) (old []byte, err error) {
	unlock, err := t.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	rec, err := t.read()
	if err != nil {
		return nil, err
	}
	if err := t.parents(f.Path, true); err != nil {
		return nil, err
	}
	old, err = t.load(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w := staged{Step{File: f}, filepath.Join(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".setup")}
	defer func() { _ = os.Remove(t.at(w.temp)) }() // it is in place, or what kept it out is told
	if err := t.stage(w); err != nil {
		return nil, err
	}
	rec.add(f)
	defer t.drop()
	if err := t.draft(rec); err != nil {
		return nil, err
	}
	if err := os.Rename(t.at(w.temp), t.at(f.Path)); err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, f.Path+" cannot be put in place").WithNext("check its file system")
	}
	if err := t.syncDir(filepath.Dir(f.Path)); err != nil {
		return old, err
	}
	return old, t.keep(rec)
}
