package logging

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/errs"
)

// journal returns a log in journald's form and what it has written.
func journal(t *testing.T, level string) (*Log, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	l, err := New(Options{Daemon: "mcpd", Format: "journal", Level: level, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	return l, &out
}

// only returns the one line of out, without its time, as a map.
func only(t *testing.T, out *bytes.Buffer) (prefix string, line map[string]any) {
	t.Helper()
	text := out.String()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Fatalf("not one line: %q", text)
	}
	prefix, text, _ = strings.Cut(text, "{")
	if err := jsonv2.Unmarshal([]byte("{"+text), &line); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	delete(line, "time")
	out.Reset()
	return prefix, line
}

func TestAnEventIsOneJSONLineBehindJournaldsLevel(t *testing.T) {
	l, out := journal(t, "debug")
	for level, want := range map[slog.Level][2]string{
		slog.LevelDebug: {"<7>", "DEBUG"}, slog.LevelInfo: {"<6>", "INFO"}, slog.LevelWarn: {"<4>", "WARN"}, slog.LevelError: {"<3>", "ERROR"},
	} {
		l.Logger.Log(t.Context(), level, "started", KeyService, "guidance", KeyCount, 3, KeyTruncated, true)
		prefix, line := only(t, out)
		d := cmp.Diff(map[string]any{
			"level": want[1], "daemon": "mcpd", "msg": "started", "service": "guidance", "count": 3.0, "truncated": true,
		}, line)
		if prefix != want[0] || d != "" {
			t.Errorf("%s %s", prefix, d)
		}
	}
}

func TestALevelHidesWhatIsBelowIt(t *testing.T) {
	l, out := journal(t, "warn")
	l.Logger.Info("quiet")
	l.Logger.Warn("loud")
	if _, line := only(t, out); line["msg"] != "loud" {
		t.Error(line)
	}
	for _, o := range []Options{{Level: "verbose", Stderr: out}, {Format: "xml", Stderr: out}, {}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestAnAuditLineHasAllItsKeysAtAnyLevel(t *testing.T) {
	l, out := journal(t, "error")
	Audit(t.Context(), l.Logger, Record{
		Tool: "pfsense_get_system_status", CallerUID: 4294967294, Identity: "Büro", Duration: 1500 * time.Microsecond, Outcome: "failed",
		Class: "connection", Code: "unavailable", Rows: 2, Drift: 1, RequestID: "r1", Seq: 7, Truncated: true,
	})
	prefix, line := only(t, out)
	d := cmp.Diff(map[string]any{
		"level": "INFO", "daemon": "mcpd", "msg": "tool call", "audit": true, "tool": "pfsense_get_system_status",
		"caller_uid": 4294967294.0, "upstream_identity": "Büro", "duration_ms": 1.0, "outcome": "failed", "class": "connection",
		"code": "unavailable", "rows": 2.0, "drift": 1.0, "request_id": "r1", "seq": 7.0, "truncated": true,
	}, line)
	if prefix != "<5>" || d != "" {
		t.Error(prefix, d)
	}
	Audit(t.Context(), l.Logger, Record{})
	if _, line := only(t, out); len(line) != 16 {
		t.Errorf("an empty record has %d keys", len(line))
	}
}

func TestNoValueCanForgeALineOrPaintATerminal(t *testing.T) {
	evil := "a\n<3>{\"msg\":\"forged\"}\r\x1b[2J\u202e\u2028\u0085\u200b\x00\xff\" rows=1 \\n \U000e0041"
	for _, format := range []string{"journal", "text"} {
		var out bytes.Buffer
		l, err := New(Options{Daemon: "d", Format: format, Stderr: &out})
		if err != nil {
			t.Fatal(err)
		}
		l.Logger.With(KeyDetail, evil).Info(evil, KeyPath, []string{evil}, evil, 1, KeyNext, errors.New(evil))
		text := out.String()
		if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: %q", format, text)
		}
		for _, c := range strings.TrimSuffix(text, "\n") {
			if c < ' ' || c > '~' {
				t.Fatalf("%s: %q in %q", format, c, text)
			}
		}
		if format == "text" && strings.Contains(text, " rows=1 ") && !strings.Contains(text, `\" rows=1 `) {
			t.Errorf("a value looks like a key: %q", text)
		}
	}
	l, out := journal(t, "")
	l.Logger.Info("m", KeyDetail, evil)
	if _, line := only(t, out); line["detail"] != strings.ReplaceAll(evil, "\xff", "\ufffd") {
		t.Errorf("%q", line["detail"])
	}
}

func TestOfAnErrorOnlyOurWordsAndTheTypesOfItsCauseAreShown(t *testing.T) {
	l, out := journal(t, "")
	cause := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "secret-text", Err: syscall.ECONNREFUSED}}
	err := errs.Wrap(cause, errs.Unavailable, "the appliance cannot be reached").WithClass("connection").WithNext("check the cable")
	l.Logger.Warn("request failed", Err(fmt.Errorf("secret-text: %w", err)), KeyPath, "/x")
	_, line := only(t, out)
	if d := cmp.Diff(map[string]any{
		"level": "WARN", "daemon": "mcpd", "msg": "request failed", "error": "the appliance cannot be reached", "code": "unavailable",
		"class": "connection", "next": "check the cable", "path": "/x", "cause": "*net.OpError > *os.SyscallError > errno connection refused",
	}, line); d != "" {
		t.Error(d)
	}
	l.Logger.Warn("request failed", Err(errors.Join(fmt.Errorf("secret-text %w", io.EOF), errors.New("x"))))
	_, line = only(t, out)
	if d := cmp.Diff(map[string]any{
		"level": "WARN", "daemon": "mcpd", "msg": "request failed", "error": "internal error", "code": "internal",
		"cause": "*errors.joinError > *fmt.wrapError > io.EOF",
	}, line); d != "" {
		t.Error(d)
	}
	l.Logger.Warn("no error", Err(nil))
	if _, line = only(t, out); line["error"] != "(nil)" {
		t.Error(line)
	}
}

