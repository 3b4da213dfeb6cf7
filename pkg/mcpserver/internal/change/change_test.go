package change

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/execfront"
)

// direct is a connection to a Front without a socket between; down makes it one
// to nobody.
type direct struct {
	grpc.ClientConnInterface
	front *execfront.Front

	mu   sync.Mutex
	down bool
}

func (d *direct) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	d.mu.Lock()
	down := d.down
	d.mu.Unlock()
	if down {
		return errs.New(errs.Unavailable, "canary: executord is not reachable")
	}
	if _, ok := ctx.Deadline(); !ok {
		return errs.New(errs.Internal, "a call without a deadline")
	}
	var r proto.Message
	var err error
	switch in := in.(type) {
	case *executorpb.GetWriteStatusRequest:
		r, err = d.front.GetWriteStatus(ctx, in)
	case *executorpb.RequestAliasDescriptionRequest:
		r, err = d.front.RequestAliasDescription(ctx, in)
	default:
		return errs.New(errs.Internal, "the tool called "+method)
	}
	if err == nil {
		proto.Merge(out.(proto.Message), r)
	}
	return err
}

func (d *direct) setDown(v bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = v
}

// rig is a tool, what it is connected to, and the changes it told of.
type rig struct {
	*Tool
	exec *direct
	said strings.Builder

	mu   sync.Mutex
	told []bool
}

func (r *rig) changes() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]bool{}, r.told...)
}

func newRig() *rig {
	r := &rig{exec: &direct{front: &execfront.Front{}}}
	r.exec.front.Report(execfront.Ready())
	r.Tool = New(catalog.Writes()[0], r.exec, slog.New(slog.NewTextHandler(&r.said, nil)), func(on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, on)
	})
	return r
}

const good = `{"alias_name":"web_servers","description":"DMZ web servers"}`

func TestG1TheToolIsOfferedWhenExecutordReportsTheCompiledEntryAndNotOtherwise(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*executorpb.GetWriteStatusResponse)
		ok   bool
	}{
		{"equal", func(*executorpb.GetWriteStatusResponse) {}, true},
		{"C: not constructible", func(r *executorpb.GetWriteStatusResponse) { r.Constructible = false }, false},
		{"B: another unit", func(r *executorpb.GetWriteStatusResponse) { r.Unit += "2" }, false},
		{"B: no unit", func(r *executorpb.GetWriteStatusResponse) { r.Unit = "" }, false},
		{"B: another endpoint", func(r *executorpb.GetWriteStatusResponse) { r.EndpointSymbol = "FIREWALL_RULE" }, false},
		{"B: another method", func(r *executorpb.GetWriteStatusResponse) { r.HttpMethod = "DELETE" }, false},
		{"B: a method in small letters", func(r *executorpb.GetWriteStatusResponse) { r.HttpMethod = "patch" }, false},
		{"another contract of the tool", func(r *executorpb.GetWriteStatusResponse) { r.Schema = 2 }, false},
	} {
		r := newRig()
		s := execfront.Ready()
		tt.set(s)
		r.exec.front.Report(s)
		r.exec.front.Say(executorpb.WriteState_WRITE_STATE_REQUESTED)
		if r.Offered() {
			t.Errorf("%s: offered before a look", tt.name)
		}
		if got := r.Look(t.Context()); got != tt.ok || r.Offered() != tt.ok {
			t.Errorf("%s: offered %t", tt.name, got)
		}
		want := Refused
		if tt.ok {
			want = Requested
		}
		if got, err := r.Call(t.Context(), 1, []byte(good)); got != want || err != nil {
			t.Errorf("%s: a call is answered with %q, %v", tt.name, got, err)
		}
		if n := len(r.exec.front.Asked()); (n == 1) != tt.ok {
			t.Errorf("%s: executord was asked %d times", tt.name, n)
		}
	}
}

