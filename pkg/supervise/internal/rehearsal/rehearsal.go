// Package rehearsal owns the script of the demonstration of writing: it plays the write ceremony from end to end for the demonstration: every
// act by the program, and at a terminal in the place, that it has in reality.
//
// Only supervise imports it. One program plays all people here, which is why it needs a
// laboratory; it must never be pointed at another store.
//
// The attack it stops: a rehearsal that somebody points at a real appliance, as a way to
// both approvals by one hand.
package rehearsal

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pause"
	"pfsensemcp/pkg/supervise/internal/process"
	"pfsensemcp/pkg/supervise/internal/talk"
)

// What the rehearsal changes, and how its client begins.
const (
	hello    = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}`
	theAlias = "Print_Servers"
	theTool  = "set_firewall_alias_description_v1"
)

// rehearsal is the write ceremony from end to end: every act by the program, and in
// the place, that it has in reality.
type rehearsal struct {
	Stage
	mcp      *talk.Client
	calls    int
	n        int
	request  string // ids, as the operator's list showed them
	contract string
}

// who acts, and where.
const (
	client   = "AI client"
	operator = "operator, on the host"
	ownerA   = "authorization owner, off the host"
	ownerC   = "confirmation owner, off the host"
	ownerR   = "reconciliation owner, off the host"
)

// Stage is where the rehearsal is played.
type Stage struct {
	BinDir  string // where the programs are
	Dir     string // of the suite
	Socket  string // mcp.sock
	Control string // the socket that steers the pretend appliance
	Handle  string // of the counter
	Landing int    // seconds in which a write without an answer may still land
	Out     io.Writer
	Err     io.Writer
}

// Run plays a change, its undo, and a change whose answer is lost.
func (s Stage) Run(ctx context.Context) error {
	path, err := process.Find(s.BinDir, "mcpd")
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.carry(""), 0o700); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the directory for carried files cannot be made")
	}
	r := &rehearsal{Stage: s}
	for _, part := range []func(context.Context) error{r.provision, func(ctx context.Context) (err error) {
		// The client connects when the write path is there: only then the tool is.
		if r.mcp, err = talk.Dial(ctx, path, s.Socket, s.Err); err != nil {
			return err
		}
		return r.greet()
	}, r.change, r.undo, r.lose} {
		if err := part(ctx); err != nil {
			return errs.Wrap(err, errs.Internal, fmt.Sprintf("act %d of the rehearsal failed: %v", r.n, err)).
				WithNext("the daemons' logs are in " + s.Dir + "/log (run with --dir to keep them)")
		}
	}
	r.mcp.Close()
	fmt.Fprintf(s.Out, "\nall %d acts of the write rehearsal held\n", r.n)
	return nil
}

// act prints who does what, does it, and prints what was seen.
func (r *rehearsal) act(who, what string, do func() (string, error)) error {
	r.n++
	fmt.Fprintf(r.Out, "\n%d. [%s] %s\n", r.n, who, what)
	shown, err := do()
	for line := range strings.Lines(brief(shown)) {
		fmt.Fprintf(r.Out, "   | %s\n", strings.TrimRight(line, "\r\n"))
	}
	return err
}

// brief keeps the beginning of what a program showed.
func brief(shown string) string {
	const most = 26
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	return strings.Join(lines, "\n")
}

// host is an act of the operator: one command of mcpctl.
func (r *rehearsal) host(ctx context.Context, what string, args ...string) (shown string, err error) {
	err = r.act(operator, what+"\n   $ mcpctl "+strings.Join(args, " "), func() (string, error) {
		shown, err = r.operate(ctx, args...)
		return shown, err
	})
	return shown, err
}

// off is an act of an owner: one command of mcpsign on his machine.
func (r *rehearsal) off(ctx context.Context, o authority.Owner, who, what string, args ...string) error {
	return r.act(who, what+"\n   $ mcpsign "+strings.Join(args, " "), func() (string, error) { return r.Sign(ctx, o, args...) })
}

// ask calls the tool and checks the one word of its answer.
func (r *rehearsal) ask(what, text, want string) error {
	return r.act(client, what, func() (string, error) {
		args, err := json.Marshal(map[string]any{"name": theTool, "arguments": map[string]string{"alias_name": theAlias, "description": text}}, json.Deterministic(true))
		if err != nil {
			return "", err
		}
		r.calls++
		a, _, err := r.mcp.Call(r.calls, "tools/call", string(args))
		if err != nil {
			return "", err
		}
		t, err := a.Tool()
		if err != nil {
			return "", err
		}
		state := string(t.Structured["state"])
		if state != `"`+want+`"` || len(t.Structured) != 1 {
			return state, fmt.Errorf("the tool said %s and not %s", state, want)
		}
		return `{"state":` + state + `}`, nil
	})
}

func (r *rehearsal) greet() error {
	return r.act(client, "connects and lists the tools: "+theTool+" is there", func() (string, error) {
		r.calls++
		if _, _, err := r.mcp.Call(r.calls, "initialize", hello); err != nil {
			return "", err
		}
		if err := r.mcp.Notify("notifications/initialized"); err != nil {
			return "", err
		}
		r.calls++
		a, _, err := r.mcp.Call(r.calls, "tools/list", `{}`)
		if err == nil && !strings.Contains(string(a.Result), theTool) {
			err = errors.New("the write tool is not listed")
		}
		return "", err
	})
}

var (
	requestID  = regexp.MustCompile(`req-[0-9a-f]{32}`)
	contractID = regexp.MustCompile(`wc-[0-9a-f]{32}`)
)

// provision founds the store on the counter and tells the owners whom to trust.
func (r *rehearsal) provision(ctx context.Context) error {
	if _, err := r.host(ctx, "looks for a free place for the counter", "anchor", "plan"); err != nil {
		return err
	}
	for _, what := range []string{"defines the counter", "makes its first increment"} {
		if _, err := r.host(ctx, what, "anchor", "provision", "--handle", r.Handle); err != nil {
			return err
		}
	}
	shown, err := r.operate(ctx, "anchor", "status", "--json")
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`"witness_value": ?"?(\d+)`).FindStringSubmatch(shown)
	if m == nil {
		return errs.New(errs.Internal, "anchor status shows no value of the counter")
	}
	if _, err := r.host(ctx, "founds the store on the value that the counter shows", "anchor", "seed", "--value", m[1], "--handle", r.Handle); err != nil {
		return err
	}
	pins := r.carry("pins.json")
	if _, err := r.host(ctx, "writes down what the owners shall trust; they compare it by voice", "keys", "pins", "-o", pins); err != nil {
		return err
	}
	b, err := os.ReadFile(pins)
	if err != nil {
		return errs.Wrap(err, errs.Internal, "the pins cannot be read")
	}
	for _, o := range authority.Owners() {
		dir, err := r.machine(o)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".config", "mcpsign", "pins.json"), b, 0o600); err != nil {
			return errs.Wrap(err, errs.Internal, "an owner's pins cannot be written")
		}
	}
	return nil
}

