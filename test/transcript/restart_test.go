package transcript

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

// typed says whether an answer is the shim's own about a daemon that is away,
// and whether the call can have been carried out.
func typed(err error) (outcome string, ok bool) {
	e, is := errors.AsType[*rawmcp.Error](err)
	if !is || e.Code != -32050 {
		return "", false
	}
	var data struct{ Class, Outcome string }
	if json.Unmarshal(e.Data, &data) != nil || data.Class != "restarting" {
		return "", false
	}
	return data.Outcome, true
}

func TestSessionsOutliveADaemonThatIsKilledAgainAndAgain(t *testing.T) {
	s := suite.New(t, suite.Options{})
	const sessions, rounds = 4, 3
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var good, gap [sessions]atomic.Int64
	for i := range sessions {
		c := s.Shim()
		if _, err := c.Initialize(rawmcp.HandshakeVersions[i]); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Every request gets exactly one answer, under its id: Call fails on
				// anything else.
				res, err := c.Tool("pfsense_get_system_version", nil)
				switch _, away := typed(err); {
				case away:
					gap[i].Add(1)
				case err != nil:
					t.Errorf("session %d: %v", i, err)
					return
				case !strings.Contains(res.Text(), "2.8.1"):
					t.Errorf("session %d: %s", i, res.Text())
					return
				default:
					good[i].Add(1)
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	defer end()
	// more waits until every session has two more answers of a kind: the second was asked
	// for after now.
	more := func(what string, of *[sessions]atomic.Int64) {
		t.Helper()
		last := time.Now().Add(rawmcp.Wait)
		for i := range of {
			for n := of[i].Load() + 2; of[i].Load() < n && !t.Failed(); time.Sleep(time.Millisecond) {
				if time.Now().After(last) {
					t.Fatalf("session %d: %s: %d good answers, %d in the gaps", i, what, good[i].Load(), gap[i].Load())
				}
			}
		}
	}
	for range rounds {
		more("mcpd is there", &good)
		s.Kill("mcpd")
		more("mcpd is away", &gap)
		s.Start("mcpd")
	}
	more("mcpd is there again", &good)
	end()
}

func TestTenShimsAtOnceAndOneThatIsKilled(t *testing.T) {
	s := suite.New(t, suite.Options{})
	var wg sync.WaitGroup
	for i := range 10 {
		c := s.Shim()
		wg.Go(func() {
			if _, err := c.Initialize("2025-06-18"); err != nil {
				t.Error(err)
				return
			}
			if i == 0 {
				_ = c.Process().Kill()
				return
			}
			for range 20 {
				if res, err := c.Tool("pfsense_get_system_version", nil); err != nil || res.IsError {
					t.Errorf("shim %d: %v %s", i, err, res.Text())
				}
			}
		})
	}
	wg.Wait()
}

func TestOnlyProtocolIsOnStandardOutputHoweverTheShimEnds(t *testing.T) {
	s := suite.New(t, suite.Options{})
	mcpd := filepath.Join(s.Bin, "mcpd")
	for _, tt := range []struct {
		name  string
		args  []string
		line  string
		lines int
		fails bool
	}{
		{"a socket that is not there", []string{"stdio", "--socket", "/nowhere/mcp.sock"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 1, true},
		{"a socket that is a file", []string{"stdio", "--socket", "/etc/passwd"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 1, true},
		{"a relative socket", []string{"stdio", "--socket", "x"}, ``, 0, true},
		{"an unknown flag", []string{"stdio", "--nothing"}, ``, 0, true},
		{"help", []string{"stdio", "--help"}, ``, 0, false},
		{"nothing to do", []string{"stdio", "--socket", s.Socket("mcp")}, ``, 0, false},
		{"another daemon's socket", []string{"stdio", "--socket", s.Socket("mcpd-admin")}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 1, true},
	} {
		c, err := rawmcp.Start(t.Context(), nil, mcpd, tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		if tt.line != "" {
			_ = c.Send(tt.line)
		}
		_ = c.CloseInput()
		n := 0
		for {
			r, err := c.Next()
			if err != nil {
				if strings.Contains(err.Error(), "not a message") {
					t.Errorf("%s: %v", tt.name, err)
				}
				break
			}
			n++
			if r.Error == nil || r.Error.Code != -32050 {
				t.Errorf("%s: %s", tt.name, r.Line)
			}
		}
		if err := c.Close(); (err != nil) != tt.fails || n != tt.lines {
			t.Errorf("%s: %d lines, %v", tt.name, n, err)
		}
	}
}
