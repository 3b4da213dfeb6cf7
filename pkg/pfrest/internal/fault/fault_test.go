package fault

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
)

func TestEveryFaultSaysWhatFailedAndWhatToDo(t *testing.T) {
	check := func(name string, f Fault) {
		t.Helper()
		if f.Class == "" || f.Msg == "" || f.Next == "" || strings.HasSuffix(f.Msg, ".") || f.Msg[0] < 'a' || f.Msg[0] > 'z' {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for id, row := range byID {
		check(id, row.Fault)
		if row.status < 400 {
			t.Errorf("%s has status %d", id, row.status)
		}
		if got := Of(row.status, id, true); got != row.Fault {
			t.Errorf("%s is judged %+v", id, got)
		}
		if got := Of(row.status+1, id, true); got == row.Fault {
			t.Errorf("%s is believed with status %d", id, row.status+1)
		}
	}
	for _, f := range []Fault{KeyRefused, NotREST, EmptyBody, TooLarge, Broken, Late, Cancelled, Expired, Shape("is wrong")} {
		check(f.Msg, f)
	}
	for status := 201; status < 600; status++ {
		for _, isJSON := range []bool{false, true} {
			f := Of(status, "AN_ID_NOBODY_KNOWS", isJSON)
			check(http.StatusText(status), f)
			if strings.Contains(f.Msg+f.Next, "NOBODY") {
				t.Fatalf("%d quotes the id: %s", status, f.Msg)
			}
			if (f.Class == ClassAuthentication) != (status == 401) {
				t.Errorf("%d is %s", status, f.Class)
			}
		}
	}
}

func TestMarksAreFoundAndCausesStayInside(t *testing.T) {
	err := EmptyBody.Err("/api/v2/a", errors.New("secret"))
	if !errors.Is(err, ErrSalvageable) || errors.Is(err, ErrTooLarge) || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	if !errors.Is(TooLarge.Err("/api/v2/a", nil), ErrTooLarge) || errors.Is(Broken.Err("/api/v2/a", nil), ErrSalvageable) {
		t.Fatal("marks")
	}
	if !errors.Is(Of(500, "", false).Err("/a", nil), ErrSalvageable) || errors.Is(Of(502, "", false).Err("/a", nil), ErrSalvageable) {
		t.Fatal("a 500 is worth smaller pages, a 502 is not")
	}
	if errs.CodeOf(Late.Err("/a", nil)) != errs.Expired {
		t.Fatal("code")
	}
}
