package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"math"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/show"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
	executorpb "pfsensemcp/proto/executor/v1"
)

func (a admin) AuditShow(_ context.Context, r *executorpb.AuditShowRequest) (*executorpb.AuditShowResponse, error) {
	if r.GetSeq() < 1 || r.GetSeq() > math.MaxInt64 {
		return nil, invalid("the audit begins with row 1")
	}
	out := &executorpb.AuditShowResponse{}
	return out, a.s.y.View(func(v *store.View) error {
		row, mac, err := v.AuditRow(int64(r.GetSeq()))
		if err != nil {
			return err
		}
		if _, out.Record, err = record.Encode(row); err != nil {
			return err
		}
		out.Mac = mac
		return nil
	})
}

// AuditVerify verifies the whole store. What it finds is an answer; an error says
// that it could not look.
func (a admin) AuditVerify(ctx context.Context, r *executorpb.AuditVerifyRequest) (*executorpb.AuditVerifyResponse, error) {
	if r.GetPinnedHead() != "" && !change.Hex64(r.GetPinnedHead()) {
		return nil, invalid("a head has 64 lower-case hex digits")
	}
	rep, err := a.s.y.Verify(ctx, r.GetPinnedHead())
	if rep.Finding == nil && err != nil {
		return nil, err
	}
	out := &executorpb.AuditVerifyResponse{
		Sound: rep.Finding == nil, Rows: uint64(rep.Audit), Head: rep.Head, Generation: uint64(rep.Generation), AnchorValue: show.Counter(&rep.AnchorValue),
	}
	if f := rep.Finding; f != nil {
		out.FirstBadSeq, out.Problem = uint64(f.Seq), f.Class
	}
	return out, nil
}

func (a admin) AuditExport(r *executorpb.AuditExportRequest, s grpc.ServerStreamingServer[executorpb.FileChunk]) error {
	if r.GetSince() > math.MaxInt64 {
		return invalid("there is no such row")
	}
	w := &chunks{to: s, sum: sha256.New()}
	if err := a.s.y.Export(w, int64(r.GetSince())); err != nil {
		return w.why(err)
	}
	return w.end()
}

func (a admin) Backup(_ *executorpb.BackupRequest, s grpc.ServerStreamingServer[executorpb.FileChunk]) error {
	w := &chunks{to: s, sum: sha256.New()}
	if err := a.s.y.Backup(w); err != nil {
		return w.why(err)
	}
	return w.end()
}

// chunkBytes is how much of a file one message carries.
const chunkBytes = 256 << 10

// chunks sends a file. It holds back the part that is not full, so that the last one,
// which alone says how much there was and what its hash is, is only sent when all of
// it was made.
type chunks struct {
	to    grpc.ServerStreamingServer[executorpb.FileChunk]
	sum   hash.Hash
	total uint64
	part  []byte
	lost  error // why the caller gets no more
}

// Write sends what fills a chunk.
func (c *chunks) Write(p []byte) (int, error) {
	n := len(p)
	_, _ = c.sum.Write(p) // a hash takes everything
	c.total += uint64(n)
	for len(p) > 0 && c.lost == nil {
		k := min(len(p), chunkBytes-len(c.part))
		c.part, p = append(c.part, p[:k]...), p[k:]
		if len(c.part) == chunkBytes {
			c.lost = c.to.Send(&executorpb.FileChunk{Data: c.part})
			c.part = nil // the library may look at a message after it was sent
		}
	}
	return n, c.lost
}

// end sends what is left.
func (c *chunks) end() error {
	if c.lost != nil {
		return c.why(c.lost)
	}
	return c.to.Send(&executorpb.FileChunk{Data: c.part, Last: true, Total: c.total, Sha256: c.sum.Sum(nil)})
}

// why says what ended the file early.
func (c *chunks) why(err error) error {
	if c.lost != nil && errors.Is(err, c.lost) {
		return errs.Wrap(err, errs.Expired, "the caller took no more of the file")
	}
	return err
}

// AnchorFile hands out the attested state of the counter.
func (a admin) AnchorFile(ctx context.Context, _ *executorpb.AnchorFileRequest) (*executorpb.ArtifactResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	b, err := a.s.y.AnchorFile(ctx, by)
	if err != nil {
		return nil, err
	}
	return &executorpb.ArtifactResponse{Artifact: b}, nil
}

func (a admin) GetPins(ctx context.Context, _ *executorpb.GetPinsRequest) (*executorpb.ArtifactResponse, error) {
	b, err := a.s.y.Pins(ctx)
	if err != nil {
		return nil, err
	}
	return &executorpb.ArtifactResponse{Artifact: b}, nil
}

// SubmitRebaseline answers with the counter as it stands afterwards.
func (a admin) SubmitRebaseline(ctx context.Context, r *executorpb.SubmitRebaselineRequest) (*executorpb.AnchorStatusResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.s.y.Rebaseline(ctx, by, r.GetRebaseline()); err != nil {
		return nil, refusal(err)
	}
	return a.AnchorStatus(ctx, nil)
}

func (a admin) RotateKeys(ctx context.Context, r *executorpb.RotateKeysRequest) (*executorpb.RotateKeysResponse, error) {
	by, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	if !r.GetConfirm() {
		return nil, unconfirmed()
	}
	epoch, id, rows, err := a.s.y.Rotate(ctx, by)
	if err != nil {
		return nil, err
	}
	return &executorpb.RotateKeysResponse{Epoch: uint32(epoch), KeyId: id, Rows: uint64(rows)}, nil
}

// KeyChallenge answers for the write key; how often, the ceremony bounds.
func (a admin) KeyChallenge(_ context.Context, r *executorpb.KeyChallengeRequest) (*executorpb.KeyChallengeResponse, error) {
	if len(r.GetChallenge()) != 32 {
		return nil, invalid("a challenge has 32 bytes")
	}
	mac, err := a.s.y.Challenge([32]byte(r.GetChallenge()))
	if err != nil {
		return nil, err
	}
	return &executorpb.KeyChallengeResponse{Hmac: mac[:]}, nil
}
