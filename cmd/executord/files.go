package main

import (
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// maxFile bounds the authorities file, in bytes, with room to notice a larger one.
const maxFile = 8 << 10

// read reads a small public file.
func read(path string) ([]byte, error) { return readAll(path, maxFile) }

// readAll reads a public file of at most so many bytes.
func readAll(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil, errs.New(errs.Invalid, "it is no regular file, or too large")
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// digits are the 64 hex digits of a key in a file of keyfile.
var digits = regexp.MustCompile(`[0-9a-f]{64}`)

// hide registers a key file for redaction: as it stands, and the key in it by itself,
// which is what would come out of a mistake.
func hide(redact func([]byte), file []byte) {
	redact(file)
	for _, d := range digits.FindAll(file, -1) {
		key, err := hex.DecodeString(string(d))
		if err != nil { // it is none
			continue
		}
		redact(key) // in all its forms, hex too
		clear(key)
	}
}

// rooted refuses a file that anybody but root could change or replace. Every directory
// up to the root counts, those above a relative path too.
func rooted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for {
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok || sys.Uid != 0 || st.Mode()&os.ModeSymlink != 0 || st.Mode().Perm()&0o022 != 0 {
			return errs.New(errs.Invalid, "somebody else than root may write it")
		}
		parent := filepath.Dir(path)
		if parent == path {
			return nil
		}
		path = parent
	}
}