func TestEveryChangeOfTheOfferIsToldOnceAndInItsOrder(t *testing.T) {
	r := newRig()
	r.exec.front.Say(executorpb.WriteState_WRITE_STATE_VERIFIED)
	for range 3 {
		r.Look(t.Context())
	}
	r.exec.setDown(true)
	for range 3 {
		r.Look(t.Context())
	}
	r.exec.setDown(false)
	r.exec.front.Report(nil) // sealed: as little offered as before
	r.Look(t.Context())
	r.exec.front.Report(execfront.Ready())
	if s, _ := r.Call(t.Context(), 1, []byte(good)); s != Verified { // a call is a look too
		t.Errorf("%s", s)
	}
	if got := r.changes(); len(got) != 3 || !got[0] || got[1] || !got[2] {
		t.Errorf("told %v", got)
	}
	for _, why := range []string{offered, unreachable, sealed} {
		if !strings.Contains(r.said.String(), why) {
			t.Errorf("the log does not say %q", why)
		}
	}
	if strings.Contains(r.said.String(), "canary") {
		t.Errorf("the log quotes: %s", r.said.String())
	}
}

func TestALookTakesAQuarterOfASecondAtMostAndIsSharedByThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		goOn := r.exec.front.Hang()
		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if r.Look(t.Context()) {
					t.Error("offered by an executord that says nothing")
				}
			})
		}
		all.Wait()
		if d := time.Since(began); d != lookWithin {
			t.Errorf("waited %v", d)
		}
		if n := r.tickets.Load(); n != 1 {
			t.Errorf("%d questions for 50 who looked at once", n)
		}
		// A session that gives up waits no longer, and spoils nothing.
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() {
			if r.Look(ctx) {
				t.Error("offered to one who left")
			}
		})
		synctest.Wait()
		cancel()
		first.Wait()
		got := make(chan bool)
		go func() { got <- r.Look(t.Context()) }()
		synctest.Wait()
		goOn()
		if !<-got || !r.Offered() {
			t.Error("not offered to the one who waited")
		}
	})
}

func TestACallThatIsGivenUpProvesNothingForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.Look(t.Context())
		defer r.exec.front.Hang()()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan State)
		go func() { s, _ := r.Call(ctx, 1, []byte(good)); done <- s }()
		synctest.Wait()
		cancel()
		if s := <-done; s != Refused {
			t.Errorf("%s", s)
		}
		if !r.Offered() || len(r.changes()) != 1 {
			t.Error("the offer ended for everybody")
		}
	})
}

func TestAnAnswerThatCameLateDoesNotUndoALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		r.exec.front.Report(nil)
		goOn := r.exec.front.Hang()
		defer goOn()
		early := make(chan bool)
		go func() { early <- r.learn(t.Context(), time.Minute) }() // asks first
		synctest.Wait()
		later := make(chan bool)
		r.exec.front = &execfront.Front{} // the same executord, as it answers meanwhile
		r.exec.front.Report(execfront.Ready())
		go func() { later <- r.learn(t.Context(), time.Minute) }()
		if !<-later {
			t.Fatal("not offered")
		}
		goOn()
		if <-early {
			t.Error("the early question was answered with what it did not ask for")
		}
		if !r.Offered() {
			t.Error("the late answer to an early question ended the offer")
		}
	})
}

func TestG2TheAnswerIsOneWordOfSixWhateverExecutordSays(t *testing.T) {
	want := map[executorpb.WriteState]State{
		0: Refused,
		executorpb.WriteState_WRITE_STATE_REQUESTED:               "requested",
		executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION:   "awaiting_confirmation",
		executorpb.WriteState_WRITE_STATE_VERIFIED:                "verified",
		executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED: "reconciliation_required",
		executorpb.WriteState_WRITE_STATE_REFUSED:                 "refused",
		executorpb.WriteState_WRITE_STATE_REVERTED:                "reverted",
		7:  Refused,
		-1: Refused,
	}
	if len(want) != len(executorpb.WriteState_name)+2 {
		t.Error("the protocol has other states than the test")
	}
	r := newRig()
	for from, to := range want {
		r.exec.front.Say(from)
		got, err := r.Call(t.Context(), 1, []byte(good))
		if got != to || err != nil {
			t.Errorf("%v: %s, %v", from, got, err)
		}
		var object map[string]string
		if err := json.Unmarshal(got.JSON(), &object); err != nil || len(object) != 1 || object["state"] != string(to) {
			t.Errorf("%v: %s", from, got.JSON())
		}
	}
	if len(States()) != 6 {
		t.Errorf("%v", States())
	}
}

