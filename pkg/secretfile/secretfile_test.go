package secretfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfsensemcp/pkg/errs"
)

const key = "0123456789abcdefKEY"

func put(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAKeyIsTheFirstLineOfAnOwnerOnlyFile(t *testing.T) {
	for text, want := range map[string]string{
		key: key, key + "\n": key, "  " + key + "  \nmore\n": key, key + "\n\x00\xff": key,
		strings.Repeat("k", maxKey): strings.Repeat("k", maxKey), strings.Repeat("k", maxKey) + "\n": strings.Repeat("k", maxKey),
	} {
		for _, mode := range []os.FileMode{0o600, 0o400} {
			s, err := Read(put(t, t.TempDir(), "key", text, mode), Options{Setting: "api_key_file"})
			if err != nil || string(s.Bytes()) != want {
				t.Errorf("%.20q: %v", text, err)
			}
		}
	}
}

// refusal reads and returns the message and the next step of the refusal.
func refusal(t *testing.T, path string, o Options, euid int) (msg, next string) {
	t.Helper()
	o.Setting = "api_key_file"
	s, err := read(path, o, euid)
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || len(s.Bytes()) > 0 {
		t.Fatalf("%s: was not refused: %v", path, err)
	}
	if e.Class != class || e.Next == "" || !strings.HasPrefix(e.Msg, "api_key_file: ") {
		t.Errorf("%s: %+v", path, e)
	}
	if strings.Contains(e.Msg+e.Next, key) {
		t.Errorf("the refusal shows the key: %q %q", e.Msg, e.Next)
	}
	return e.Msg, e.Next
}

func TestEveryOtherFileIsRefusedForItsOwnReason(t *testing.T) {
	d, me := t.TempDir(), unix.Geteuid()
	plain := put(t, d, "plain", key, 0o600)
	link := filepath.Join(d, "link")
	fifo := filepath.Join(d, "fifo")
	linked := put(t, d, "linked", key, 0o600)
	for _, err := range []error{os.Symlink(plain, link), unix.Mkfifo(fifo, 0o600), os.Link(linked, filepath.Join(d, "second"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for _, c := range []struct {
		name, path, want, next string
		euid                   int
	}{
		{"symlink", link, "symbolic link", "", me},
		{"absent", filepath.Join(d, "none"), "cannot be opened", filepath.Join(d, "none"), me},
		{"relative", "key", "must be absolute", "", me},
		{"dots", d + "/x/../plain", "must be absolute", "", me},
		{"directory", d, "not a regular file", "", me},
		{"pipe", fifo, "not a regular file", fifo, me},
		{"device", "/dev/null", "not a regular file", "", me},
		{"other owner", plain, "does not belong", "chown 4711 " + plain, 4711},
		{"group", put(t, d, "g", key, 0o640), "permissions for other users", "chmod 600 " + d + "/g", me},
		{"others", put(t, d, "o", key, 0o604), "permissions for other users", "", me},
		{"hard link", linked, "more than one name", "", me},
		{"large", put(t, d, "big", key+strings.Repeat("\n", maxFile), 0o600), "larger than 16384", "", me},
		{"long", put(t, d, "long", strings.Repeat("k", maxKey+1), 0o600), "longer than 4096", "", me},
		{"nul", put(t, d, "nul", key+"\x00\n", 0o600), "NUL", "", me},
		{"crlf", put(t, d, "crlf", key+"\r\n", 0o600), "carriage return", "sed", me},
		{"tab", put(t, d, "tab", "a\t"+key, 0o600), "control character", "", me},
		{"del", put(t, d, "del", key+"\x7f", 0o600), "control character", "", me},
		{"blank", put(t, d, "blank", "a "+key, 0o600), "blank", "", me},
		{"umlaut", put(t, d, "umlaut", "ü"+key, 0o600), "outside ASCII", "", me},
		{"not utf-8", put(t, d, "bytes", "\xff"+key, 0o600), "outside ASCII", "", me},
		{"empty", put(t, d, "empty", "", 0o600), "is empty", "", me},
		{"only blanks", put(t, d, "blanks", "  \n"+key, 0o600), "is empty", "", me},
	} {
		msg, next := refusal(t, c.path, Options{}, c.euid)
		if !strings.Contains(msg, c.want) || !strings.Contains(next, c.next) {
			t.Errorf("%s: %q / %q", c.name, msg, next)
		}
		seen[msg] = c.name
	}
	if len(seen) != 15 {
		t.Errorf("%d distinct refusals", len(seen))
	}
}

func TestAPipeDoesNotHangTheStart(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = Read(fifo, Options{}) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("reading a pipe blocks")
	}
}

func TestACredentialMayBelongToRootAndBeReadableByTheGroup(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Skip("needs root to stand for systemd: run as root")
	}
	const service = 4711 // the uid that the check is told it runs under
	d := t.TempDir()
	if err := os.Chmod(d, 0o550); err != nil {
		t.Fatal(err)
	}
	o := Options{CredentialsDir: d + "/"}
	for _, mode := range []os.FileMode{0o400, 0o440, 0o600} {
		s, err := read(put(t, d, fmt.Sprintf("k%o", mode), key, mode), o, service)
		if err != nil || string(s.Bytes()) != key {
			t.Errorf("%o: %v", mode, err)
		}
	}
	for _, mode := range []os.FileMode{0o444, 0o460, 0o450, 0o441} {
		refusal(t, put(t, d, fmt.Sprintf("k%o", mode), key, mode), o, service)
	}
	// Below the directory, beside it, or without it the common rule stands.
	sub := filepath.Join(d, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	refusal(t, put(t, sub, "k", key, 0o440), o, service)
	refusal(t, put(t, t.TempDir(), "k", key, 0o440), o, service)
	refusal(t, filepath.Join(d, "k440"), Options{}, service)
	// A file of a third user stays refused inside it.
	other := put(t, d, "other", key, 0o400)
	if err := os.Chown(other, 1234, 0); err != nil {
		t.Fatal(err)
	}
	refusal(t, other, o, service)
	// Links stay refused inside it, and the directory must not be one.
	if err := os.Symlink("k400", filepath.Join(d, "link")); err != nil {
		t.Fatal(err)
	}
	refusal(t, filepath.Join(d, "link"), o, service)
	dirLink := filepath.Join(t.TempDir(), "creds")
	if err := os.Symlink(d, dirLink); err != nil {
		t.Fatal(err)
	}
	refusal(t, filepath.Join(dirLink, "k400"), Options{CredentialsDir: dirLink}, service)
	// A directory that others may write in is no credentials directory.
	if err := os.Chmod(d, 0o770); err != nil {
		t.Fatal(err)
	}
	refusal(t, filepath.Join(d, "k400"), o, service)
}

func TestAWholeFileIsTakenAsItIs(t *testing.T) {
	d := t.TempDir()
	raw := "\x00\xff\n key\n"
	if s, err := Read(put(t, d, "raw", raw, 0o600), Options{Whole: true}); err != nil || string(s.Bytes()) != raw {
		t.Fatal(err)
	}
	refusal(t, put(t, d, "none", "", 0o600), Options{Whole: true}, unix.Geteuid())
	refusal(t, put(t, d, "long", strings.Repeat("k", maxKey+1), 0o600), Options{Whole: true}, unix.Geteuid())
}

func TestASecretIsNeverPrinted(t *testing.T) {
	s := New([]byte(key))
	type holder struct {
		Key  Secret
		key  Secret
		Ptr  *Secret
		Many []Secret
	}
	h := holder{s, s, &s, []Secret{s}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "key", s, "h", h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "key", s, "h", h)
	j, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	text := log.String() + string(j)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%b"} {
		text += fmt.Sprintf(verb, s) + fmt.Sprintf(verb, h) + fmt.Sprintf(verb, []any{s, &s})
	}
	hexKey := fmt.Sprintf("%x", key)
	if strings.Contains(text, key) || strings.Contains(strings.ToLower(text), hexKey) || strings.Contains(text, "48 49 50") {
		t.Fatal(text)
	}
}

func TestZeroEmptiesEveryCopy(t *testing.T) {
	s := New([]byte(key))
	c, b := s, s.Bytes()
	if !s.Equal(New([]byte(key))) || s.Equal(New([]byte("other"))) {
		t.Fatal("Equal")
	}
	s.Zero()
	if c.Bytes() != nil || strings.Trim(string(b), "\x00") != "" {
		t.Fatalf("%q", b)
	}
	var none Secret
	none.Zero()
	if none.Bytes() != nil || none.Equal(none) || none.Equal(s) {
		t.Fatal("an absent secret equals something")
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(key + "\n"))
	f.Add([]byte(" a b \r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxKey+1 {
			b = b[:maxKey+1]
		}
		got, err := (&file{path: "/k"}).line(b)
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > maxKey {
			t.Fatalf("%d bytes", len(got))
		}
		for _, c := range got {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%q", got)
			}
		}
	})
}
