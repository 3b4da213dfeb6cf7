package rule

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// world answers everything with a failure and counts what is asked.
type world struct{ calls []string }

var errNone = errs.New(errs.Unavailable, "not here").WithClass("anchor_unavailable")

func (w *world) ask(what string) error { w.calls = append(w.calls, what); return errNone }

func (w *world) View(func(*store.View) error) error         { return w.ask("view") }
func (w *world) Quarantine() string                         { _ = w.ask("quarantine"); return "" }
func (w *world) Authorities() *authority.Set                { _ = w.ask("authorities"); return artifacttest.Owners() }
func (w *world) Plan(context.Context) (*change.Plan, error) { return nil, w.ask("plan") }
func (w *world) Counter(context.Context) (int64, error)     { return 0, w.ask("counter") }
func (w *world) Survey(context.Context) (*alias.Survey, error) {
	return nil, w.ask("survey")
}
func (w *world) InterfaceNames(string) string { _ = w.ask("names"); return "id" }
func (w *world) Policy() Policy               { _ = w.ask("policy"); return Policy{} }

func TestEveryReasonThatARowCanGiveIsAWordOfTheAudit(t *testing.T) {
	// What a table gives is tested above; a word that is missing in the list is
	// reported as internal, and never lost.
	if d := Deny(No("g9", "unheard_of"), "", ""); d.Reason != "internal" || !d.Reason.Known() {
		t.Errorf("%v", d)
	}
	for _, stage := range []struct {
		name  string
		words string
	}{
		{"g5a", "unavailable digest unsafe evidence counter in_flight lockout landing"},
		{"c6", "quarantine unavailable digest unsafe evidence counter in_flight lockout landing"},
		{"b6", "unavailable unsafe evidence counter in_flight lockout landing"},
		{"g5b", "rate policy read version settings busy identity target no_op intent locator"},
		{"c7", "policy read version settings busy identity target no_op intent locator"},
		{"b7", "policy read version settings busy identity target intent locator"},
		{"c5", "expired pinned floor distinct"},
		{"b", "reserved rate window later"},
	} {
		for w := range strings.FieldsSeq(stage.words) {
			if !Word(stage.name, w).Known() {
				t.Errorf("%s is no word of the list", Word(stage.name, w))
			}
		}
	}
}

func TestARowSeesOnlyWhatItSaysItLooksAt(t *testing.T) {
	may := map[Looks][]string{
		0: nil, Process: {"authorities", "quarantine", "names", "policy"}, Records: {"view", "view"}, Counter: {"counter"}, Appliance: {"survey"}, Records | Counter: {"view", "view", "plan", "counter"},
	}
	for looks, want := range may {
		w := &world{}
		f := NewFacts(t.Context(), w)
		if m := Run(f, f, []Row[*Facts]{At("all", looks, func(f *Facts) *Miss {
			_, _ = f.Authorities()
			_, _ = f.Quarantine()
			_, _ = f.InterfaceNames("")
			_, _ = f.Policy()
			_ = f.View(func(*store.View) (*Miss, error) { return nil, nil })
			_, _ = f.Time()
			_, _ = f.Planned()
			_, _ = f.Counter()
			_, _ = f.Surveyed()
			return nil
		})}); m != nil {
			t.Fatal(m)
		}
		if got := strings.Join(w.calls, " "); got != strings.Join(want, " ") {
			t.Errorf("a row of %d asked for %q, want %q", looks, got, want)
		}
		// And nothing once its turn is over.
		if _, err := f.Policy(); errs.CodeOf(err) != errs.Internal {
			t.Errorf("after the row: %v", err)
		}
	}
}

func TestAFactIsAskedForOnce(t *testing.T) {
	w := &world{}
	f := NewFacts(t.Context(), w)
	all := Process | Records | Counter | Appliance
	row := At("again", all, func(f *Facts) *Miss {
		_, err := f.Planned()
		_, err2 := f.Counter()
		_, err3 := f.Surveyed()
		_, m := f.Time()
		if !errors.Is(err, errNone) || !errors.Is(err2, errNone) || !errors.Is(err3, errNone) || m == nil {
			t.Errorf("%v, %v, %v, %v", err, err2, err3, m)
		}
		return nil
	})
	if m := Run(f, f, []Row[*Facts]{row, row, row}); m != nil {
		t.Fatal(m)
	}
	if got := strings.Join(w.calls, " "); got != "plan counter survey view" {
		t.Errorf("asked for %q", got)
	}
}

func TestTheFirstMissEndsATable(t *testing.T) {
	f := NewFacts(t.Context(), &world{})
	var ran []string
	row := func(name string, m *Miss) Row[*Facts] {
		return At(name, 0, func(*Facts) *Miss { ran = append(ran, name); return m })
	}
	m := Run(f, f, []Row[*Facts]{row("one", nil), row("two", No("g1", "form")), row("three", No("g1", "size"))})
	if m == nil || m.Reason != "g1_form" || strings.Join(ran, " ") != "one two" {
		t.Errorf("%v after %v", m, ran)
	}
}

func TestNoRuleOfAFileLeaves(t *testing.T) {
	const marker = "web_servers"
	fault, rule := error(&artifact.Fault{Member: marker, Rule: marker}), error(&canon.Error{Rule: marker})
	for _, cause := range []error{
		fault, rule, errs.Wrap(fault, errs.Unavailable, "not readable").WithClass("read"), errs.Wrap(rule, errs.Unavailable, "not readable"), errors.New(marker),
	} {
		d := Deny(Failed("g5b", "read", cause), "", "")
		if d.Err == nil || errs.CodeOf(d) != errs.Unavailable || strings.Contains(errs.Public(d).Msg, marker) || strings.Contains(d.Error(), marker) {
			t.Errorf("%v: %v", cause, d.Err)
		}
		if _, ok := errors.AsType[*artifact.Fault](error(d)); ok {
			t.Errorf("%v leaves", cause)
		}
		if _, ok := errors.AsType[*canon.Error](error(d)); ok {
			t.Errorf("%v leaves", cause)
		}
	}
	known := errs.New(errs.Unavailable, "no answer").WithClass("read")
	if d := Deny(Failed("g5b", "read", known), "", ""); !errors.Is(d, known) {
		t.Errorf("%v", d.Err)
	}
	if Deny(nil, "", "") != nil || record.Reason("read").Known() {
		t.Error("nothing is denied for nothing")
	}
}

func TestReasonedTakesWordsOfTheListAlone(t *testing.T) {
	for class, want := range map[string]record.Reason{"in_flight": "in_flight", "read": "otherwise", "": "otherwise"} {
		if r := Reasoned(errs.New(errs.Conflict, "x").WithClass(class), "otherwise"); r != want {
			t.Errorf("%q: %s", class, r)
		}
	}
	if r := Reasoned(errors.New("in_flight"), "otherwise"); r != "otherwise" {
		t.Errorf("%s", r)
	}
}