func TestWhateverGoesWrongIsOneRefusalAndNoTextOfIt(t *testing.T) {
	r := newRig()
	long := strings.Repeat("x", maxText+1)
	for name, tt := range map[string]struct {
		args string
		err  error
	}{
		"an error":                    {good, errs.New(errs.Internal, "canary").WithClass("canary").WithNext("canary")},
		"a plain error":               {good, errors.New("canary")},
		"a full quota":                {good, errs.New(errs.Exhausted, "canary")},
		"a denial":                    {good, errs.New(errs.Denied, "canary")},
		"a name that is too long":     {`{"alias_name":"` + long[:maxName+1] + `","description":"x"}`, nil},
		"a text that is too long":     {`{"alias_name":"x","description":"` + long + `"}`, nil},
		"a text that is no UTF-8":     {"{\"alias_name\":\"x\",\"description\":\"\xff\"}", nil},
		"half a surrogate":            {`{"alias_name":"x","description":"\ud800"}`, nil},
		"a name with half a sequence": {"{\"alias_name\":\"\xc3\",\"description\":\"x\"}", nil},
	} {
		r.exec.front.Answer(func(*executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) {
			return executorpb.WriteState_WRITE_STATE_VERIFIED, tt.err
		})
		before := len(r.exec.front.Asked())
		got, err := r.Call(t.Context(), 1, []byte(tt.args))
		if got != Refused || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if asked := len(r.exec.front.Asked()) > before; asked != (tt.err != nil) {
			t.Errorf("%s: executord was asked: %t", name, asked)
		}
	}
	r.exec.setDown(true)
	if got, err := r.Call(t.Context(), 1, []byte(good)); got != Refused || err != nil {
		t.Errorf("nobody there: %q, %v", got, err)
	}
}

