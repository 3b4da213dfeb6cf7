//go:build pfsense_demo

package main

import (
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/executor"
)

// testBuild: a test build says so in version, status and previews, and is never
// packaged.
const testBuild = true

// short lets a test build wait less than the design says, send what it saw longer ago,
// and end itself at a named point, in a laboratory with an appliance on loopback and
// nowhere else. None of it can be set by the environment.
type short struct {
	Test struct {
		SettleMS   int    `toml:"settle_ms" min:"0" max:"60000" help:"Test build: milliseconds between the two reads that prove something."`
		PatienceMS int    `toml:"patience_ms" min:"0" max:"60000" help:"Test build: milliseconds between two reads that prove the counter unmoved."`
		FreshMS    int    `toml:"fresh_ms" min:"0" max:"30000" help:"Test build: milliseconds at most between the last look and the send, for a busy machine; 0 is as designed."`
		LandingS   int    `toml:"landing_s" min:"0" max:"3600" help:"Test build: seconds in which a write without an answer may still land."`
		CooldownS  int    `toml:"cooldown_s" min:"0" max:"3600" help:"Test build: seconds between two changes of one alias."`
		CrashAt    string `toml:"crash_at" max:"64" help:"Test build: kill this process at a named point, such as 'tick before'."`
		CrashAfter int    `toml:"crash_after" min:"0" max:"100000" help:"Test build: at the point's occurrence after so many."`
	} `toml:"test"`
}

func (s *short) check(r *conf.Report, all *settings) {
	name, _, _ := host(all.Appliance.BaseURL)
	at, err := netip.ParseAddr(name)
	if !all.Lab || !strings.HasPrefix(all.StoreID, "lab-") || err != nil || !at.IsLoopback() {
		r.Fault("lab", "this is a test build: it serves a laboratory with an appliance on a loopback address and nothing else")
	}
}

func (s *short) apply(c *executor.Config) {
	t := s.Test
	c.Windows.Settle = time.Duration(t.SettleMS) * time.Millisecond
	c.Windows.Patience = time.Duration(max(t.PatienceMS, 1)) * time.Millisecond
	if t.FreshMS > 0 {
		c.Windows.Fresh = time.Duration(t.FreshMS) * time.Millisecond
	}
	c.Limits.LandingWindow = time.Duration(t.LandingS) * time.Second
	c.Limits.Cooldown = time.Duration(t.CooldownS) * time.Second
	if t.CrashAt == "" {
		return
	}
	var seen atomic.Int64
	c.CrashAt = func(point string) {
		if point != t.CrashAt || seen.Add(1) <= int64(t.CrashAfter) {
			return
		}
		// As the kernel would: nothing is written, closed or flushed.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill() // it ends this process or nothing does
		}
		select {}
	}
}
