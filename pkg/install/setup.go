package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/place"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/secretfile"
)

// Plan is what setup would do.
type Plan struct {
	Options
	Seen  *Seen
	Steps []Step
	Notes []string // what a person should know before and after

	Fingerprint string // of the certificate that a witness host is to list, "" without one

	trust  trust
	sealed bool
	make   map[string]func(context.Context) ([]byte, error) // how a key comes to be, by its path
}

// Trust says how the appliance will be believed, for a person.
func (p *Plan) Trust() string {
	switch {
	case p.trust.mode == "insecure":
		return "by its pin alone: name and validity are not checked"
	case p.trust.ca != nil && p.trust.pin != "":
		return "by the authority in " + layout.CAPEM + " and its pin"
	case p.trust.ca != nil:
		return "by the authority in " + layout.CAPEM
	case p.trust.pin != "":
		return "by this host's authorities and its pin"
	}
	return "by this host's authorities"
}

// Changes says whether anything would be written.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action == Write || s.Action == Replace || s.Action == Mend })
}

// Fill takes from the last run what o does not say.
func (h *Host) Fill(o *Options) error {
	was, err := h.tree().Answers()
	if err != nil {
		return err
	}
	for _, f := range o.remembered() {
		if *f.to == "" {
			*f.to = was[f.name]
		}
	}
	for _, l := range []struct {
		to   *[]string
		name string
	}{{&o.Operators, "operators"}, {&o.Toolsets, "toolsets"}} {
		if len(*l.to) == 0 && was[l.name] != "" {
			*l.to = strings.Split(was[l.name], ",")
		}
	}
	if o.CAFile == "" && (o.TLS == "" || o.TLS == TLSAuto) && h.exists(layout.CAPEM) {
		o.CAFile = filepath.Join(h.Root, layout.CAPEM)
	}
	if o.Write {
		o.Lab = o.Lab || was["lab"] == "true"
		o.Plain = o.Plain || was["plain"] == "true"
	}
	return nil
}

// remembered are the answers that are kept as they are.
func (o *Options) remembered() []struct {
	to   *string
	name string
} {
	return []struct {
		to   *string
		name string
	}{
		{&o.URL, "url"},
		{&o.Identity, "identity"},
		{&o.TLS, "tls"},
		{&o.Pin, "pin"},
		{&o.Profile, "profile"},
		{&o.StoreID, "store_id"},
		{&o.Account, "account"},
		{&o.TPM, "tpm"},
	}
}

// answers are what the next run is told of this one.
func (p *Plan) answers() map[string]string {
	o := p.Options
	o.Pin = p.trust.pin
	out := map[string]string{}
	for _, f := range o.remembered() {
		if *f.to != "" {
			out[f.name] = *f.to
		}
	}
	for name, l := range map[string][]string{"operators": o.Operators, "toolsets": o.Toolsets} {
		if len(l) > 0 {
			out[name] = strings.Join(l, ",")
		}
	}
	for name, b := range map[string]bool{"lab": o.Lab, "plain": o.Plain} {
		if b {
			out[name] = "true"
		}
	}
	return out
}

// exists says whether something lies at a path, whatever it is.
func (h *Host) exists(path string) bool {
	_, err := os.Lstat(filepath.Join(h.Root, path))
	return !errors.Is(err, fs.ErrNotExist)
}

// HasKeys says whether the API keys of both users are in place.
func (h *Host) HasKeys() (read, write bool) {
	c := layout.Credential{Name: layout.WriteAPIKey}
	return h.exists(layout.ReadKey) || h.exists(layout.SealedReadKey), h.exists(c.Path(true)) || h.exists(c.Path(false))
}

