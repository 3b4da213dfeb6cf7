// Package errs owns the coded errors that cross package and process borders.
//
// Every error a person or a model can meet is an *Error: a code from a closed
// set, a class for the audit line, a message that we wrote, and the next step.
// Any package may import errs; errs imports no package of ours and never
// renders: mcpserver renders for the model, logging for people.
//
// The attack it stops: text of an outsider (an appliance, a web page, a peer)
// or of an unexpected error reaching the model or a log because somebody
// printed err.Error(). Only Msg and Next are ever shown outside; the wrapped
// cause stays in the process, and an error without a code is shown as
// "internal error" and nothing more.
package errs

import (
	"errors"
	"fmt"
)

// Code says what kind of failure it is. The zero value is Internal, so that an
// error nobody coded tells an outsider nothing.
type Code uint8

// The closed set of codes.
const (
	Internal       Code = iota // a fault of ours, or an error nobody coded
	NotFound                   // the thing asked for does not exist
	Invalid                    // an argument, setting or file breaks a rule
	Denied                     // the peer, key or policy may not
	Conflict                   // the state does not allow it now
	Unavailable                // a service or the appliance cannot be reached or used
	Exhausted                  // a bound, quota or budget is used up
	Expired                    // a deadline or validity has passed
	UnknownOutcome             // it may or may not have happened; it must not be retried
)

// String returns the code's stable name, as used in logs and audit lines.
func (c Code) String() string {
	if int(c) < len(codes) {
		return codes[c].name
	}
	return codes[Internal].name
}

// Error is a failure with a code. Msg and Next are our own text and safe to
// show to anybody; Err is the cause and is never shown outside the process.
type Error struct {
	Code  Code
	Class string // finer closed class such as "connection" or "response_shape"; "" when the code says it all
	Msg   string // what failed: lower case, no period, no outsider's text, no secret
	Next  string // the next step for the person who meets it; "" when there is none
	Err   error  // the cause, for errors.Is and errors.As only
}

// Error returns Msg alone: the cause is reached with errors.Unwrap, so that no
// print of an *Error can carry an outsider's text along.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a code and our own message.
func New(code Code, msg string) *Error { return &Error{Code: code, Msg: msg} }

// Newf is New with formatting. The arguments are shown: names, bounds and
// numbers of ours only.
func Newf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns an error with a code and our own message around a cause that is
// kept for errors.Is and errors.As and never shown.
func Wrap(err error, code Code, msg string) *Error {
	return &Error{Code: code, Msg: msg, Err: err}
}

// WithClass returns e with the class set; it changes e and is meant for use
// where the error is made.
func (e *Error) WithClass(class string) *Error { e.Class = class; return e }

// WithNext returns e with the next step set; it changes e and is meant for use
// where the error is made.
func (e *Error) WithNext(next string) *Error { e.Next = next; return e }

// CodeOf returns the code of the first *Error in err's chain, Internal when
// there is none. CodeOf(nil) is Internal too: ask only about failures.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Public returns the *Error to show outside: the first one in err's chain, or
// one fixed "internal error" when nobody coded the failure.
func Public(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Code: Internal,
		Msg:  "internal error",
		Next: "the daemon's log has the details under this request id",
		Err:  err,
	}
}
