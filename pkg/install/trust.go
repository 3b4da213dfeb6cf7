package install

import (
	"context"
	"errors"
	"os"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/peek"
	"pfsensemcp/pkg/install/internal/place"
)

// Look makes the one handshake with the appliance.
func (h *Host) Look(ctx context.Context, o Options) (*Seen, error) {
	t, err := peek.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	ca, err := readCA(o.CAFile)
	if err != nil {
		return nil, err
	}
	return peek.Look(ctx, t, peek.Options{Dial: h.Dial, Lookup: h.Lookup, Roots: h.Roots, CAFile: ca, Now: h.Now()})
}

// readCA reads the CA file of the command line, nil without one.
func readCA(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > place.MaxFile {
		return nil, errs.Wrap(err, errs.Invalid, "the CA file is no regular file of at most 1 MiB").WithNext("give a PEM file with the appliance's CA certificate")
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) > place.MaxFile {
		return nil, errs.Wrap(err, errs.Invalid, "the CA file cannot be read").WithNext("check who may read it")
	}
	return b, nil
}

// trust is how a daemon shall believe the appliance.
type trust struct {
	mode string // of the settings: strict, auto or insecure
	ca   []byte // with auto
	pin  string // "" for none
}

// errUncompared asks for a person, or the pin that one has compared.
var errUncompared = errors.New("not compared")

// decide takes the strictest way that holds. compared says that a person, or the pin
// of the command line, has vouched for the certificate.
func (o *Options) decide(s *Seen, ca []byte, compared bool) (trust, error) {
	t := trust{}
	if o.Pin != "" {
		if !s.SamePin(o.Pin) {
			return t, errs.New(errs.Denied, "the appliance's certificate does not have the pin that was given").WithClass("tls").
				WithNext("compare it on the appliance's console: is this the appliance?")
		}
		t.pin, compared = s.Pin, true
	}
	want := func(mode string) bool { return o.TLS == "" || o.TLS == mode }
	switch {
	case ca != nil && s.File != Believed:
		return t, unbelieved(s.File, "the CA file")
	case ca != nil:
		t.mode, t.ca = TLSAuto, ca
		return t, nil
	case want(TLSStrict) && s.System == Believed:
		t.mode = TLSStrict
		return t, nil
	case o.TLS == TLSStrict:
		return t, unbelieved(s.System, "this host's authorities")
	case !compared:
		return t, errs.Wrap(errUncompared, errs.Denied, "nobody has compared the appliance's certificate").WithClass("tls").
			WithNext("compare the pin on the appliance's console, then give it: --pin " + s.Pin)
	case want(TLSAuto) && s.Itself == Believed:
		t.mode, t.ca, t.pin = TLSAuto, s.Anchor, s.Pin
		return t, nil
	case o.TLS == TLSAuto || o.Write:
		return t, unbelieved(s.Itself, "the certificate itself")
	}
	t.mode, t.pin = "insecure", s.Pin
	return t, nil
}

// NeedsComparing says whether a person has to vouch for the certificate.
func (o *Options) NeedsComparing(s *Seen) bool {
	ca := []byte(nil)
	if o.CAFile != "" {
		ca = []byte{}
	}
	_, err := o.decide(s, ca, false)
	return errors.Is(err, errUncompared)
}

func unbelieved(t peek.Trust, by string) error {
	e := errs.New(errs.Denied, "the certificate is not believed by "+by).WithClass("tls")
	switch t {
	case peek.WrongName:
		return e.WithNext("it is for another name: give the appliance by a name or address that stands in the certificate (/etc/hosts may say where that is), or issue one for this")
	case peek.NotValid:
		return e.WithNext("it has ended or not begun: renew it on the appliance, and check the clock here")
	}
	return e.WithNext("export the CA from the appliance (System, Certificates) and give it: --ca-file FILE")
}