type tattle struct{ Key string }

func (tattle) String() string { return "secret-text" }

func TestAValueOfAnUnknownTypeIsShownByItsTypeAlone(t *testing.T) {
	l, out := journal(t, "")
	l.Logger.Info("m", KeyDetail, tattle{"secret-text"}, KeyPath, &tattle{"secret-text"}, KeyService, map[string]string{"a": "secret-text"}, KeyNext, []byte("secret-text"))
	text := out.String()
	if strings.Contains(text, "secret-text") {
		t.Error(text)
	}
	if _, line := only(t, out); line["detail"] != "(logging.tattle)" || line["next"] != "([]uint8)" {
		t.Error(line)
	}
}

func TestAKeyStandsOnceInALine(t *testing.T) {
	l, out := journal(t, "")
	l.Logger.With(KeyRequestID, "r1").Info("m", KeyRequestID, "forged", "level", "x", "msg", "x", Err(errs.New(errs.Denied, "no")), KeyCode, "x")
	_, line := only(t, out)
	if line["request_id"] != "r1" || line["code"] != "denied" || line["level"] != "INFO" || line["msg"] != "m" {
		t.Error(line)
	}
}

func TestGroupsAreSpeltIntoTheKeys(t *testing.T) {
	l, out := journal(t, "")
	l.Logger.WithGroup("a").With("b", 1).WithGroup("").Info("m", slog.Group("c", "d", 2), slog.Group("", "e", 3))
	_, line := only(t, out)
	if line["a.b"] != 1.0 || line["a.c.d"] != 2.0 || line["a.e"] != 3.0 {
		t.Error(line)
	}
}

func TestALongLineIsBoundedAndStaysJSON(t *testing.T) {
	l, out := journal(t, "")
	var args []any
	for i := range 60 {
		args = append(args, fmt.Sprintf("k%d", i), strings.Repeat("\u202e", 5000))
	}
	args = append(args, KeyDetail, strings.Split(strings.Repeat("a,", 5000), ","))
	l.Logger.Info(strings.Repeat("ü", 5000), args...)
	if out.Len() > 48<<10 {
		t.Errorf("%d bytes", out.Len())
	}
	_, line := only(t, out)
	if line["cut"] != true || !strings.HasSuffix(line["k0"].(string), "\u202e[cut]") || len(line["msg"].(string)) > maxValue+len(cutMark) {
		t.Errorf("%v", line)
	}
}

