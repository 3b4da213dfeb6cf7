// Package codec owns how a request becomes a message: measured before it is
// decoded, refused when it is too large or holds what the message does not
// know. rpc alone imports it. It must never let the library answer for a bad
// request, because the library's text quotes what came.
//
// The attack it stops: a request that costs memory before it is judged, or that says
// more in fields which only another version would read.
package codec

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped here
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"pfsensemcp/pkg/errs"
)

// Bounded is a request on its way in. The codec measures it before it decodes
// it, so that no byte over the bound of its row is ever parsed. What is wrong
// with it goes into Fault: an error from a codec would be answered by the
// library, with the library's text.
type Bounded struct {
	Msg    any   // what it is decoded into
	Max    int   // bytes
	Strict bool  // a field that the message does not have is a fault
	Fault  error // set by decoding
}

// codec is the library's protobuf codec that knows Bounded.
type codec struct{ encoding.CodecV2 }

// New returns the codec of a server.
func New() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*Bounded)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() > b.Max {
		b.Fault = errs.Newf(errs.Exhausted, "the request has %d bytes, at most %d are allowed", data.Len(), b.Max)
		return nil
	}
	if err := c.CodecV2.Unmarshal(data, b.Msg); err != nil {
		b.Fault = errs.Wrap(err, errs.Invalid, "the request cannot be decoded")
		return nil
	}
	if m, ok := b.Msg.(proto.Message); ok && b.Strict && hasUnknown(m.ProtoReflect()) {
		b.Fault = errs.New(errs.Invalid, "the request has a field that this version does not know").
			WithNext("compare the versions of both programs: mcpctl status")
	}
	return nil
}

// hasUnknown says whether m, or a message in it, has an unknown field.
func hasUnknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		case f.IsMap(): // none of our messages has one
			found = true
		default:
			found = hasUnknown(v.Message())
		}
		return !found
	})
	return found
}
