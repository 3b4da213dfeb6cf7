package custody

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/reason"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// maxRecord bounds an audit row, macSize is the length of its MAC, in bytes.
const (
	maxRecord = 16 << 10
	macSize   = 32
)

// order is how a row's members are shown; a member that is not here comes last.
var order = []string{
	"seq", "at", "event", "actor", "reason", "request_id", "contract_id", "operation_id", "from", "to", "state_version", "anchor_value",
	"capability", "endpoint_symbol", "http_method", "target_identity_digest", "intent_digest", "record_digest", "store_id", "key_id", "prev",
}

// shownRow is `mcpctl audit show --json`.
type shownRow struct {
	Record jsontext.Value `json:"record"` // as it is stored
	MAC    string         `json:"mac"`
	Means  string         `json:"reason_means"` // "" without a reason
	Next   string         `json:"next"`
}

// show is `mcpctl audit show`.
func show(ctx context.Context, c *suite.Call, args []string) error {
	text, err := c.One(args)
	if err != nil {
		return err
	}
	seq, err := strconv.ParseUint(text, 10, 63)
	if err != nil || seq == 0 {
		return c.Misuse("a row is named by its number, from 1")
	}
	var r *executorpb.AuditShowResponse
	err = c.Ask(ctx, suite.Quick, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.AuditShow(ctx, &executorpb.AuditShowRequest{Seq: seq})
		return err
	})
	if err != nil {
		return damaged(err)
	}
	row, err := record(r, int64(seq))
	if err != nil {
		return err
	}
	out := shownRow{Record: r.GetRecord(), MAC: hex.EncodeToString(r.GetMac())}
	word, _ := row["reason"].(string)
	if m, ok := reason.Of(word); ok {
		out.Means, out.Next = m.Means, advice(m.Do, row)
	} else if word != "" {
		out.Next = "see which version of executord runs: mcpctl status"
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, out)
	}
	fmt.Fprintf(c.Out, "audit row %d\n", seq)
	for _, name := range members(row) {
		switch v := row[name].(type) {
		case string:
			line := cli.Clean(v)
			if name == "reason" {
				line = reason.Line(v)
			}
			cli.Row(c.Out, short(name), line)
		case int64:
			cli.Row(c.Out, short(name), strconv.FormatInt(v, 10))
		}
	}
	cli.Row(c.Out, "mac", out.MAC)
	cli.Next(c.Out, out.Next)
	return nil
}

// record reads a row. Only the canonical form of a row with this number is one.
func record(r *executorpb.AuditShowResponse, seq int64) (canon.Object, error) {
	bad := func(err error) error {
		return errs.Wrap(err, errs.Internal, "executord's answer is no audit row of this number").WithClass(cli.ClassIntegrity).
			WithNext("mcpctl audit verify")
	}
	if len(r.GetRecord()) > maxRecord || len(r.GetMac()) != macSize {
		return nil, bad(nil)
	}
	v, err := canon.DecodeExact(r.GetRecord())
	if err != nil {
		return nil, bad(err)
	}
	row, ok := v.(canon.Object)
	if !ok || row["seq"] != seq {
		return nil, bad(nil)
	}
	return row, nil
}

// members returns the names of a row's members in the order in which they are shown.
func members(row canon.Object) []string {
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	names := slices.Sorted(maps.Keys(row))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// short is a member's name as a label.
func short(name string) string {
	name, _ = strings.CutSuffix(cli.Clean(name), "_digest")
	return strings.ReplaceAll(name, "_", " ") + " "
}

// advice puts the row's ids into a next step, when they have the form of ids.
func advice(do string, row canon.Object) string {
	for name, member := range map[string]struct{ key, prefix string }{
		"REQUEST": {"request_id", change.PrefixRequest}, "CONTRACT": {"contract_id", change.PrefixContract},
	} {
		id, _ := row[member.key].(string)
		if strings.HasPrefix(id, member.prefix) && change.Token(id) {
			do = strings.ReplaceAll(do, name, id)
		}
	}
	return do
}

// verified is `mcpctl audit verify --json`.
type verified struct {
	Sound       bool    `json:"sound"`
	Rows        uint64  `json:"rows"`
	Head        string  `json:"head"`
	Generation  uint64  `json:"generation"`
	AnchorValue *uint64 `json:"anchor_value"` // null when the store has no counter yet
	FirstBadSeq uint64  `json:"first_bad_seq"`
	Problem     string  `json:"problem"`
	Next        string  `json:"next"`
}

// verify is `mcpctl audit verify`.
func verify(ctx context.Context, c *suite.Call, args []string) error {
	pinned := c.FS.String("pinned-head", "", "a head that was kept elsewhere, 64 hex digits (`HEX`)")
	if err := c.None(args); err != nil {
		return err
	}
	if *pinned != "" && !change.Hex64(*pinned) {
		return c.Misuse("--pinned-head takes 64 small hex digits, as export and verify print them")
	}
	var r *executorpb.AuditVerifyResponse
	err := c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.AuditVerify(ctx, &executorpb.AuditVerifyRequest{PinnedHead: *pinned})
		return err
	})
	if e := errs.Public(err); err != nil && e.Code == errs.Unavailable && e.Class == "service" {
		return errs.Wrap(err, errs.Unavailable, e.Msg).WithClass(e.Class).WithNext("with executord down, verify the file itself, as its user: executord verify; otherwise " + e.Next)
	}
	if err != nil {
		return err
	}
	out := verified{
		Sound: r.GetSound(), Rows: r.GetRows(), Head: r.GetHead(), Generation: r.GetGeneration(), AnchorValue: r.AnchorValue,
		FirstBadSeq: r.GetFirstBadSeq(), Problem: r.GetProblem(),
	}
	switch {
	case !out.Sound:
		out.Next = "do not write, restore or repair anything; keep a copy of the store file and find out who changed it"
	case *pinned == "":
		out.Next = "keep the head off this host; later: mcpctl audit verify --pinned-head " + cli.Clean(out.Head)
	default:
		out.Next = "nothing: the head that was kept is part of this audit"
	}
	if *c.JSON {
		err = cli.WriteJSON(c.Out, out)
	} else {
		out.print(c)
	}
	if err == nil && !out.Sound {
		err = cli.Exit(cli.ExitUsage)
	}
	return err
}