func TestTheKeysAreFewAndKnown(t *testing.T) {
	var unknown []string
	l, err := New(Options{Stderr: io.Discard, Unknown: func(k string) { unknown = append(unknown, k) }})
	if err != nil {
		t.Fatal(err)
	}
	Audit(t.Context(), l.Logger, Record{})
	l.Logger.Info("m", Err(errs.Wrap(io.EOF, errs.Denied, "x").WithClass("c").WithNext("n")), KeySetting, "x")
	l.Logger.Info("m", "colour", "red")
	if d := cmp.Diff([]string{"colour"}, unknown); d != "" {
		t.Error(d)
	}
}

// failing is a writer that fails while it is told to.
type failing struct {
	bytes.Buffer
	fail bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.fail {
		return 0, syscall.ENOSPC
	}
	return f.Buffer.Write(p)
}

func TestDroppedLinesAreCountedAndToldLater(t *testing.T) {
	out := &failing{fail: true}
	l, err := New(Options{Format: "journal", Stderr: out})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l.Logger.Info("lost")
	}
	out.fail = false
	l.Logger.Info("kept")
	l.Logger.Info("kept")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"log lines were dropped","count":3`) || dropped(l) != 3 {
		t.Errorf("%d %q", dropped(l), lines)
	}
}

func TestALogFileHoldsJSONLinesWithoutAPrefix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "d.log")
	l, err := New(Options{Daemon: "mcpd", File: path, MaxBytes: 1024, Backups: 9, Format: "text"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		l.Logger.Info("event", KeyCount, i)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Logger.Info("after the end")
	if dropped(l) != 1 {
		t.Errorf("%d lines dropped after Close", dropped(l))
	}
	var all []byte
	for _, name := range []string{path + ".9", path + ".8", path + ".7", path + ".6", path + ".5", path + ".4", path + ".3", path + ".2", path + ".1", path} {
		b, err := os.ReadFile(name)
		if err == nil {
			all = append(all, b...)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(all)), "\n")
	if len(lines) != 30 || !jsontext.Value(lines[0]).IsValid() || !strings.HasSuffix(lines[29], `"count":29}`) {
		t.Errorf("%q", lines)
	}
	if _, err := New(Options{File: "relative.log"}); err == nil {
		t.Error("a relative path was taken")
	}
}

func TestLinesOfManyGoroutinesDoNotMix(t *testing.T) {
	l, out := journal(t, "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				l.Redact(fmt.Appendf(nil, "secret-%d-%d", i, j))
				l.Logger.With(KeyCount, j).InfoContext(context.Background(), "m", KeyDetail, fmt.Sprintf("secret-%d-%d", i, j))
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 400 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !jsontext.Value(strings.TrimPrefix(line, "<6>")).IsValid() || strings.Contains(line, "secret") {
			t.Fatal(line)
		}
	}
}

func TestATerminalGetsTextAndAPipeGetsJSON(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	l, err := New(Options{Stderr: null})
	if err != nil || !l.c.text || l.c.journal {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if l, err = New(Options{Stderr: w}); err != nil || l.c.text || !l.c.journal {
		t.Fatal(err)
	}
}

func TestTheReadableFormReads(t *testing.T) {
	var out bytes.Buffer
	l, err := New(Options{Daemon: "mcpd", Format: "text", Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	l.Logger.Warn("breaker opened", KeyPath, "/status/system", KeyDetail, "two time-outs", KeyStatus, 503, KeyNext, "")
	if got := out.String()[len("15:04:05.000 "):]; got != "WARN  breaker opened path=/status/system detail=\"two time-outs\" status=503 next=\"\"\n" {
		t.Errorf("%q", got)
	}
}

func dropped(l *Log) uint64 {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.total
}
