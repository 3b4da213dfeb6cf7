package wiped

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// source is a connection that gives what r gives.
type source struct {
	net.Conn
	r io.Reader
}

func (s source) Read(p []byte) (int, error)  { return s.r.Read(p) }
func (s source) Write(p []byte) (int, error) { return len(p), nil }

func record(content string) string {
	return "\x17\x03\x03" + string([]byte{byte(len(content) >> 8), byte(len(content))}) + content
}

func TestRecordsAreReadOneAtATimeIntoEmptiedRoom(t *testing.T) {
	all := record("first") + record("") + record(strings.Repeat("x", 300)) + record("last")
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "one byte": iotest.OneByteReader,
	} {
		c := Records(source{r: wrap(strings.NewReader(all))})
		var got []byte
		for {
			p := bytes.Repeat([]byte{0xaa}, 1000)
			n, err := c.Read(p)
			if bytes.Trim(p[n:], "\x00") != nil && len(bytes.Trim(p[n:], "\x00")) > 0 {
				t.Fatalf("%s: the room behind what was read is not empty", name)
			}
			// Where the records end, counted on its own.
			for end, rest := 0, all; rest != ""; {
				size := recordHeader + int(rest[3])<<8 + int(rest[4])
				if end += size; len(got) < end {
					if len(got)+n > end {
						t.Fatalf("%s: a read goes on into the next record", name)
					}
					break
				}
				rest = rest[size:]
			}
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
		}
		if string(got) != all {
			t.Fatalf("%s: %d bytes of %d", name, len(got), len(all))
		}
	}
}

const head = "HTTP/1.1 200 It is secret\r\nServer: secret\r\nContent-Type: application/json\r\ncontent-length: %d\r\n" +
	"Set-Cookie: a=secret\r\n\tand secret too\r\nX-Content-Type: secret\r\nConnection: keep-alive\r\nX: secret\r\n\r\n"

// answer makes an answer with a body that looks like another head.
func answer(body string) string { return fmt.Sprintf(head, len(body)) + body }

func TestHeadsKeepWhatIsReadAndLoseTheRest(t *testing.T) {
	first, second := "{\"data\":\"a\"}\nServer: kept\r\n\r\nX: kept", strings.Repeat("b", 3*ReadBuffer)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "one byte": iotest.OneByteReader,
	} {
		c := Answers(source{r: wrap(io.MultiReader(strings.NewReader(answer(first)), strings.NewReader(answer(second))))})
		br := bufio.NewReaderSize(c, ReadBuffer)
		for _, want := range []string{first, second} {
			if _, err := c.Write([]byte("GET /x HTTP/1.1\r\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("Host: y\r\n\r\n")); err != nil { // a request in two parts
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != want {
				t.Fatalf("%s: %v, %d bytes of %d", name, err, len(got), len(want))
			}
			if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || resp.ContentLength != int64(len(want)) {
				t.Fatalf("%s: %+v", name, resp)
			}
			if s := fmt.Sprint(resp.Status, resp.Header); strings.Contains(s, "secret") {
				t.Fatalf("%s: %s", name, s)
			}
			for _, h := range []string{"Server", "Set-Cookie", "X-Content-Type", "X"} {
				if v, ok := resp.Header[h]; !ok || strings.TrimSpace(v[0]) != "" {
					t.Fatalf("%s: %s is %q", name, h, v)
				}
			}
		}
	}
}

func TestTheReadersRoomIsEmptiedUpToItsBuffer(t *testing.T) {
	for _, size := range []int{1, 10, ReadBuffer, ReadBuffer + 1} {
		c := Answers(source{r: strings.NewReader("x")})
		p := bytes.Repeat([]byte{0xaa}, size)
		n, err := c.Read(p)
		if n != 1 || err != nil {
			t.Fatal(n, err)
		}
		kept := bytes.Count(p, []byte{0xaa})
		if want := map[bool]int{true: size - 1}[size > ReadBuffer]; kept != want {
			t.Errorf("of a buffer of %d bytes %d are as they were, want %d", size, kept, want)
		}
	}
}

func TestWhatComesUnaskedIsLeftAlone(t *testing.T) {
	text := "HTTP/1.1 408 Request Timeout\r\nServer: x\r\n\r\n"
	got, err := io.ReadAll(Answers(source{r: strings.NewReader(text)}))
	if err != nil || string(got) != text {
		t.Errorf("%q %v", got, err)
	}
}

// FuzzHead: whatever is sent, in whatever parts, no byte is added, lost or moved,
// nothing behind the head is changed, and the parts make no difference.
func FuzzHead(f *testing.F) {
	f.Add([]byte(answer("{}")), uint8(7))
	f.Add([]byte("HTTP/1.1 200\nA: b\n\nC: d\n\n"), uint8(1))
	f.Add([]byte("\r\r\n\n: x\r\n\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, sent []byte, part uint8) {
		read := func(size int) []byte {
			c := Answers(source{r: bytes.NewReader(sent)})
			if _, err := c.Write([]byte("GET ")); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for p := make([]byte, size); ; {
				n, err := c.Read(p)
				got = append(got, p[:n]...)
				if err != nil {
					return got
				}
			}
		}
		got := read(ReadBuffer)
		if !bytes.Equal(got, read(1+int(part))) {
			t.Fatal("the parts make a difference")
		}
		if len(got) != len(sent) {
			t.Fatalf("%d bytes of %d", len(got), len(sent))
		}
		ended := false
		lineAt := 0
		for i := range sent {
			if got[i] != sent[i] && (ended || got[i] != ' ' || sent[i] == '\n' || sent[i] == ':' && i == lineAt) {
				t.Fatalf("byte %d: %q became %q", i, sent[i], got[i])
			}
			if sent[i] == '\n' {
				ended = ended || lineAt > 0 && strings.Trim(string(sent[lineAt:i]), "\r") == ""
				lineAt = i + 1
			}
		}
	})
}
