package contract

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"

	"pfsensemcp/pkg/errs"
	docspb "pfsensemcp/proto/docs/v1"
)

// Receive puts a contract together from its pieces and returns its bytes and
// where the document came from. A stream that is cut short, too long, or not what
// its head says is errs.Unavailable; an error of recv comes back as it is.
func Receive(recv func() (*docspb.ContractChunk, error)) ([]byte, *docspb.Source, error) {
	broken := errs.New(errs.Unavailable, "the contract did not come whole").WithNext("try again")
	var head *docspb.ContractHead
	var all []byte
	for {
		c, err := recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		switch h := c.GetHead(); {
		case head == nil:
			if head = h; h.GetSize() == 0 || h.GetSize() > MaxSize {
				return nil, nil, broken
			}
		case h != nil:
			return nil, nil, broken
		}
		if len(c.GetData()) > Chunk || uint64(len(all)+len(c.GetData())) > head.GetSize() {
			return nil, nil, broken
		}
		all = append(all, c.GetData()...)
	}
	sum := sha256.Sum256(all)
	if head == nil || uint64(len(all)) != head.GetSize() || subtle.ConstantTimeCompare(sum[:], head.GetSha256()) != 1 {
		return nil, nil, broken
	}
	return all, head.GetSource(), nil
}
