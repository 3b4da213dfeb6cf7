package codec

import (
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/proto/executor/v1"
)

// Whatever comes, the codec itself never fails, nothing over the bound is
// decoded, and what passed a strict server holds nothing but known fields.
func FuzzAnythingThatComesIsAMessageOrAFaultOfOurs(f *testing.F) {
	good, err := proto.Marshal(&executorpb.GetContractResponse{Contract: &executorpb.Contract{ContractId: "wc-1", State: 3}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 100)
	f.Add(good, 3)
	f.Add([]byte("\x98\x06\x01"), 100)
	f.Add([]byte("\x0a\x03\x98\x06\x01"), 100)
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"), 100)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		msg := &executorpb.GetContractResponse{}
		b := &Bounded{Msg: msg, Max: limit, Strict: true}
		if err := New().Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, b); err != nil {
			t.Fatalf("the codec failed: %v", err)
		}
		if len(data) > limit && (errs.CodeOf(b.Fault) != errs.Exhausted || proto.Size(msg) > 0) {
			t.Fatalf("%d bytes of %d: %v, %d decoded", len(data), limit, b.Fault, proto.Size(msg))
		}
		if b.Fault == nil && (len(msg.ProtoReflect().GetUnknown()) > 0 || len(msg.GetContract().ProtoReflect().GetUnknown()) > 0) {
			t.Fatal("an unknown field passed")
		}
	})
}
