package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/pair"
	"pfsensemcp/pkg/install/internal/peek"
	"pfsensemcp/pkg/install/internal/place"
)

// Remote says whether the TPM is that of a witness host.
func (o *Options) Remote() bool { return strings.HasPrefix(o.TPM, "https:") }

// witness is the witness host's URL as a setting, "" for none.
func (o *Options) witness() string {
	t, err := peek.Parse(o.TPM)
	if err != nil || !o.Remote() {
		return "" // Check has refused it, or it is none
	}
	return t.URL()
}

// checkTPM refuses a place where no TPM can be.
func (o *Options) checkTPM() error {
	if o.Remote() {
		if _, err := peek.Parse(o.TPM); err != nil {
			return refuse("the witness host's URL is not of the form https://host[:port]", "give name or address and port, as in listen of its executord-witness.toml: --tpm https://192.0.2.7:7443")
		}
		return nil
	}
	kind, path, ok := strings.Cut(o.tpm(), ":")
	switch {
	case !ok || kind != "device" && kind != "unix" || !plain(path, "._/-", 100) || path[0] != '/':
		return refuse("the TPM is none of device:PATH, unix:PATH and the URL of a witness host", "leave --tpm out: the device is /dev/tpmrm0")
	case kind == "unix" && !o.Lab:
		return refuse("a TPM behind a socket is for a lab", "give --lab as well, or the device")
	case o.Witness != "":
		return refuse("certificates for a witness host are given, and the TPM is this host's", "give the witness host's URL, --tpm https://HOST[:PORT], or leave --witness out")
	}
	return nil
}

// HasWitness says whether a former run put the certificates for a witness host in place.
func (h *Host) HasWitness() bool { return h.exists(layout.WitnessCA) && h.exists(layout.WitnessCert) }

// Writes says whether a former run set executord up for writing.
func (h *Host) Writes() bool { return h.exists(layout.WriteDropIn) }

// witness plans what executord needs for a witness host: whom it believes there, and by
// what it is known. Key is the place of the certificate's key, which the caller plans.
func (p *Plan) witness(ctx context.Context, h *Host, v *layout.Values, key string) ([]place.File, error) {
	from := func(name string) string { return filepath.Join(p.Witness, name) }
	ca, cert := from(pair.CA), from(pair.Cert)
	switch {
	case p.Witness != "":
	case !h.HasWitness():
		return nil, refuse("there are no certificates for the witness host", "put "+pair.CA+" (its authority), "+pair.Cert+" (by which it knows this host) and "+pair.Key+" into one directory: --witness DIR")
	default:
		ca, cert = filepath.Join(h.Root, layout.WitnessCA), filepath.Join(h.Root, layout.WitnessCert)
	}
	believed, err := pair.Certificates(ca, h.Now())
	if err != nil {
		return nil, err
	}
	chain, err := pair.Certificates(cert, h.Now())
	if err != nil {
		return nil, err
	}
	p.Fingerprint = pair.Fingerprint(chain)
	switch there := h.exists(key); {
	case there && !h.same(layout.WitnessCert, chain):
		return nil, errs.New(errs.Conflict, "the key of another certificate for the witness host is in place").WithClass("configuration").
			WithNext("to replace both, remove " + key + " and " + layout.WitnessCert + ", and run setup again with --witness")
	case there:
	case p.Witness == "":
		return nil, refuse("there is no key of the certificate for the witness host", "give it with its certificate: --witness DIR")
	default:
		read := func(context.Context) ([]byte, error) { return pair.PrivateKey(from(pair.Key), chain) }
		b, err := read(nil)
		clear(b)
		if err != nil {
			return nil, err
		}
		p.make[key] = read
		p.Notes = append(p.Notes, "remove "+from(pair.Key)+" afterwards: its key is in place then")
	}
	if v.Addrs, err = h.reachWitness(ctx, p.Options, v.Addrs); err != nil {
		return nil, err
	}
	return []place.File{
		{Path: layout.WitnessCA, Mode: 0o644, Data: believed},
		{Path: layout.WitnessCert, Mode: 0o644, Data: chain},
	}, nil
}

// same says whether a file is there with this content.
func (h *Host) same(path string, data []byte) bool {
	b, err := os.ReadFile(filepath.Join(h.Root, path))
	return err == nil && bytes.Equal(b, data)
}
