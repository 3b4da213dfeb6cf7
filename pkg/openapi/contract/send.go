package contract

import (
	"crypto/sha256"

	docspb "pfsensemcp/proto/docs/v1"
)

// Chunk bounds one piece of a contract on its way, in bytes.
const Chunk = 256 << 10

// Send hands out an encoded contract in pieces; the head goes with the first.
func Send(b []byte, src *docspb.Source, send func(*docspb.ContractChunk) error) error {
	sum := sha256.Sum256(b)
	head := &docspb.ContractHead{Source: src, Size: uint64(len(b)), Sha256: sum[:]}
	for len(b) > 0 {
		n := min(len(b), Chunk)
		if err := send(&docspb.ContractChunk{Head: head, Data: b[:n]}); err != nil {
			return err
		}
		b, head = b[n:], nil
	}
	return nil
}
