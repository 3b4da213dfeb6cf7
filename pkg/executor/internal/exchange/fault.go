package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"pfsensemcp/pkg/errs"
)

// The classes of errors, which are words of the audit.
const (
	classNotSent  = "not_sent"           // not one byte was given to TLS
	classSend     = "ambiguous_send"     // no response came, or not all of the request went
	classResponse = "ambiguous_response" // a response came that says nothing for certain
)

func notSent(msg string, err error) *errs.Error {
	next := "nothing was sent: check the appliance and its web interface, then ask for the change again"
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		next = "nothing was sent: compare the appliance's certificate with the CA file or pin on its console"
	}
	return errs.Wrap(cause(err), errs.Unavailable, msg).WithClass(classNotSent).WithNext(next)
}

func ambiguous(class, msg string, err error) *errs.Error {
	return errs.Wrap(cause(err), errs.UnknownOutcome, msg).WithClass(class).
		WithNext("it may have been done, or may still be: do not repeat it, observe and reconcile")
}

// cause keeps of an error what is not text of the other side: net/http quotes what
// it cannot parse, and crypto/x509 the names in a certificate.
func cause(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, errTooLarge} {
		if errors.Is(err, known) {
			return known
		}
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		return n
	}
	return nil
}
