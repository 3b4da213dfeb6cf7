package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	executorpb "pfsensemcp/proto/executor/v1"
)

// Bounds of a streamed file, in bytes: of one part, of the whole, and of the end that
// is kept to be looked at.
const (
	maxChunk  = 256 << 10
	maxStream = 4 << 30
	maxTail   = 16 << 10
)

// Received is what a streamed file was.
type Received struct {
	Bytes  uint64
	SHA256 string
	Tail   []byte // the last bytes, at most 16 KiB
}

// Receive writes a streamed file to w. Only a stream whose last part says so, with
// the length and the hash of what came, is a file; any other is an error of the class
// integrity, and what was written is worth nothing.
func Receive(recv func() (*executorpb.FileChunk, error), w io.Writer) (Received, error) {
	r := receiver{w: w, sum: sha256.New()}
	for {
		c, err := recv()
		if errors.Is(err, io.EOF) {
			return Received{}, cut("executord's stream ended before its end")
		}
		if err != nil {
			return Received{}, err
		}
		done, err := r.take(c)
		if err != nil {
			return Received{}, err
		}
		if done {
			break
		}
	}
	if _, err := recv(); !errors.Is(err, io.EOF) {
		if err != nil {
			return Received{}, err
		}
		return Received{}, cut("executord's stream goes on after its end")
	}
	return r.Received, nil
}

func cut(msg string) error {
	return errs.New(errs.Unavailable, msg+", so no file was made").WithClass(cli.ClassIntegrity).
		WithNext("run the same command again; if it stays like this: mcpctl status and the log of executord")
}

type receiver struct {
	Received
	w   io.Writer
	sum hash.Hash
}

// take takes one part and says whether it was the last.
func (r *receiver) take(c *executorpb.FileChunk) (bool, error) {
	data := c.GetData()
	r.Bytes += uint64(len(data))
	switch {
	case len(data) > maxChunk || r.Bytes > maxStream:
		return false, cut("executord's stream is larger than it may be")
	case len(data) == 0 && !c.GetLast():
		return false, cut("a part of executord's stream is empty")
	}
	_, _ = r.sum.Write(data) // never fails
	if _, err := r.w.Write(data); err != nil {
		return false, err
	}
	r.Tail = append(r.Tail, data...)
	if over := len(r.Tail) - maxTail; over > 0 {
		r.Tail = bytes.Clone(r.Tail[over:])
	}
	if !c.GetLast() {
		return false, nil
	}
	sum := r.sum.Sum(nil)
	if c.GetTotal() != r.Bytes || !bytes.Equal(c.GetSha256(), sum) {
		return false, cut("what came is not what executord sent")
	}
	r.SHA256 = hex.EncodeToString(sum)
	return true, nil
}
