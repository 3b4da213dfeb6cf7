package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
	"pfsensemcp/pkg/secretfile"
)

// executord is the daemon while it starts: its settings, and the write path when
// there is one.
type executord struct {
	settings settings
	write    *executor.Write
}

// secrets reads the keys and everything else that the sandbox shuts off. Nothing is
// opened, sent or changed.
func (d *executord) secrets(p *daemon.Process) error {
	s := &d.settings
	if !s.configured() {
		return nil
	}
	if err := s.apart(p); err != nil {
		return err
	}
	cfg, err := s.write(p)
	if err != nil {
		return err
	}
	d.write, err = executor.Prepare(cfg)
	return err
}

// write is the settings as the write path takes them.
func (s *settings) write(p *daemon.Process) (executor.Config, error) {
	c := executor.Config{
		Lab: s.Lab, TestBuild: testBuild, StoreDir: s.StoreDir, StoreID: s.StoreID,
		Appliance: executor.Appliance{
			BaseURL: s.Appliance.BaseURL, TLSMode: s.Appliance.TLSMode, CAFile: s.Appliance.CAFile, Pin: s.Appliance.Pin, Account: s.Appliance.Account,
		},
		Anchor:  executor.Anchor{Backend: s.Anchor.Backend, TPM: s.Anchor.TPM, Index: s.Anchor.NVIndex},
		Enabled: s.Write.Enabled, Relay: s.Write.Relay,
		Limits: s.Limits.bounds(), AuthorizationMax: time.Duration(s.TTL.AuthorizationMax) * time.Second, Charset: s.Charset,
		Windows: executor.DefaultWindows(), Progress: p.Progress,
	}
	c.Anchor.Remote = struct{ URL, ServerCA, ClientCert, ClientKey string }(s.Anchor.Remote)
	c.Keys.CredentialsDir, c.Keys.Sealed = p.CredentialsDir, p.CredentialsDir != ""
	for _, k := range []struct {
		setting, name string
		to            *secretfile.Secret
	}{
		{"root_key", s.Credentials.RootKey, &c.Keys.Root},
		{"attestation_key", s.Credentials.AttestationKey, &c.Keys.Attestation},
		{"nv_auth", s.Credentials.NVAuth, &c.Keys.CounterAuth},
		{"api_key", s.Credentials.APIKey, &c.Keys.API},
		{"next_root_key", s.Credentials.NextRootKey, &c.Keys.NextRoot},
	} {
		if k.name == "" {
			continue
		}
		path := k.name
		if !filepath.IsAbs(path) {
			if p.CredentialsDir == "" {
				return c, errs.New(errs.Invalid, "credentials."+k.setting+" names a credential, and there are none without systemd").WithClass("configuration").
					WithNext("give the absolute path of the key's file, or start the unit")
			}
			path = filepath.Join(p.CredentialsDir, k.name)
		} else {
			c.Keys.Sealed = false
		}
		secret, err := secretfile.Read(path, secretfile.Options{
			Setting: "credentials." + k.setting, CredentialsDir: p.CredentialsDir, Whole: k.to != &c.Keys.API,
		})
		if err != nil {
			return c, err
		}
		hide(p.Redact, secret.Bytes())
		*k.to = secret
		c.Keys.Paths = append(c.Keys.Paths, path)
	}
	if k := s.Anchor.Remote.ClientKey; k != "" {
		c.Keys.Paths = append(c.Keys.Paths, k)
	}
	var err error
	if c.Authorities, err = read(s.Authorities); err != nil {
		return c, errs.Wrap(err, errs.Invalid, "the authorities file cannot be read").WithClass("configuration").
			WithNext("write the lines of mcpsign keygen into the file that authorities_file names")
	}
	s.apply(&c)
	return c, nil
}

// apart refuses a host on which the daemon's walls are not there: whoever may ask or
// approve could then write the keys and rules by which it is judged.
func (s *settings) apart(p *daemon.Process) error {
	if s.Lab {
		return nil
	}
	if why := shared(uint32(os.Geteuid()), p.Callers); why != "" {
		return errs.New(errs.Invalid, why).WithClass("configuration").
			WithNext("give executord, mcpd and every operator a user of their own, as the units do; lab = true is for a laboratory")
	}
	return s.believed(p.Config)
}

// believed refuses a file that says whom executord believes and that anybody but root
// could change: the settings, the owners' keys, and the authorities of the appliance and
// of the witness host, whose word is the counter.
func (s *settings) believed(config string) error {
	for _, f := range []struct{ setting, path string }{
		{"the settings", config},
		{"authorities_file", s.Authorities},
		{"appliance.ca_file", s.Appliance.CAFile},
		{"anchor.remote.server_ca", s.Anchor.Remote.ServerCA},
	} {
		if f.path == "" {
			continue
		}
		if err := rooted(f.path); err != nil {
			return errs.Wrap(err, errs.Invalid, "the file of "+f.setting+", or a directory above it, is not root's alone to write").WithClass("configuration").
				WithNext("give the file and all directories above it to root, writable by root alone")
		}
	}
	return nil
}

// shared says what is wrong when two of those who must be apart are one user, "" when
// none are. Root is an operator everywhere, and nothing on a host is out of its reach.
func shared(own uint32, callers map[rpc.Role][]uint32) string {
	mcpd, operators := callers[rpc.Mcpd], callers[rpc.Operators]
	switch {
	case own == 0 || slices.Contains(mcpd, own) || slices.Contains(operators, own):
		return "executord runs as a user that may use its sockets"
	case slices.ContainsFunc(mcpd, func(uid uint32) bool { return uid == 0 || slices.Contains(operators, uid) }):
		return "the user of mcpd, which answers AI clients, is an operator"
	}
	return ""
}

// device refuses a host without the TPM that the settings name, in words of its own: a
// laptop's firmware has it off, a virtual machine has none.
func device(p sandbox.Profile) error {
	for _, path := range p.Devices {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return errs.Wrap(err, errs.Unavailable, "there is no TPM on this host: "+path+" does not exist").WithClass("anchor_unavailable").
				WithNext("switch it on in the firmware and see what the kernel says of it (journalctl -k -g tpm); a virtual machine takes the TPM of a witness host: mcpctl setup --write --tpm https://HOST[:PORT] --witness DIR")
		}
	}
	return nil
}

// open fills in the sandbox: the store, the TPM, the appliance and the witness host.
func (s *settings) open(p *sandbox.Profile) {
	p.State = []string{s.StoreDir}
	kind, path, _ := strings.Cut(s.Anchor.TPM, ":")
	switch {
	case s.Anchor.Backend != "tpm-local":
	case kind == "device":
		p.Devices = []string{path}
	default:
		p.UnixConnect = []string{filepath.Dir(path)}
	}
	p.SystemRoots = s.Appliance.TLSMode == "strict"
	for _, u := range []string{s.Appliance.BaseURL, s.Anchor.Remote.URL} {
		if u == "" {
			continue
		}
		_, port, named := host(u)
		if !slices.Contains(p.TCP, port) {
			p.TCP = append(p.TCP, port)
		}
		p.DNS = p.DNS || named
	}
}
