package logging

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// maxCauses bounds the types shown of one chain of causes.
const maxCauses = 6

// Err returns the attribute of an error. It is logged as error, code, class and
// next step of its public form, and the Go types of its cause.
func Err(err error) slog.Attr { return slog.Any(KeyError, err) }

// errAttrs spells an error out. The text of a cause is never shown: it may quote
// an appliance, a page or a key.
func errAttrs(err error) []slog.Attr {
	p := errs.Public(err)
	out := []slog.Attr{slog.String(KeyError, p.Msg), slog.String(KeyCode, p.Code.String())}
	if p.Class != "" {
		out = append(out, slog.String(KeyClass, p.Class))
	}
	if _, coded := errors.AsType[*errs.Error](err); coded && p.Next != "" {
		// The fallback's next step points at this very line.
		out = append(out, slog.String(KeyNext, p.Next))
	}
	if p.Err != nil {
		out = append(out, slog.String(KeyCause, causes(p.Err)))
	}
	return out
}

// causes lists the types of a chain, outermost first, and the name of its end when
// that is one of the few errors whose text is a constant.
func causes(err error) string {
	var types []string
	for err != nil && len(types) < maxCauses {
		if name := constant(err); name != "" {
			types = append(types, name)
			break
		}
		types = append(types, reflect.TypeOf(err).String())
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			err = nil
			if many := u.Unwrap(); len(many) > 0 {
				err = many[0]
			}
		default:
			err = nil
		}
	}
	return strings.Join(types, " > ")
}

// constant names an error that is the same for everybody: a number of the kernel,
// or one of the sentinels of the standard library.
func constant(err error) string {
	if n, ok := err.(syscall.Errno); ok {
		return "errno " + n.Error()
	}
	switch err {
	case io.EOF:
		return "io.EOF"
	case io.ErrUnexpectedEOF:
		return "io.ErrUnexpectedEOF"
	case context.Canceled:
		return "context.Canceled"
	case context.DeadlineExceeded:
		return "context.DeadlineExceeded"
	}
	return ""
}
