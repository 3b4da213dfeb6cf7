package errs

import (
	"context"
	"errors"
	"strings"

	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// codes gives each Code its stable name and the gRPC code it travels as.
// UnknownOutcome travels as DataLoss: no gRPC client retries that code, and
// nothing else here uses it.
var codes = [...]struct {
	name string
	grpc grpccodes.Code
}{
	Internal:       {"internal", grpccodes.Internal},
	NotFound:       {"not_found", grpccodes.NotFound},
	Invalid:        {"invalid", grpccodes.InvalidArgument},
	Denied:         {"denied", grpccodes.PermissionDenied},
	Conflict:       {"conflict", grpccodes.FailedPrecondition},
	Unavailable:    {"unavailable", grpccodes.Unavailable},
	Exhausted:      {"exhausted", grpccodes.ResourceExhausted},
	Expired:        {"expired", grpccodes.DeadlineExceeded},
	UnknownOutcome: {"unknown_outcome", grpccodes.DataLoss},
}

// sep stands between class, message and next step in a gRPC status message:
// the ASCII unit separator, which no text of ours contains.
const sep = "\x1f"

// ToStatus returns err as a gRPC status error that carries code, class,
// message and next step of its public form. A nil error stays nil.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	e := Public(err)
	c := grpccodes.Internal
	if int(e.Code) < len(codes) {
		c = codes[e.Code].grpc
	}
	return status.Error(c, strings.Join([]string{e.Class, e.Msg, e.Next}, sep))
}

// FromStatus turns an error of a gRPC call back into an *Error. A status that
// did not come from ToStatus (the library's own, say) keeps its code and gets a
// fixed message: its text may quote a peer. A nil error stays nil.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Wrap(err, Expired, "the service did not answer in time")
	}
	st, ok := status.FromError(err)
	if !ok {
		return Wrap(err, Internal, "internal error")
	}
	code := fromGRPC(st.Code())
	if p := strings.Split(st.Message(), sep); len(p) == 3 {
		return &Error{Code: code, Class: p[0], Msg: p[1], Next: p[2], Err: err}
	}
	msg := "the service failed"
	switch code {
	case Unavailable:
		msg = "the service cannot be reached"
	case Expired:
		msg = "the service did not answer in time"
	case Denied:
		msg = "the service refused the call"
	}
	return Wrap(err, code, msg)
}

// fromGRPC maps a gRPC code to ours; what we never send is Internal.
func fromGRPC(c grpccodes.Code) Code {
	for code, row := range codes {
		if row.grpc == c {
			return Code(code)
		}
	}
	switch c {
	case grpccodes.Canceled:
		return Expired
	case grpccodes.Unauthenticated:
		return Denied
	}
	return Internal
}
