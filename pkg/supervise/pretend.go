package supervise

import (
	"context"
	"path/filepath"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/supervise/internal/process"
)

// pretend is what the demonstration plays instead of the world: an appliance
// and the documentation site, each a program of its own on loopback.
type pretend struct {
	url, ca, key     string // of the appliance
	docsAddr, docsCA string // of the site: address and port, and its CA file
}

// settings adds what makes a daemon ask the pretended world.
func (p pretend) settings(daemon string, set func(key, value string)) {
	switch daemon {
	case "mcpd":
		set("api_url", p.url)
		set("identity", "demo reader")
		set("api_key_file", p.key)
		set("tls_mode", "auto")
		set("tls_ca_file", p.ca)
	case "docfetchd":
		// Keys that only the test build of docfetchd knows.
		set("docs_address", p.docsAddr)
		set("docs_ca_file", p.docsCA)
	}
}

// startPretend starts both programs and waits until they listen.
func (s *suite) startPretend(ctx context.Context) error {
	etc := filepath.Join(s.layout.root, "etc")
	s.pretend.key = filepath.Join(etc, "read-key")
	args := []string{"--cert-dir", etc, "--key-file", s.pretend.key}
	if s.Write {
		s.lab.writeKey = filepath.Join(etc, "write-key")
		args = append(args, "--write-key-file", s.lab.writeKey, "--control", s.controlSocket())
	}
	v, err := s.startPlayer(ctx, "fakepf", args...)
	if err != nil {
		return err
	}
	s.pretend.url, s.pretend.ca = v["url"], v["ca"]
	s.say("pretend appliance at " + v["url"])
	if v, err = s.startPlayer(ctx, "fakedocs", "--cert-dir", etc); err != nil {
		return err
	}
	s.pretend.docsAddr, s.pretend.docsCA = v["addr"], v["ca"]
	s.say("pretend documentation site at " + v["addr"])
	return nil
}

// startPlayer starts one program of the pretended world and returns the values
// of its ready line.
func (s *suite) startPlayer(ctx context.Context, name string, args ...string) (map[string]string, error) {
	path, err := process.Find(s.BinDir, name)
	if err != nil {
		return nil, err
	}
	rl := process.NewReadyLine()
	var stderr process.Tail
	p := &process.Process{Name: name, Path: path, Args: append([]string{"--listen", "127.0.0.1:0"}, args...), Env: []string{}}
	if err := p.Start(rl, &stderr); err != nil {
		return nil, err
	}
	s.running = append(s.running, p)
	t := time.NewTimer(readyWithin)
	defer t.Stop()
	select {
	case v := <-rl.Line:
		return v, nil
	case <-p.Ended():
		return nil, process.NotStarted(p, &stderr, s.say)
	case <-t.C:
		return nil, errs.New(errs.Expired, name+" did not come up").WithNext("try again on a less busy machine")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
