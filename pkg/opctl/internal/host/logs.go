package host

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/logview"
	"pfsensemcp/pkg/opctl/internal/program"
	"pfsensemcp/pkg/opctl/internal/suite"
)

// logQuery is what to show.
type logQuery struct {
	follow, json    bool
	lines           int
	since           time.Duration
	request, daemon string
	dir             string
}

// logs is `mcpctl logs`.
func logs(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	q := logQuery{}
	dir := suite.DirFlag(e, fs)
	fs.BoolVar(&q.follow, "f", false, "go on and show lines as they come")
	fs.IntVar(&q.lines, "n", 200, "at most `N` lines, 1 to 10000")
	fs.DurationVar(&q.since, "since", 0, "not older than `AGE`, such as 30m")
	fs.StringVar(&q.request, "request", "", "of the request with this `ID` alone")
	fs.StringVar(&q.daemon, "daemon", "", "of this `NAME` alone")
	fs.BoolVar(&q.json, "json", false, "print JSON, one object a line")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	switch {
	case q.lines < 1 || q.lines > logview.MaxEntries:
		return cli.Misuse(fs, "-n takes 1 to 10000")
	case q.since < 0:
		return cli.Misuse(fs, "--since takes an age, such as 30m")
	case q.daemon != "" && !slices.Contains(logview.Daemons(), q.daemon):
		return cli.Misuse(fs, "the daemons are "+strings.Join(logview.Daemons(), ", "))
	}
	q.dir = *dir
	return q.show(ctx, e)
}

// oldest is the time from which on lines are shown.
func (q *logQuery) oldest(e cli.Env) time.Time {
	if q.since == 0 {
		return time.Time{}
	}
	return e.Time().Add(-q.since)
}

func (q *logQuery) show(ctx context.Context, e cli.Env) error {
	from := q.oldest(e)
	match := func(l logview.Entry) bool {
		return (q.request == "" || l.RequestID == q.request) && (q.daemon == "" || l.Daemon == q.daemon) && !l.Time.Before(from)
	}
	var list []logview.Entry
	var err error
	if q.dir == hostDir {
		list, err = q.journal(ctx, from, match)
	} else {
		list, err = logview.Files(q.dir, q.lines, match)
	}
	if err != nil {
		return err
	}
	for i, l := range list {
		if err := q.print(e, l, i > 0 && l.RequestID != "" && l.RequestID == list[i-1].RequestID); err != nil {
			return err
		}
	}
	if len(list) == 0 && !q.json {
		where := ""
		if q.dir == hostDir {
			where = "; of a suite that mcpctl run started: --dir DIR"
		}
		fmt.Fprintln(e.Err, "mcpctl: there is no such line"+where)
	}
	if !q.follow {
		return nil
	}
	each := func(l logview.Entry) error {
		if !match(l) {
			return nil
		}
		return q.print(e, l, false)
	}
	if q.dir == hostDir {
		return stream(ctx, journalArgs(0, time.Time{}, true), each)
	}
	return logview.Follow(ctx, q.dir, each)
}

// entryJSON is a line as --json prints it.
type entryJSON struct {
	Time      string            `json:"time"`
	Daemon    string            `json:"daemon"`
	Level     string            `json:"level"`
	Msg       string            `json:"msg"`
	RequestID string            `json:"request_id,omitempty"`
	Attrs     map[string]string `json:"attrs,omitempty"`
}

func (q *logQuery) print(e cli.Env, l logview.Entry, within bool) error {
	if !q.json {
		return logview.Print(e.Out, l, within)
	}
	out := entryJSON{Time: l.Time.UTC().Format(time.RFC3339Nano), Daemon: l.Daemon, Level: l.Level, Msg: l.Msg, RequestID: l.RequestID}
	for _, a := range l.Attrs {
		if out.Attrs == nil {
			out.Attrs = map[string]string{}
		}
		out.Attrs[a.Key] = a.Value
	}
	return cli.WriteJSON(e.Out, out)
}

// journalArgs are the arguments of journalctl: JSON, and the units' lines alone.
func journalArgs(lines int, from time.Time, follow bool) []string {
	args := []string{"--output=json", "--no-pager", "--quiet"}
	for _, d := range logview.Daemons() {
		args = append(args, "--unit=pfsense-"+d+".service")
	}
	if lines > 0 {
		args = append(args, "--lines="+strconv.Itoa(lines))
	}
	if !from.IsZero() {
		args = append(args, "--since=@"+strconv.FormatInt(from.Unix(), 10))
	}
	if follow {
		args = append(args, "--lines=0", "--follow")
	}
	return args
}

// journal reads the newest lines. With a filter more are read than shown.
func (q *logQuery) journal(ctx context.Context, from time.Time, match func(logview.Entry) bool) ([]logview.Entry, error) {
	lines := q.lines
	if q.request != "" || q.daemon != "" {
		lines = logview.MaxEntries
	}
	var list []logview.Entry
	err := stream(ctx, journalArgs(lines, from, false), func(l logview.Entry) error {
		if match(l) {
			list = append(list, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return logview.Newest(list, q.lines), nil
}

// stream runs journalctl and hands out its entries, until it or ctx ends.
func stream(ctx context.Context, args []string, each func(logview.Entry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := program.Command(ctx, "journalctl", args...)
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errs.Wrap(err, errs.Internal, "journalctl cannot be read")
	}
	if err := cmd.Start(); err != nil {
		return errs.Wrap(err, errs.Unavailable, "journalctl cannot be started")
	}
	failed := scan(out, each)
	if failed != nil {
		cancel() // what it still writes is not wanted
	}
	ended := cmd.Wait()
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return ctx.Err()
	case ended != nil:
		return errs.Wrap(ended, errs.Unavailable, "the journal cannot be read").WithNext("run it as root, or be in the group systemd-journal")
	}
	return nil
}

// scan reads lines of journalctl. One that is too long is skipped, not kept.
func scan(r io.Reader, each func(logview.Entry) error) error {
	in := bufio.NewReaderSize(r, 2*logview.MaxLine)
	long := false
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("reading journalctl: %w", err)
		}
		if l, ok := logview.ParseJournal(line); ok && !long {
			if err := each(l); err != nil {
				return err
			}
		}
		if long = false; err != nil {
			return nil
		}
	}
}