func TestOnlyTheTypesOfTheArgumentsAreToldApart(t *testing.T) {
	r := newRig()
	r.exec.front.Say(executorpb.WriteState_WRITE_STATE_REQUESTED)
	for _, args := range []string{
		``, `null`, `[]`, `"x"`, `1`, `{}`, `{`, `{"alias_name":"x"}`, `{"description":"x"}`,
		`{"alias_name":1,"description":"x"}`, `{"alias_name":"x","description":null}`, `{"alias_name":["x"],"description":"x"}`,
		`{"alias_name":"x","description":"x","apply":true}`, `{"alias_name":"x","description":"x","apply":"y"}`,
		`{"alias_name":"x","description":"x","alias_name":"y"}`, `{"Alias_Name":"x","description":"x"}`,
		`{"alias_name":"x","description":"x"} {}`, `{"alias_name":"x","description":"x"}x`, `{"alias_name":"x","description":{"a":"\ud800"}}`,
	} {
		if got, err := r.Call(t.Context(), 1, []byte(args)); !errors.Is(err, ErrArguments) || got != "" {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
	if len(r.exec.front.Asked()) != 0 || r.exec.front.Looks() != 0 {
		t.Error("executord was asked")
	}
}

// G8: what the text may hold is executord's to judge, so that there is one judge.
func TestG8TheTextIsPassedOnAsItIs(t *testing.T) {
	r := newRig()
	r.exec.front.Say(executorpb.WriteState_WRITE_STATE_REFUSED)
	texts := []string{"", " ", "plain", "a\u202eb", "\x00", "tab\there", strings.Repeat("x", 1025), "e\u0301", "\U000e0041", "\ufffd", strings.Repeat("é", 2048), "line\nend"}
	for _, text := range texts {
		args, err := json.Marshal(map[string]string{"alias_name": "web", "description": text})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Call(t.Context(), 1001, args); got != Refused || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	asked := r.exec.front.Asked()
	if len(asked) != len(texts) {
		t.Fatalf("%d of %d texts reached executord", len(asked), len(texts))
	}
	for i, text := range texts {
		if asked[i].GetDescription() != text || asked[i].GetAliasName() != "web" || asked[i].GetCallerUid() != 1001 {
			t.Errorf("%q became %v", text, asked[i])
		}
	}
}

func TestG7AUidsFloodHoldsFourCallsAndKeepsNobodyElseOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		var mu sync.Mutex
		inside, most := 0, 0
		release := make(chan struct{})
		r.exec.front.Answer(func(q *executorpb.RequestAliasDescriptionRequest) (executorpb.WriteState, error) {
			if q.GetCallerUid() != 7 {
				return executorpb.WriteState_WRITE_STATE_VERIFIED, nil
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			<-release
			mu.Lock()
			inside--
			mu.Unlock()
			return executorpb.WriteState_WRITE_STATE_REQUESTED, nil
		})
		var flood sync.WaitGroup
		answers := make(chan State, 200)
		for range 200 {
			flood.Go(func() { s, _ := r.Call(t.Context(), 7, []byte(good)); answers <- s })
		}
		synctest.Wait()
		if s, _ := r.Call(t.Context(), 8, []byte(good)); s != Verified {
			t.Errorf("another account is answered with %s", s)
		}
		began := time.Now()
		time.Sleep(callWithin)
		synctest.Wait()
		if n := len(answers); n != 200-laneWidth {
			t.Errorf("%d of the flood have their answer after %v", n, time.Since(began))
		}
		for range 200 - laneWidth {
			if s := <-answers; s != Refused {
				t.Errorf("one that got no turn is answered with %s", s)
			}
		}
		close(release)
		flood.Wait()
		if most != laneWidth || len(r.lanes.open) != 0 {
			t.Errorf("%d at a time, %d lanes are left", most, len(r.lanes.open))
		}
	})
}

func TestTheSchemasSayExactlyWhatTheToolTakesAndGives(t *testing.T) {
	var in, out struct {
		Type       string
		Properties map[string]struct {
			Type string
			Enum []State
		}
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal([]byte(Input), &in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(Output()), &out); err != nil {
		t.Fatal(err)
	}
	if in.Type != "object" || len(in.Properties) != 2 || in.Properties["alias_name"].Type != "string" || in.Properties["description"].Type != "string" ||
		strings.Join(in.Required, " ") != "alias_name description" || in.Additional == nil || *in.Additional {
		t.Errorf("%s", Input)
	}
	if out.Type != "object" || len(out.Properties) != 1 || len(out.Properties["state"].Enum) != 6 ||
		strings.Join(out.Required, " ") != "state" || out.Additional == nil || *out.Additional {
		t.Errorf("%s", Output())
	}
	for _, must := range []string{"Asynchronous", "success of the call is not success of the change", "off-host approval", "identical arguments to poll", "filter is not reloaded"} {
		if !strings.Contains(Desc, must) {
			t.Errorf("the description does not say %q", must)
		}
	}
	if n := utf8.RuneCountInString(Desc); n > 250 {
		t.Errorf("the description has %d characters", n)
	}
	for _, s := range States() {
		if !strings.Contains(meaning, string(s)) {
			t.Errorf("what %s means is not said", s)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{good, `{}`, `{"alias_name":"\ud800","description":""}`, "{\"alias_name\":\"\xff\",\"description\":1}", `{"description":"a","alias_name":"\u0000"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		alias, text, err := parse(args)
		if err != nil {
			if !errors.Is(err, ErrArguments) && !errors.Is(err, errText) || alias != "" || text != "" {
				t.Fatalf("%v %q %q", err, alias, text)
			}
			return
		}
		// What was taken is an object that any other reader reads the same way.
		var m map[string]string
		if err := json.Unmarshal(args, &m); err != nil || len(m) != 2 || m["alias_name"] != alias || m["description"] != text {
			t.Fatalf("%q: %v, %q and %q", args, err, alias, text)
		}
		if !utf8.ValidString(alias) || !utf8.ValidString(text) {
			t.Fatalf("%q %q", alias, text)
		}
	})
}
