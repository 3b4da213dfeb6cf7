package cli

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/errs"
)

func TestFlagsMayStandAnywhere(t *testing.T) {
	for _, c := range []struct {
		line string
		rest []string
		bad  bool
	}{
		{"a -o x", []string{"a"}, false},
		{"-o x a", []string{"a"}, false},
		{"a -o x b", []string{"a", "b"}, false},
		{"-o=x a --yes b", []string{"a", "b"}, false},
		{"a b c -o x", nil, true},
		{"-o x", nil, true},
		{"a -o", nil, true},
		{"a --nope", nil, true},
		{"a -o x -- --yes", []string{"a", "--yes"}, false},
		{"-o x -- a --yes", []string{"a", "--yes"}, false},
	} {
		var e bytes.Buffer
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		fs.SetOutput(&e)
		o := fs.String("o", "", "")
		fs.Bool("yes", false, "")
		rest, err := Parse(fs, strings.Fields(c.line), 1, 2)
		if (err != nil) != c.bad || !slices.Equal(rest, c.rest) || err == nil && *o != "x" {
			t.Errorf("%s: %q %v", c.line, rest, err)
		}
		if c.bad && !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

func TestJSONIsASCIIAndMeansTheSame(t *testing.T) {
	for _, s := range []string{"", "a\"\\b", "é \u202e\u2028 \U0001f600 \x7f\x00\x1b", "<>&"} {
		checkJSON(t, s)
	}
}

func checkJSON(t *testing.T, s string) {
	t.Helper()
	var b bytes.Buffer
	in := map[string]string{s: s}
	if err := WriteJSON(&b, in); err != nil {
		return // not UTF-8
	}
	out := b.String()
	for i := range len(out) - 1 {
		if out[i] < ' ' || out[i] >= 0x7f {
			t.Fatalf("%q: byte %#x in %q", s, out[i], out)
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out), &back); err != nil || len(back) != 1 || back[s] != s {
		t.Fatalf("%q became %q: %v", s, back, err)
	}
}

func FuzzWriteJSON(f *testing.F) {
	f.Add("é\U0001f600\x7f")
	f.Fuzz(checkJSON)
}

func TestAnErrorOfADaemonIsCleanedAndAnUncodedOneSaysNothing(t *testing.T) {
	var b bytes.Buffer
	Render(&b, errs.New(errs.Denied, "a\x1b[2J\r\n").WithNext("b\u202e"+strings.Repeat("x", 5000)))
	if out := b.String(); strings.ContainsAny(out, "\x1b\r\u202e") || strings.Count(out, "\n") != 2 || len(out) > 2*MaxError {
		t.Errorf("%q", out)
	}
	b.Reset()
	Render(&b, errors.New("secret"))
	if strings.Contains(b.String(), "secret") {
		t.Errorf("%q", b.String())
	}
}

func TestEachKindOfErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err    error
		plain  int
		strict int
	}{
		{nil, ExitOK, ExitOK},
		{ErrUsage, ExitUsage, ExitUsage},
		{flag.ErrHelp, ExitOK, ExitOK},
		{Exit(7), 7, 7},
		{context.Canceled, ExitOK, ExitOK},
		{errs.Wrap(context.Canceled, errs.UnknownOutcome, "interrupted"), ExitFail, ExitFail},
		{errs.New(errs.Invalid, "x"), ExitFail, ExitUsage},
		{errs.New(errs.Unavailable, "x").WithClass(ClassIntegrity), ExitFail, ExitUsage},
		{errs.New(errs.Unavailable, "x"), ExitFail, ExitFail},
		{errors.New("x"), ExitFail, ExitFail},
	} {
		for _, strict := range []bool{false, true} {
			row := Command{Name: "c", Run: func(context.Context, Env, *flag.FlagSet, []string) error { return c.err }}
			want := c.plain
			if strict {
				row.Code, want = StrictCode, c.strict
			}
			if code := Run(t.Context(), Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, "mcpctl", []Command{row}, []string{"c"}); code != want {
				t.Errorf("%v, strict %v: exit %d, want %d", c.err, strict, code, want)
			}
		}
	}
}

func TestAnEnumOfTomorrowIsUnknown(t *testing.T) {
	for in, want := range map[string]string{"STATE_VERIFIED": "verified", "STATE_UNSPECIFIED": "unknown", "17": "unknown", "OTHER_X": "unknown"} {
		if got := Word(in, "STATE_"); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestAnAgeOfNothingIsNow(t *testing.T) {
	now := time.Unix(1000, 0)
	for unix, want := range map[int64]string{999: "(1s ago)", 1000: "(now)", 1001: "(in 1s)"} {
		if got := Around(unix, now); !strings.HasSuffix(got, want) {
			t.Errorf("%d: %s", unix, got)
		}
	}
}

func TestATextIsBrokenBetweenWords(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "aa bb cc": "aa bb|cc", "aaaaaaa b": "aaaaaaa|b", " a  b ": "a b"} {
		if got := strings.Join(Wrap(in, 5), "|"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAWrongCommandLineStaysShort(t *testing.T) {
	var o, e bytes.Buffer
	row := Command{Name: "c", Help: "does it", Example: "mcpctl c -o x", Run: func(_ context.Context, _ Env, fs *flag.FlagSet, args []string) error {
		fs.String("o", "", "a `FILE`")
		_, err := Parse(fs, args, 0, 0)
		return err
	}}
	if code := Run(t.Context(), Env{Out: &o, Err: &e}, "mcpctl", []Command{row}, []string{"c", "--nope"}); code != ExitUsage || o.Len() > 0 {
		t.Errorf("exit %d: %s", code, &o)
	}
	if out := e.String(); strings.Contains(out, "a FILE") || !strings.Contains(out, "-nope") || !strings.Contains(out, "example: mcpctl c -o x\nmcpctl c --help shows the flags\n") {
		t.Errorf("%s", out)
	}
}
