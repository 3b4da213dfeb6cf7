package rehearsal

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/supervise/internal/process"
	"pfsensemcp/pkg/supervise/internal/pty"
	"pfsensemcp/pkg/supervise/internal/talk"
)

// machine is the directory that stands for an owner's machine.
func (s Stage) machine(o authority.Owner) (string, error) {
	dir := filepath.Join(s.Dir, "state", string(o))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errs.Wrap(err, errs.Unavailable, "an owner's directory cannot be made")
	}
	return dir, nil
}

// Sign runs mcpsign on an owner's machine, at a terminal there, and returns what it
// showed.
func (s Stage) Sign(ctx context.Context, o authority.Owner, args ...string) (string, error) {
	dir, err := s.machine(o)
	if err != nil {
		return "", err
	}
	return s.atTerminal(ctx, "mcpsign", []string{"HOME=" + dir}, args...)
}

// operate runs mcpctl as the host's operator, at a terminal.
func (s Stage) operate(ctx context.Context, args ...string) (string, error) {
	return s.atTerminal(ctx, "mcpctl", []string{}, append(args, "--dir", s.Dir)...)
}

func (s Stage) atTerminal(ctx context.Context, program string, env []string, args ...string) (string, error) {
	path, err := process.Find(s.BinDir, program)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = env
	shown, err := pty.Run(ctx, cmd)
	if err != nil {
		return shown, errs.Wrap(err, errs.Internal, fmt.Sprintf("%s %s failed:\n%s", program, args[0], strings.TrimSpace(shown)))
	}
	return shown, nil
}

// carry is the medium between the machines: a directory for files.
func (s Stage) carry(name string) string {
	return filepath.Join(s.Dir, "state", "medium", name)
}

// spoil has the pretend appliance answer the next change with a gateway's time-out and
// carry it out a moment later, as PHP does for a client that is gone.
func (s Stage) spoil(ctx context.Context) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", s.Control)
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "the pretend appliance cannot be steered")
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(talk.Within)) // a Unix socket has deadlines
	body := `{"Kind":"late","Path":"/api/v2/firewall/alias","Method":"PATCH","Value":"timeout","Delay":"700ms"}`
	if _, err := fmt.Fprintf(c, "POST /faults HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the pretend appliance cannot be steered")
	}
	answer, err := io.ReadAll(io.LimitReader(c, 4096))
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 200") && !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		return errs.Wrap(err, errs.Internal, "the pretend appliance does not take the fault")
	}
	return nil
}
