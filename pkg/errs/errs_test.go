package errs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAnUncodedErrorTellsAnOutsiderNothing(t *testing.T) {
	err := fmt.Errorf("reading key: %w", errors.New("secret-value"))
	p := Public(err)
	if p.Code != Internal || p.Error() != "internal error" {
		t.Fatalf("public form of an uncoded error is %v %q", p.Code, p.Error())
	}
	if got := ToStatus(err).Error(); got == "" || strings.Contains(got, "secret-value") {
		t.Fatalf("status carries the cause: %q", got)
	}
}

func TestACauseIsNeverPrinted(t *testing.T) {
	err := Wrap(errors.New("secret-value"), Unavailable, "the appliance cannot be reached")
	for _, s := range []string{err.Error(), fmt.Sprint(err), fmt.Sprintf("%v", fmt.Errorf("call: %w", err)), ToStatus(err).Error()} {
		if strings.Contains(s, "secret-value") {
			t.Fatalf("the cause is printed: %q", s)
		}
	}
}

func TestEveryCodeSurvivesTheTripThroughGRPC(t *testing.T) {
	for c := range codes {
		in := &Error{Code: Code(c), Class: "connection", Msg: "what failed", Next: "do this"}
		out, ok := errors.AsType[*Error](FromStatus(ToStatus(in)))
		if !ok || out.Code != in.Code || out.Class != in.Class || out.Msg != in.Msg || out.Next != in.Next {
			t.Errorf("%v came back as %+v", in.Code, out)
		}
	}
}

func TestAStatusOfSomebodyElseLosesItsText(t *testing.T) {
	for _, c := range []grpccodes.Code{grpccodes.Unavailable, grpccodes.DeadlineExceeded, grpccodes.PermissionDenied, grpccodes.Unimplemented, grpccodes.Canceled} {
		err := FromStatus(status.Error(c, "text of a peer"))
		if strings.Contains(err.Error(), "text of a peer") {
			t.Errorf("%v shows %q", c, err)
		}
	}
	if CodeOf(FromStatus(context.DeadlineExceeded)) != Expired {
		t.Error("a local deadline is not Expired")
	}
}

func TestNilStaysNil(t *testing.T) {
	if ToStatus(nil) != nil || FromStatus(nil) != nil {
		t.Fatal("nil became an error")
	}
}
