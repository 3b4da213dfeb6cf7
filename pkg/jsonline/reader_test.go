package jsonline

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func lines(t *testing.T, r *Reader) (got []string) {
	t.Helper()
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			got = append(got, "! "+err.Error())
		default:
			got = append(got, string(line))
		}
	}
}

func TestLinesAreCutTheSameHoweverTheyArrive(t *testing.T) {
	in := "\xef\xbb\xbf{\"a\":1}\r\n\n  \t\r\n x \n\xef\xbb\xbfy\nlast"
	want := []string{`{"a":1}`, "x", "\xef\xbb\xbfy", "last"}
	for name, src := range map[string]io.Reader{
		"at once":       strings.NewReader(in),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(in)),
		"with the end":  iotest.DataErrReader(strings.NewReader(in)),
		"half and half": iotest.HalfReader(strings.NewReader(in)),
	} {
		if got := lines(t, NewReader(src)); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q", name, got)
		}
	}
	r := NewReader(strings.NewReader(in))
	r.Whole = true
	if got := lines(t, r); len(got) != 3 {
		t.Errorf("an unterminated line was taken for whole: %q", got)
	}
}

func TestALineOverTheBoundIsRefusedOnceAndTheNextOneIsRead(t *testing.T) {
	fits, over := strings.Repeat("a", MaxLine), strings.Repeat("b", MaxLine+1)
	in := fits + "\n" + over + "\n" + strings.Repeat("c", 3*MaxLine) + "\nok\n" + over
	got := lines(t, NewReader(strings.NewReader(in)))
	if len(got) != 5 || got[0] != fits || got[1] != "! "+ErrTooLong.Error() || got[2] != got[1] || got[3] != "ok" || got[4] != got[1] {
		for _, g := range got {
			t.Errorf("%d bytes: %.40q", len(g), g)
		}
	}
}

func TestABigLineNeedsConsentAndTheBufferIsGivenBack(t *testing.T) {
	big := strings.Repeat("a", BigLine+1)
	r := NewReader(strings.NewReader(big + "\nx\n" + big + "\ny\n"))
	asked := 0
	r.Big = func() bool { asked++; return asked == 1 }
	got := lines(t, r)
	if asked != 2 || len(got) != 4 || got[0] != big || got[2] != "! "+ErrNoRoom.Error() || got[3] != "y" {
		t.Fatalf("asked %d times, %d lines", asked, len(got))
	}
	if len(r.buf) > BigLine {
		t.Errorf("%d bytes are still held", len(r.buf))
	}
}

func TestAHalfSentLineIsAnnounced(t *testing.T) {
	pr, pw := io.Pipe()
	r := NewReader(pr)
	var events []string
	r.Begun = func() { events = append(events, "begun") }
	r.Ended = func() { events = append(events, "ended") }
	go func() {
		for _, s := range []string{"whole\n", "ha", "l", "f\n", "end"} {
			_, _ = io.WriteString(pw, s)
		}
		_ = pw.Close()
	}()
	if got := lines(t, r); strings.Join(got, " ") != "whole half end" {
		t.Fatalf("%q", got)
	}
	if strings.Join(events, " ") != "begun ended begun ended" {
		t.Errorf("%q", events)
	}
}

// However a stream is cut into reads, the lines are those of strings.Split.
func FuzzReader(f *testing.F) {
	f.Add("a\nb\r\n\n c", uint64(1))
	f.Add("\xef\xbb\xbf\xef\xbb\xbfx\n", uint64(2))
	f.Fuzz(func(t *testing.T, in string, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		got := lines(t, NewReader(&chunked{in: in, rnd: rnd}))
		var want []string
		first := true
		for _, l := range strings.Split(in, "\n") {
			if first {
				l = strings.TrimPrefix(l, "\xef\xbb\xbf")
			}
			first = false
			if l = strings.Trim(l, " \t\r"); l != "" {
				want = append(want, l)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

type chunked struct {
	in  string
	rnd *rand.Rand
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.in == "" {
		return 0, io.EOF
	}
	n := copy(p, c.in[:1+c.rnd.IntN(len(c.in))])
	c.in = c.in[n:]
	return n, nil
}

// pieces is a source that hands out one piece a read, as a socket does, and
// tells what the reader holds whenever it comes for more.
type pieces struct {
	r    *Reader
	all  []string
	held []int
}

func (p *pieces) Read(b []byte) (int, error) {
	p.held = append(p.held, len(p.r.buf))
	if len(p.all) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.all[0])
	if p.all[0] = p.all[0][n:]; p.all[0] == "" {
		p.all = p.all[1:]
	}
	return n, nil
}

// A peer that needs no consent any more must not keep the room: it could leave
// the rest of a line unsent, on as many connections as it may have.
func TestALargeBufferIsGivenBackBeforeTheReaderWaitsForWhatNeedsNone(t *testing.T) {
	grant := func() bool { return true }
	deny := func() bool { return false }
	for _, tt := range []struct {
		name   string
		big    func() bool
		pieces []string
	}{
		{"in a line that is too long", grant, []string{strings.Repeat("a", MaxLine+1), "a", "a"}},
		{"in a line that was refused", deny, []string{strings.Repeat("a", 2*BigLine), "a", "a"}},
		{"in a small line behind a big one", grant, []string{strings.Repeat("a", MaxLine/2+1) + "\n" + strings.Repeat("b", 2*smallBuf), "b", "b"}},
		{"in the largest small line behind a big one", grant, []string{strings.Repeat("a", MaxLine/2+1) + "\n" + strings.Repeat("b", BigLine-1), "b\n"}},
	} {
		p := &pieces{all: tt.pieces}
		p.r = NewReader(p)
		p.r.Big = tt.big
		lines(t, p.r)
		if last := p.held[len(p.held)-1]; last > BigLine {
			t.Errorf("%s: %d bytes are held", tt.name, last)
		}
	}
}