// approve plays preview, both signatures and the confirmation of the newest request.
// Name tells its files from those of another change.
func (r *rehearsal) approve(ctx context.Context, name string) error {
	shown, err := r.host(ctx, "sees what was asked for", "write", "list")
	if err != nil {
		return err
	}
	if r.request = requestID.FindString(shown); r.request == "" {
		return errs.New(errs.Internal, "the list shows no request")
	}
	file := func(kind string) string { return r.carry(name + "-" + kind + ".json") }
	if _, err := r.host(ctx, "reads the appliance and writes the preview", "write", "preview", r.request, "-o", file("preview")); err != nil {
		return err
	}
	if err := r.off(ctx, authority.Authorization, ownerA, "reads the review, types yes", "sign-authorization", "-i", file("preview"), "-o", file("authorization")); err != nil {
		return err
	}
	if shown, err = r.host(ctx, "brings the authorization: six gates", "write", "authorize", file("authorization")); err != nil {
		return err
	}
	if r.contract = contractID.FindString(shown); r.contract == "" {
		return errs.New(errs.Internal, "no contract was shown")
	}
	if _, err := r.host(ctx, "writes what the second owner signs over", "write", "pending", r.contract, "-o", file("pending")); err != nil {
		return err
	}
	return r.off(ctx, authority.Confirmation, ownerC, "another person, another machine: reads both, types yes", "sign-confirmation", "-i", file("pending"), "-o", file("confirmation"))
}

