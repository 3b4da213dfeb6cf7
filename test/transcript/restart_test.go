package transcript

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
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
	type tally struct{ good, gap int }
	tallies := make([]tally, sessions)
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
					tallies[i].gap++
				case err != nil:
					t.Errorf("session %d: %v", i, err)
					return
				case !strings.Contains(res.Text(), "2.8.1"):
					t.Errorf("session %d: %s", i, res.Text())
					return
				default:
					tallies[i].good++
				}
			}
		})
	}
	for range rounds {
		time.Sleep(300 * time.Millisecond)
		s.Kill("mcpd")
		time.Sleep(300 * time.Millisecond)
		s.Start("mcpd")
	}
	time.Sleep(2500 * time.Millisecond) // longer than the longest back-off
	before := make([]int, sessions)
	for i := range tallies {
		before[i] = tallies[i].good
	}
	close(stop)
	wg.Wait()
	for i, n := range tallies {
		if n.good == 0 || n.gap == 0 || before[i] == 0 {
			t.Errorf("session %d: %d good answers, %d in the gaps", i, n.good, n.gap)
		}
	}
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
