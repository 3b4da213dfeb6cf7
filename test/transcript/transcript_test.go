// Package transcript plays whole MCP conversations, line by line, against the
// shipped programs: client, shim, mcpd, HTTPS, pretend appliance and back.
//
// A conversation is a file of test/testdata/mcp. A line begins with
//
//	#  a remark
//	>  a line of the client; \xNN are bytes, {4MiB+} a text over 4 MiB
//	<  the answer, byte for byte after normalisation
//	<~ the answer, as a regular expression
//	!  end of input; what is still owed must come
//
// At the end no line may be left over, and the shim must exit 0. -update writes what the programs answered.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/test/suite"
)

var update = flag.Bool("update", false, "write what the programs answered")

func TestMain(m *testing.M) {
	code := m.Run()
	suite.Cleanup()
	os.Exit(code)
}

func TestConversations(t *testing.T) {
	files, err := filepath.Glob("../testdata/mcp/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	s := suite.New(t, suite.Options{})
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { play(t, s, f) })
	}
}

// volatile are the parts of an answer that differ from run to run.
var volatile = []struct{ re, to string }{
	{`request [0-9a-f]{16}`, "request ID"},
	{`"request_id":"[0-9a-f]{16}"`, `"request_id":"ID"`},
	{`(\\?"(?:server_)?version\\?":\\?")(?:unversioned|\(devel\)|v0[^"\\]*)`, "${1}VERSION"},
	{`sha256:[0-9a-f]{64}`, "sha256:DIGEST"},
	{`(started_at\\?":\\?")[^"\\]*`, "${1}TIME"},
	{`(sandbox_(?:enforced|missing)\\?":)\[[^\]]*\]`, "${1}[]"},
}

func normal(line string) string {
	for _, v := range volatile {
		line = regexp.MustCompile(v.re).ReplaceAllString(line, v.to)
	}
	return line
}

func play(t *testing.T, s *suite.Suite, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, closed := s.Shim(), false
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	for i, line := range lines {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "", "#":
		case ">":
			if err := c.Send(bytesOf(t, rest)); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case "<":
			got, err := c.Line()
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if got = normal(got); got != rest {
				if *update {
					lines[i] = "< " + got
					continue
				}
				t.Errorf("line %d:\ngot  %s\nwant %s", i+1, got, rest)
			}
		case "<~":
			got, err := c.Line()
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if !regexp.MustCompile(rest).MatchString(got) {
				t.Errorf("line %d: %.300s does not match %s", i+1, got, rest)
			}
		case "!":
			if err := c.CloseInput(); err != nil {
				t.Fatal(err)
			}
			closed = true
		default:
			t.Fatalf("line %d begins with none of # > < <~ !", i+1)
		}
	}
	if !closed {
		if err := c.CloseInput(); err != nil {
			t.Fatal(err)
		}
	}
	if line, err := c.Line(); err == nil {
		t.Errorf("one line too many: %s", line)
	}
	if err := c.Close(); err != nil {
		t.Errorf("the shim: %v", err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// bytesOf expands the escapes of a client's line.
func bytesOf(t *testing.T, s string) string {
	t.Helper()
	s = strings.ReplaceAll(s, "{4MiB+}", strings.Repeat("x", 4<<20+1))
	return regexp.MustCompile(`\\x[0-9a-f]{2}`).ReplaceAllStringFunc(s, func(e string) string {
		n, err := strconv.ParseUint(e[2:], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		return string([]byte{byte(n)})
	})
}
