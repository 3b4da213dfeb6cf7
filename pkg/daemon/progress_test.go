package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/sd"
	"pfsensemcp/test/daemontest"
)

func TestProgressIsPassedOnOnceASecondAndLoggedEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	n := daemontest.NewNotify(t, daemontest.Dir(t))
	t.Setenv("NOTIFY_SOCKET", n.Path)
	notify, err := sd.Open()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{log: &logging.Log{Logger: slog.New(slog.NewTextHandler(&out, nil))}, notify: notify}
	ctx, cancel := context.WithCancel(t.Context())
	now := time.Unix(1, 0)
	tell := r.progress(ctx, func() time.Time { return now })
	for i := range 250 { // 25 s
		if err := tell("a step"); err != nil {
			t.Fatal(err)
		}
		// Each is taken before the next is sent: the socket holds few.
		for n.Count("EXTEND_TIMEOUT_USEC=") < i/10+1 {
			time.Sleep(time.Millisecond)
		}
		now = now.Add(100 * time.Millisecond)
	}
	// The socket keeps the order, so the last to come says that all have.
	if err := notify.Stopping(); err != nil {
		t.Fatal(err)
	}
	for n.Count("STOPPING=1") == 0 {
		time.Sleep(time.Millisecond)
	}
	if told, lines := n.Count("EXTEND_TIMEOUT_USEC="), strings.Count(out.String(), "a step"); told != 25 || lines != 2 {
		t.Errorf("systemd was told %d times, the log %d", told, lines)
	}
	cancel()
	if err := tell("a step"); !errors.Is(err, errStop) {
		t.Errorf("asked to stop: %v", err)
	}
}
