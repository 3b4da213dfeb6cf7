package logview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// line is a daemon's line.
func line(second int, msg, id string) string {
	request := ""
	if id != "" {
		request = `,"request_id":"` + id + `"`
	}
	return fmt.Sprintf(`{"time":"2026-11-30T12:00:%02d.000000Z","level":"INFO","daemon":"x","msg":%q,"tool":"a b"%s}`, second, msg, request)
}

func printed(t *testing.T, list []Entry) string {
	t.Helper()
	var b bytes.Buffer
	for i, e := range list {
		if err := Print(&b, e, i > 0 && e.RequestID != "" && list[i-1].RequestID == e.RequestID); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func write(t *testing.T, dir, daemon string, lines ...string) string {
	t.Helper()
	path := filepath.Join(dir, "log", daemon+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, l := range lines {
		if _, err := f.WriteString(l + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func every(Entry) bool { return true }

func TestTheLinesOfOneRequestStandTogetherWhicheverDaemonWroteThem(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mcpd", line(1, "call", "aaaa"), line(2, "call", "bbbb"), line(5, "done", "aaaa"))
	write(t, dir, "guidanced", line(3, "lookup", "aaaa"), line(4, "idle", ""))
	got, err := Files(dir, 100, every)
	if err != nil {
		t.Fatal(err)
	}
	const want = `2026-11-30T12:00:01.000Z mcpd      INFO  call tool="a b" request_id=aaaa
  2026-11-30T12:00:03.000Z guidanced INFO  lookup tool="a b" request_id=aaaa
  2026-11-30T12:00:05.000Z mcpd      INFO  done tool="a b" request_id=aaaa
2026-11-30T12:00:02.000Z mcpd      INFO  call tool="a b" request_id=bbbb
2026-11-30T12:00:04.000Z guidanced INFO  idle tool="a b"
`
	if text := printed(t, got); text != want {
		t.Errorf("\n%s", text)
	}
	if got, err = Files(dir, 2, every); err != nil || len(got) != 2 || got[1].Msg != "done" {
		t.Errorf("the newest two: %v %v", got, err)
	}
	if got, err = Files(dir, 100, func(e Entry) bool { return e.RequestID == "bbbb" }); err != nil || len(got) != 1 {
		t.Errorf("one request: %v %v", got, err)
	}
	if _, err := Files(t.TempDir(), 1, every); err == nil {
		t.Error("a directory without logs")
	}
}

func TestALinkInALogsPlaceIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "mcpd", line(1, "x", ""))
	if err := os.Rename(path, path+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".real", path); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(dir, 1, every); err == nil {
		t.Error("followed")
	}
}

func TestALineIsCleanedWhateverItHolds(t *testing.T) {
	const evil = "\x1b[2J\u202e\r"
	for _, l := range []string{
		`{"msg":"\u001b[2J","level":"\u001b[2J","k\u001b[2J":"\u001b[2J","request_id":"\u001b[2J","time":"\u001b"}`,
		"panic: " + evil, evil, `{"msg":"x"`, `["a"]`, `{"msg":{"a":[1,2]}}`, "", `{"a":1}{"b":2}`,
	} {
		text := printed(t, []Entry{ParseLine("mcpd", []byte(l), time.Time{})})
		if strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\x1b\u202e\r\n") {
			t.Errorf("%q becomes %q", l, text)
		}
	}
	long := ParseLine("mcpd", []byte(`{"msg":"`+strings.Repeat("x", MaxLine)+`"}`), time.Time{})
	if len(long.Msg) > maxValue+len(`\{cut}`) {
		t.Errorf("%d bytes", len(long.Msg))
	}
}

func TestTheJournalSaysWhoseALineIs(t *testing.T) {
	row := func(unit, message string) string {
		return `{"__REALTIME_TIMESTAMP":"1796040001000000","_SYSTEMD_UNIT":"` + unit + `","PRIORITY":"6","MESSAGE":` + message + `}`
	}
	quoted := strings.ReplaceAll(line(7, "call", "aaaa"), `"`, `\"`)
	e, ok := ParseJournal([]byte(row("pfsense-guidanced.service", `"`+quoted+`"`)))
	if !ok || e.Daemon != "guidanced" || e.Msg != "call" || e.RequestID != "aaaa" || e.Time.Second() != 7 {
		t.Errorf("%+v %v", e, ok)
	}
	e, ok = ParseJournal([]byte(row("pfsense-mcpd.service", `[112,97,110,105,99,27,255]`)))
	if !ok || e.Msg != `panic\u{1b}\x{ff}` || e.Time.Unix() != 1796040001 {
		t.Errorf("%+v %v", e, ok)
	}
	e, ok = ParseJournal([]byte(`{"__REALTIME_TIMESTAMP":"1","_SYSTEMD_UNIT":"init.scope","UNIT":"pfsense-executord-admin.socket","MESSAGE":"Listening"}`))
	if !ok || e.Daemon != "executord" || e.Msg != "Listening" {
		t.Errorf("%+v %v", e, ok)
	}
	for _, l := range []string{row("ssh.service", `"x"`), row("pfsense-other.service", `"x"`), "x", "", `{}`} {
		if e, ok := ParseJournal([]byte(l)); ok {
			t.Errorf("%q is %+v", l, e)
		}
	}
}

func TestNewLinesAreFollowedThroughARotation(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "mcpd", line(1, "old", ""))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all, err := openAll(dir, 0)
	defer closeAll(all)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan Entry, 16)
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, all, func(e Entry) error { got <- e; return nil }) }()
	next := func(want string) {
		t.Helper()
		select {
		case e := <-got:
			if e.Msg != want {
				t.Errorf("%q, want %q", e.Msg, want)
			}
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("%q does not come", want)
		}
	}
	write(t, dir, "mcpd", line(2, "new", ""))
	next("new")
	write(t, dir, "executord", line(3, "late", "")) // a log that was not there
	next("late")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "mcpd", line(4, "rotated", ""))
	next("rotated")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestALineThatIsWrittenJustBeforeARotationIsNotLost(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "mcpd", line(1, "old", ""))
	all, err := openAll(dir, 0)
	defer closeAll(all)
	if err != nil {
		t.Fatal(err)
	}
	l := all[slices.IndexFunc(all, func(l *file) bool { return l.daemon == "mcpd" })]
	var got []string
	each := func(e Entry) { got = append(got, e.Msg) }
	if err := l.poll(each); err != nil {
		t.Fatal(err)
	}
	// Between the read of a poll and its look for a rotation:
	write(t, dir, "mcpd", line(2, "last", ""))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "mcpd", line(3, "first", ""))
	if !l.rotated() {
		t.Fatal("the rotation is not seen")
	}
	if err := l.renew(each); err != nil || strings.Join(got, " ") != "last first" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mcpd", line(1, "old", ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Follow(ctx, dir, func(e Entry) error { return errors.New("an old line is handed out") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line(1, "x", "id")))
	f.Add([]byte(`{"MESSAGE":[1,2,3],"_SYSTEMD_UNIT":"pfsense-mcpd.service"}`))
	f.Add([]byte(`{"MESSAGE":"{\"msg\":\"x\"}","_SYSTEMD_UNIT":"pfsense-mcpd.service","__REALTIME_TIMESTAMP":"9223372036854775807"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries := []Entry{ParseLine("mcpd", b, time.Time{})}
		if e, ok := ParseJournal(b); ok {
			entries = append(entries, e)
		}
		for _, e := range Group(entries) {
			var out bytes.Buffer
			if err := Print(&out, e, true); err != nil {
				t.Fatal(err)
			}
			text := strings.TrimSuffix(out.String(), "\n")
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) || len(text) > 40_000 {
				t.Errorf("%q", text)
			}
		}
	})
}