// Plan decides what to do to every file. It writes nothing and makes no key. compared
// says that a person has compared the certificate.
func (h *Host) Plan(ctx context.Context, o Options, s *Seen, compared bool) (*Plan, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	ca, err := readCA(o.CAFile)
	if err != nil {
		return nil, err
	}
	p := &Plan{Options: o, Seen: s, make: map[string]func(context.Context) ([]byte, error){}}
	if p.trust, err = o.decide(s, ca, compared); err != nil {
		return nil, err
	}
	if now := h.Now(); now.Before(s.NotBefore) || now.After(s.NotAfter) { // a pin alone asks for no validity
		p.Notes = append(p.Notes, "by this host's clock, "+now.UTC().Format(time.DateTime)+" UTC, the certificate has ended or not begun: see that the clock is right before you go on")
	}
	if err := p.people(h); err != nil {
		return nil, err
	}
	v := p.values(h)
	files := []place.File{
		{Path: layout.McpdTOML, Mode: 0o644, Data: []byte(v.McpdSettings())},
		{Path: layout.McpdDropIn, Mode: 0o644, Data: []byte(v.McpdUnit())},
	}
	if p.trust.ca != nil {
		files = append(files, place.File{Path: layout.CAPEM, Mode: 0o644, Data: p.trust.ca})
	}
	key, err := p.key(h, layout.ReadKey, layout.SealedReadKey, o.KeyFile, "READ", "--key-file")
	if err != nil {
		return nil, err
	}
	files = append(files, key)
	if len(o.Operators) > 0 {
		files = append(files, place.File{Path: layout.DocfetchdTOML, Mode: 0o644, Data: []byte(v.DocfetchdSettings())})
	}
	if o.DocsResolver {
		files = append(files, place.File{Path: layout.DocsDropIn, Mode: 0o644, Data: []byte(layout.DocsUnit(h.resolvers()))})
	}
	switch {
	case o.Write:
		more, err := p.write(ctx, h, v)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	case len(o.Operators) > 0 && !h.exists(layout.WriteDropIn): // a run for reading does not switch writing off
		files = append(files, place.File{Path: layout.ExecutordTOML, Mode: 0o644, Data: []byte(v.ExecutordSettings())})
	}
	if p.Steps, err = h.tree().Plan(files); err != nil {
		return nil, err
	}
	return p, nil
}

// values are what the files say of this plan.
func (p *Plan) values(h *Host) *layout.Values {
	o := p.Options
	return &layout.Values{
		URL: p.Seen.URL(), Identity: o.Identity, TLSMode: p.trust.mode, CA: p.trust.ca != nil, Pin: p.trust.pin,
		Profile: o.Profile, Toolsets: o.Toolsets, Operators: o.Operators,
		Write: o.Write, Lab: o.Lab, StoreID: o.StoreID, Account: o.Account, TPM: o.tpm(), Witness: o.witness(),
		Addrs: h.reach(p.Seen),
	}
}

// key plans one API key: the one in place stays, else the given one goes there.
func (p *Plan) key(h *Host, path, other, given, whose, flag string) (place.File, error) {
	f := place.File{Path: path, Mode: 0o600, Secret: true}
	if h.exists(other) {
		f.Path = other
	}
	switch there := h.exists(f.Path); {
	case there && given != "":
		p.Notes = append(p.Notes, "a "+whose+" key is in place and stays; mcpctl rotate-key replaces it")
		return f, nil
	case there:
		return f, nil
	case given == "":
		return f, refuse("there is no "+whose+" API key", "put it, alone in one line, into a file of yours with mode 600 and give that: "+flag+" FILE")
	}
	read := func(context.Context) ([]byte, error) { return keyLine(given, flag) }
	b, err := read(nil)
	clear(b)
	p.make[f.Path] = read
	p.Notes = append(p.Notes, "remove "+given+" afterwards: its key is in place then")
	return f, err
}

// keyLine reads a key and returns the line that is its file.
func keyLine(path, flag string) ([]byte, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, errs.Wrap(err, errs.Invalid, flag+" names no file")
	}
	s, err := secretfile.Read(abs, secretfile.Options{Setting: flag})
	if err != nil {
		return nil, err
	}
	defer s.Zero()
	return append(slices.Clone(s.Bytes()), '\n'), nil
}