// change plays a change that is proven.
func (r *rehearsal) change(ctx context.Context) error {
	const text = "Printers of the first floor"
	if err := r.ask("asks for a new description of "+theAlias, text, "requested"); err != nil {
		return err
	}
	if err := r.approve(ctx, "change"); err != nil {
		return err
	}
	if err := r.ask("polls with the same words", text, "awaiting_confirmation"); err != nil {
		return err
	}
	if _, err := r.host(ctx, "brings the confirmation: the counter moves, one request, two reads", "write", "confirm", r.carry("change-confirmation.json")); err != nil {
		return err
	}
	return r.ask("polls", text, "verified")
}

// undo takes the change back with two signatures.
func (r *rehearsal) undo(ctx context.Context) error {
	if _, err := r.host(ctx, "wants the former text back", "write", "rollback-request", r.contract, "-o", r.carry("undo.json")); err != nil {
		return err
	}
	if err := r.off(ctx, authority.Confirmation, ownerC, "signs the undo", "sign-rollback", "-i", r.carry("undo.json"), "-o", r.carry("undo-confirmation.json")); err != nil {
		return err
	}
	if err := r.off(ctx, authority.Authorization, ownerA, "signs the same undo", "sign-rollback", "-i", r.carry("undo.json"), "-o", r.carry("undo-authorization.json")); err != nil {
		return err
	}
	_, err := r.host(ctx, "brings both", "write", "rollback", "--confirmation", r.carry("undo-confirmation.json"), "--authorization", r.carry("undo-authorization.json"))
	return err
}

// lose plays a change whose answer is lost and which lands all the same.
func (r *rehearsal) lose(ctx context.Context) error {
	const text = "Printers, by the stairs"
	// The appliance's history shows a change that is younger than 5 s: anybody's.
	if err := r.wait(ctx, 6*time.Second, "waits until the appliance has been quiet for 5 s"); err != nil {
		return err
	}
	if err := r.ask("asks for other words", text, "requested"); err != nil {
		return err
	}
	if err := r.approve(ctx, "lost"); err != nil {
		return err
	}
	if err := r.act("the pretend appliance", "will answer with a gateway's time-out, and carry the change out a moment later", func() (string, error) { return "", r.spoil(ctx) }); err != nil {
		return err
	}
	// Its exit code says that the outcome is open: that is what is wanted here.
	if err := r.act(operator, "brings the confirmation\n   $ mcpctl write confirm …", func() (string, error) {
		shown, err := r.operate(ctx, "write", "confirm", r.carry("lost-confirmation.json"))
		if err == nil && !strings.Contains(shown, "reconciliation") {
			err = errors.New("the outcome should be open")
		}
		if strings.Contains(shown, "reconciliation") {
			err = nil
		}
		return shown, err
	}); err != nil {
		return err
	}
	if err := r.ask("polls: nobody knows, and nobody guesses", text, "reconciliation_required"); err != nil {
		return err
	}
	if err := r.wait(ctx, time.Duration(r.Landing+1)*time.Second, fmt.Sprintf("waits until the write can no longer land (%d s here, 15 min in reality)", r.Landing)); err != nil {
		return err
	}
	if _, err := r.host(ctx, "looks at the appliance and writes down what is there", "write", "observe", r.contract, "-o", r.carry("observation.json")); err != nil {
		return err
	}
	if _, err := r.host(ctx, "writes what was sent", "write", "pending", r.contract, "-o", r.carry("lost-sent.json")); err != nil {
		return err
	}
	if err := r.off(ctx, authority.Reconciliation, ownerR, "finds out in the appliance's own interface that it did land, and signs that",
		"sign-reconciliation", "-i", r.carry("observation.json"), "-pending", r.carry("lost-sent.json"), "-outcome", "confirmed_applied", "-o", r.carry("evidence.json")); err != nil {
		return err
	}
	if _, err := r.host(ctx, "brings the evidence: two reads agree with it", "write", "reconcile", r.carry("evidence.json")); err != nil {
		return err
	}
	if err := r.ask("polls", text, "verified"); err != nil {
		return err
	}
	_, err := r.host(ctx, "verifies the whole store", "audit", "verify")
	return err
}

// wait is an act of nobody.
func (r *rehearsal) wait(ctx context.Context, d time.Duration, what string) error {
	return r.act("everybody", what, func() (string, error) {
		return "", pause.For(ctx, d)
	})
}
