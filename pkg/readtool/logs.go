package readtool

import (
	"context"
	"encoding/json/jsontext"
	"strconv"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool/internal/filterlog"
	"pfsensemcp/pkg/readtool/internal/row"
)

// maxLogLines bounds one log request, which is one page of the client: 30,000
// lines kill PHP on appliances with little memory, and a line has some 200 bytes.
const maxLogLines = 5000

// maxLogTries bounds the smaller requests made when a line that the appliance
// cannot encode makes it answer nothing (field case 19).
const maxLogTries = 12

// coverage is what part of a log an answer speaks of.
type coverage struct {
	lines       int
	first, last string // times of the oldest and newest line, as the log writes them; "" when it has none
	bound       int    // lines asked for: as many as there are lines means that older ones exist
	oldest      bool   // the appliance ignored the limit: what the client kept are the oldest lines
	broken      bool   // an older line made the appliance answer nothing
}

// log reads the newest lines of a log, newest first. The appliance is asked with
// a limit alone: with a filter, or reversed, it takes the oldest lines.
func (c *call) log(ctx context.Context) error {
	bound := min(c.cfg.ScanRows, maxLogLines)
	if c.args.Filter == nil {
		bound = min(bound, c.args.Offset+c.args.Limit+1)
	}
	ans, cov, err := c.readLog(ctx, bound)
	if err != nil {
		return err
	}
	defer ans.Release()
	find := row.NewMembers()
	var lines [][]byte // oldest first
	if !find.Entries(ans.Data, func(line []byte) bool {
		lines = append(lines, line)
		return true
	}) {
		return shapeError("the appliance's log answer is not a list")
	}
	cov.lines = len(lines)
	c.walked.Complete = cov.lines < cov.bound && !cov.broken && !cov.oldest
	c.coverage = cov

	var member [1][]byte
	for i := len(lines) - 1; i >= 0; i-- {
		var l filterlog.Line
		if find.Find(lines[i], member[:], "text") && jsontext.Value(member[0]).Kind() == '"' {
			text, _ := jsontext.AppendUnquote(nil, member[0])
			l = filterlog.Split(string(text))
		}
		if i == 0 {
			cov.first = l.Time
		}
		if i == len(lines)-1 {
			cov.last = l.Time
		}
		if c.decode(lines[i]) {
			c.derive(l)
			c.consider()
		}
	}
	return nil
}

// readLog asks for the newest lines, and for half as many as long as the
// appliance cannot encode its answer.
func (c *call) readLog(ctx context.Context, bound int) (pfrest.Answer, *coverage, error) {
	cov := &coverage{bound: bound}
	for try := 1; ; try++ {
		ans, err := c.cfg.Client.Get(ctx, c.caller, pfrest.Endpoint(c.tool.Path), pfrest.Page{Limit: cov.bound})
		if err == nil {
			c.walked.Links, cov.oldest = ans.Links, ans.IgnoredLimit
			if c.progress != nil {
				c.progress(cov.bound)
			}
			return ans, cov, nil
		}
		if errs.Public(err).Class != pfrest.ClassEncoding || cov.bound == 1 || try == maxLogTries {
			return pfrest.Answer{}, nil, err
		}
		cov.bound, cov.broken = cov.bound/2, true
	}
}

// derive fills the fields that are read out of a line. A gated one stays hidden.
func (c *call) derive(l filterlog.Line) {
	var buf []byte
	text := func(name, s string) {
		if s != "" {
			buf = quote(buf[:0], s)
			c.dec.Set(name, buf)
		}
	}
	number := func(name, s string) {
		if s != "" {
			c.dec.Set(name, append(buf[:0], s...))
		}
	}
	text("time", l.Time)
	text("process", l.Process)
	number("pid", l.PID)
	p, ok := filterlog.Parse(l)
	if !ok {
		return
	}
	text("action", p.Action)
	text("direction", p.Direction)
	text("interface", p.Interface)
	text("reason", p.Reason)
	number("ip_version", p.Version)
	text("protocol", p.Protocol)
	text("source", p.Source)
	number("source_port", p.SourcePort)
	text("destination", p.Destination)
	number("destination_port", p.DestinationPort)
	text("rule", p.Rule)
	number("tracker", p.Tracker)
	number("length", p.Length)
}

// append writes the member coverage; a nil coverage has none.
func (v *coverage) append(dst []byte) []byte {
	if v == nil {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"coverage":{"lines":`...), int64(v.lines), 10)
	for _, m := range [...]struct{ label, time string }{{`,"first_time":`, v.first}, {`,"last_time":`, v.last}} {
		dst = append(dst, m.label...)
		if m.time == "" {
			dst = append(dst, "null"...)
		} else {
			dst = quote(dst, m.time)
		}
	}
	return append(dst, '}')
}

// notes says what of the log was not read.
func (v *coverage) notes(add func(string, ...any)) {
	switch {
	case v == nil:
	case v.oldest:
		add("the appliance ignored the limit: these are the oldest lines of the log, not the newest")
	case v.broken:
		add("an older line holds bytes that the appliance cannot encode: only the newest %s could be read", plural(v.lines, "line", "lines"))
	case v.lines == v.bound:
		add("read the newest %s; older ones were not looked at", plural(v.lines, "line", "lines"))
	}
}