func (v *verified) print(c *suite.Call) {
	if v.Sound {
		fmt.Fprintln(c.Out, "sound")
	} else {
		fmt.Fprintln(c.Out, "NOT SOUND: "+cli.Clean(v.Problem))
		if v.FirstBadSeq != 0 {
			cli.Row(c.Out, "first bad", fmt.Sprint("row ", v.FirstBadSeq))
		}
	}
	cli.Row(c.Out, "rows", fmt.Sprint(v.Rows))
	cli.Row(c.Out, "head", cli.Clean(v.Head))
	cli.Row(c.Out, "generation", fmt.Sprint(v.Generation))
	value := "none"
	if v.AnchorValue != nil {
		value = fmt.Sprint(*v.AnchorValue)
	}
	cli.Row(c.Out, "counter", value)
	cli.Next(c.Out, v.Next)
}

// kept is what the commands that write a streamed file print as JSON.
type kept struct {
	File   string `json:"file"`
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
	Head   string `json:"head,omitempty"` // of an export
	Seq    int64  `json:"seq,omitempty"`
	Next   string `json:"next"`
}

// export is `mcpctl audit export`.
func export(ctx context.Context, c *suite.Call, args []string) error {
	since := c.FS.Uint64("since", 0, "the first row wanted (`SEQ`); 0: all")
	path := c.OutFlag()
	out, err := output(c, args, path)
	if err != nil {
		return err
	}
	defer out.Drop()
	var got suite.Received
	err = c.Ask(ctx, suite.Stream, func(ctx context.Context, x executorpb.AdminClient) error {
		s, err := x.AuditExport(ctx, &executorpb.AuditExportRequest{Since: *since})
		if err != nil {
			return err
		}
		got, err = suite.Receive(s.Recv, out)
		return err
	})
	if err != nil {
		return damaged(err)
	}
	head, err := lastLine(got.Tail)
	if err != nil {
		return errs.Wrap(err, errs.Internal, "the export does not end in an attested head, so no file was made").WithClass(cli.ClassIntegrity).
			WithNext("mcpctl audit verify, and mcpctl status: mcpctl and executord may be of different versions")
	}
	if err := out.Keep(); err != nil {
		return err
	}
	k := kept{File: *path, Bytes: got.Bytes, SHA256: got.SHA256, Head: head.Head, Seq: head.Seq, Next: "keep the head off this host; later: mcpctl audit verify --pinned-head " + head.Head}
	return k.show(c, fmt.Sprintf("rows up to %d of %s, with the attested head", head.Seq, cli.Clean(head.StoreID)))
}

// damaged adds to an error that the store or its audit is no longer whole what to do
// then: its words come from the row that was read last, which names no step.
func damaged(err error) error {
	e := errs.Public(err)
	if e.Class != "store_integrity" || e.Next != "" {
		return err
	}
	return errs.Wrap(err, e.Code, e.Msg).WithClass(e.Class).
		WithNext("mcpctl audit verify names the first bad row; write, restore and repair nothing, keep a copy of the store's file, find out who changed it; then the handbook's Recovery")
}

// lastLine reads the attested head, the last line of an export.
func lastLine(tail []byte) (*artifact.ExportHead, error) {
	tail = bytes.TrimSuffix(tail, []byte("\n"))
	return artifact.ParseExportHead(tail[bytes.LastIndexByte(tail, '\n')+1:])
}

// show prints what was kept.
func (k *kept) show(c *suite.Call, what string) error {
	if *c.JSON {
		return cli.WriteJSON(c.Out, k)
	}
	fmt.Fprintln(c.Out, what)
	cli.Row(c.Out, "file", fmt.Sprintf("%s, %d bytes", cli.Clean(k.File), k.Bytes), "SHA-256 "+k.SHA256)
	if k.Head != "" {
		cli.Row(c.Out, "head", k.Head)
	}
	cli.Next(c.Out, k.Next)
	return nil
}
