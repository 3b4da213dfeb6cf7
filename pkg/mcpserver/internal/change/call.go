package change

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"log/slog"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/logging"
	"pfsensemcp/proto/executor/v1"
)

// State is all that a model ever learns of a change.
type State string

// The states. Every failure that is not about the types of the arguments is
// Refused: a bad value, an unknown alias, a full quota, a service that is away.
const (
	Requested      State = "requested"               // waits for people to approve it
	Awaiting       State = "awaiting_confirmation"   // approved by one of two, or being made
	Verified       State = "verified"                // made, and read back
	Reconciliation State = "reconciliation_required" // whether it was made is open; people decide
	Refused        State = "refused"                 // no, or not now; never why
	Reverted       State = "reverted"                // was verified, and the text is gone again
)

// States returns the six states, in the order of the output schema.
func States() []State {
	return []State{Requested, Awaiting, Verified, Reconciliation, Refused, Reverted}
}

// JSON returns the tool's answer: one object with one member.
func (s State) JSON() []byte { return []byte(`{"state":"` + string(s) + `"}`) }

// ErrArguments is the one failure that a caller is told of: the arguments are
// not two texts of these names.
var ErrArguments = errors.New("the arguments are alias_name and description, a text each, and no other")

// The time of a call. executord may have to read the appliance before it opens a
// request; its own row ends that after 15 s.
const (
	callWithin  = 30 * time.Second // a turn, a look and the question together
	statusAgain = 5 * time.Second  // for an executord that is just being restarted
	askWithin   = 15 * time.Second
)

// The longest texts that are passed on, in bytes. executord has its own, shorter
// rules; these keep its messages small.
const (
	maxName = 64
	maxText = 4096
)

// Call asks for a change, or how far the same one has come, in the name of the
// session's uid. The state is Refused for everything that went wrong, and err is
// ErrArguments or nil.
func (t *Tool) Call(ctx context.Context, uid uint32, args []byte) (State, error) {
	alias, text, err := parse(args)
	switch {
	case errors.Is(err, ErrArguments):
		return "", err
	case err != nil, len(alias) > maxName, len(text) > maxText:
		return Refused, nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.Bounds.Call)
	defer cancel()
	leave, ok := t.lanes.enter(ctx, uid)
	if !ok {
		return Refused, nil
	}
	defer leave()
	// The offer is judged again for every call: executord may have been replaced
	// since the tool was listed.
	if !t.learn(ctx, t.Bounds.Again, grpc.WaitForReady(true)) {
		return Refused, nil
	}
	asking, done := context.WithTimeout(ctx, t.Bounds.Ask)
	defer done()
	r, err := t.front.RequestAliasDescription(asking, &executorpb.RequestAliasDescriptionRequest{
		AliasName: alias, Description: text, CallerUid: uid,
	})
	if err != nil {
		if dropped, say := t.quiet.Next(time.Now()); say {
			t.log.LogAttrs(ctx, slog.LevelWarn, "executord did not answer a request", logging.Err(err),
				slog.Int(logging.KeyCount, 1+dropped))
		}
		return Refused, nil
	}
	return shown(r.GetState()), nil
}

// shown returns the word for what executord says; a number that is none of the
// six, one of a later executord say, is the refusing case.
func shown(s executorpb.WriteState) State {
	switch s {
	case executorpb.WriteState_WRITE_STATE_REQUESTED:
		return Requested
	case executorpb.WriteState_WRITE_STATE_AWAITING_CONFIRMATION:
		return Awaiting
	case executorpb.WriteState_WRITE_STATE_VERIFIED:
		return Verified
	case executorpb.WriteState_WRITE_STATE_RECONCILIATION_REQUIRED:
		return Reconciliation
	case executorpb.WriteState_WRITE_STATE_REVERTED:
		return Reverted
	}
	return Refused
}

// errText is a text that no appliance could hold: it is a value that is wrong,
// not a type.
var errText = errors.New("a text is not UTF-8")

// parse reads the two arguments. Anything but exactly these two members with a
// text each is ErrArguments.
func parse(args []byte) (alias, text string, err error) {
	// What is in a text is not this loop's concern, so that a fault in one is not
	// taken for a fault in the types.
	dec := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return "", "", ErrArguments
	}
	var hasAlias, hasText, faulty bool
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return "", "", ErrArguments
		}
		member := tok.String()
		v, err := dec.ReadValue()
		if err != nil || v.Kind() != '"' {
			return "", "", ErrArguments
		}
		s, err := jsontext.AppendUnquote(nil, v)
		faulty = faulty || err != nil || !utf8.Valid(s)
		switch member {
		case "alias_name":
			alias, hasAlias = string(s), true
		case "description":
			text, hasText = string(s), true
		default:
			return "", "", ErrArguments
		}
	}
	if _, err := dec.ReadToken(); err != nil || !hasAlias || !hasText {
		return "", "", ErrArguments
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return "", "", ErrArguments
	}
	if faulty {
		return "", "", errText
	}
	return alias, text, nil
}