// write plans the write path: executord's keys, its settings and its drop-in.
func (p *Plan) write(ctx context.Context, h *Host, v *layout.Values) ([]place.File, error) {
	if err := p.seal(ctx, h); err != nil {
		return nil, err
	}
	fresh := map[string]func() ([]byte, error){
		layout.RootKey:        func() ([]byte, error) { return keyfile.NewRoot("k1", 1) },
		layout.AttestationKey: func() ([]byte, error) { return keyfile.NewAttestation("executor-1") },
		layout.NVAuth:         keyfile.NewCounterAuth,
	}
	var files []place.File
	for _, c := range layout.WriteCredentials(p.Remote()) {
		f := place.File{Path: c.Path(p.sealed), Mode: 0o600, Secret: true}
		if c.Name == layout.WriteAPIKey {
			var err error
			if f, err = p.key(h, f.Path, c.Path(!p.sealed), p.WriteKeyFile, "write", "--write-key-file"); err != nil {
				return nil, err
			}
		} else if c.Name == layout.WitnessKey {
			more, err := p.witness(ctx, h, v, f.Path)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		} else if !h.exists(f.Path) {
			if h.exists(layout.StoreDir + "/store.db") {
				return nil, errs.New(errs.Conflict, "there is a contract store, and its "+c.Name+" is not there").WithClass("configuration").
					WithNext("put the credential back: a new one could not open the store; to begin anew: mcpctl uninstall --purge-store")
			}
			p.make[f.Path] = func(context.Context) ([]byte, error) { return fresh[c.Name]() }
		}
		if p.sealed && p.make[f.Path] != nil {
			p.make[f.Path] = sealing(h, c.Name, p.make[f.Path])
		}
		files = append(files, f)
	}
	v.Sealed = p.sealed
	if !p.Remote() {
		v.TSS = h.group("tss")
		v.Device = strings.HasPrefix(p.tpm(), "device:") && h.exists(strings.TrimPrefix(p.tpm(), "device:"))
		if !v.Device && !p.Lab {
			p.Notes = append(p.Notes, "there is no TPM device here: executord will not write without one, or the one of a witness host: --tpm https://HOST[:PORT]")
		}
	}
	if p.Profile != catalog.ProfileWriteProtected {
		p.Notes = append(p.Notes, "mcpd offers no tool for a change until setup is given --profile "+catalog.ProfileWriteProtected)
	}
	if !h.exists(layout.Authorities) {
		p.Notes = append(p.Notes, layout.Authorities+" is not there yet: executord starts when it is; reading is not affected")
	}
	return append(files,
		place.File{Path: layout.ExecutordTOML, Mode: 0o644, Data: []byte(v.ExecutordSettings())},
		place.File{Path: layout.WriteDropIn, Mode: 0o644, Data: []byte(v.WriteUnit())}), nil
}

// seal decides whether executord's keys are encrypted on the disk. What is in place
// decides first: a second run must find the keys of the first.
func (p *Plan) seal(ctx context.Context, h *Host) error {
	root := layout.Credential{Name: layout.RootKey}
	switch {
	case h.exists(root.Path(true)):
		p.sealed = true
	case h.exists(root.Path(false)), p.Plain:
		p.Plain = true
		p.Notes = append(p.Notes, "executord's keys lie unencrypted on the disk, for root alone")
	default:
		if _, err := h.Run(ctx, nil, "systemd-creds", "--version"); err != nil {
			return refuse("systemd-creds is not here to encrypt executord's keys", "install systemd 250 or newer, or leave them unencrypted, for root alone: --plain")
		}
		p.sealed = true
	}
	return nil
}

// sealing encrypts what make makes for this host, and its TPM where it has one.
func sealing(h *Host, name string, make func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		b, err := make(ctx)
		if err != nil {
			return nil, err
		}
		defer clear(b)
		return h.encrypt(ctx, name, b)
	}
}

func (h *Host) encrypt(ctx context.Context, name string, b []byte) ([]byte, error) {
	out, err := h.Run(ctx, b, "systemd-creds", "encrypt", "--name="+name, "-", "-")
	if err != nil || len(out) == 0 {
		return nil, errs.Wrap(err, errs.Unavailable, "systemd-creds could not encrypt a key").WithNext("try it by hand: systemd-creds setup; or leave the keys unencrypted: --plain")
	}
	return out, nil
}

// Apply makes the keys and does what the plan says, all or nothing.
func (h *Host) Apply(ctx context.Context, p *Plan) error {
	for i := range p.Steps {
		s := &p.Steps[i]
		make := p.make[s.Path]
		if s.Action != Write || make == nil {
			continue
		}
		b, err := make(ctx)
		if err != nil {
			return err
		}
		defer clear(b)
		s.Data = b
	}
	return h.tree().Apply(p.Steps, p.answers())
}
