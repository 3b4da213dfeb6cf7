package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/sandbox"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/pkg/witness"
)

// witnessSettings are the settings of `executord witness`. The environment sets
// nothing: whoever can start the program must not be able to list a certificate.
type witnessSettings struct {
	Sandbox string `toml:"sandbox" default:"require" enum:"require,available" help:"require: refuse to start without the sandbox. available: go on with what the kernel has, for a trial."`
	Lab     bool   `toml:"lab" default:"false" help:"Allow an emulated TPM behind a Unix socket. For laboratories."`
	Listen  string `toml:"listen" required:"true" max:"64" help:"Address and port to listen on, such as 192.0.2.7:7443."`

	Anchor struct {
		TPM     string `toml:"tpm" default:"device:/dev/tpmrm0" max:"110" help:"device:/dev/tpmrm0, or in the lab unix:PATH."`
		NVIndex uint32 `toml:"nv_index" required:"true" help:"The counter's handle."`
		NVName  string `toml:"nv_index_name" max:"68" help:"The index's Name, as provisioning prints it; nothing is served without it."`
	} `toml:"anchor"`
	TLS struct {
		Certificate string `toml:"certificate" required:"true" check:"path" help:"This host's certificate, PEM."`
	} `toml:"tls"`
	Clients struct {
		Advance []string `toml:"advance" required:"true" max:"16" help:"SHA-256 fingerprints of the certificates that may increment."`
		Read    []string `toml:"read" max:"16" help:"Fingerprints of those that may only read."`
	} `toml:"clients"`
	Credentials struct {
		NVAuth string `toml:"nv_auth" required:"true" max:"200" help:"Credential, or path of the file, with the counter's secret."`
		TLSKey string `toml:"tls_key" required:"true" max:"200" help:"The same with the certificate's private key, PEM, at most 4096 bytes."`
	} `toml:"credentials"`

	LogLevel    string `toml:"log_level" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged."`
	LogMaxBytes int64  `toml:"log_max_bytes" default:"5000000" min:"1024" max:"100000000" help:"Size at which the file of --log-file is rotated."`
	LogBackups  int    `toml:"log_backup_count" default:"5" min:"1" max:"100" help:"Rotated files that are kept."`

	advance, read []witness.Fingerprint
}

// Base returns what the shell needs. There are no sockets and no callers.
func (s *witnessSettings) Base() daemon.Base {
	return daemon.Base{Sandbox: sandbox.Mode(s.Sandbox), LogLevel: s.LogLevel, LogMaxBytes: s.LogMaxBytes, LogBackups: s.LogBackups}
}

// Check holds the settings to the rules that more than one of them is in.
func (s *witnessSettings) Check(r *conf.Report) {
	if a, err := netip.ParseAddrPort(s.Listen); s.Listen != "" && (err != nil || a.Port() == 0) {
		r.Fault("listen", "an address of this host and a port, such as 192.0.2.7:7443 or [2001:db8::7]:7443")
	}
	if strings.HasPrefix(s.Anchor.TPM, "unix:") && !s.Lab {
		r.Fault("anchor.tpm", "a TPM behind a Unix socket is an emulated one: for the lab alone")
	}
	for _, l := range []struct {
		name string
		from []string
		to   *[]witness.Fingerprint
	}{{"clients.advance", s.Clients.Advance, &s.advance}, {"clients.read", s.Clients.Read, &s.read}} {
		for _, text := range l.from {
			f, err := witness.ParseFingerprint(text)
			if err != nil {
				r.Fault(l.name, "each entry is the 64 hex digits of a certificate's SHA-256")
				break
			}
			*l.to = append(*l.to, f)
		}
	}
}

// witnessd is the witness while it starts.
type witnessd struct {
	settings witnessSettings
	counter  *executor.Counter
	cert     tls.Certificate
	listener net.Listener
}

// witnessMain is `executord witness`.
func witnessMain(args []string) int {
	if len(args) > 0 && args[0] == "provision" {
		return provision(args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	d := &witnessd{}
	return daemon.Main(daemon.Spec{
		Name: "executord-witness", Command: "executord witness", Args: args,
		About: `Lets the certificates that are listed read and increment the counter of this
host's TPM, for an executord on another host. First: executord witness provision`,
		Settings: &d.settings,
		Memory:   daemon.Memory{LimitBytes: 32 << 20},
		StopIn:   70 * time.Second, // an increment under way is settled first
		Lab:      func() bool { return d.settings.Lab },
		Secrets:  d.secrets,
		Profile:  d.profile,
		Build:    d.build,
	})
}

// secrets reads the keys and what else the sandbox shuts off.
func (d *witnessd) secrets(p *daemon.Process) error {
	s := &d.settings
	if s.Anchor.NVName == "" {
		return errs.New(errs.Invalid, "anchor.nv_index_name is not set").WithClass("configuration").
			WithNext("provision the counter and write down the Name that is printed: executord witness provision")
	}
	counter, err := s.open(p.CredentialsDir, p.Redact)
	if err != nil {
		return err
	}
	chain, err := readAll(s.TLS.Certificate, 64<<10)
	if err != nil {
		return errs.Wrap(err, errs.Invalid, "the file of tls.certificate cannot be read").WithClass("configuration")
	}
	key, err := credential("credentials.tls_key", s.Credentials.TLSKey, p.CredentialsDir)
	if err != nil {
		return err
	}
	defer key.Zero()
	p.Redact(key.Bytes())
	if d.cert, err = tls.X509KeyPair(chain, key.Bytes()); err != nil {
		// The library's error may quote the file.
		return errs.New(errs.Invalid, "credentials.tls_key is not the key of the certificate in tls.certificate").WithClass("configuration")
	}
	d.counter = counter
	return nil
}

// open makes the counter from the settings.
func (s *witnessSettings) open(credentials string, redact func([]byte)) (*executor.Counter, error) {
	secret, err := credential("credentials.nv_auth", s.Credentials.NVAuth, credentials)
	if err != nil {
		return nil, err
	}
	defer secret.Zero()
	hide(redact, secret.Bytes())
	return executor.OpenCounter(executor.CounterConfig{TPM: s.Anchor.TPM, Index: s.Anchor.NVIndex, Name: s.Anchor.NVName, Secret: secret})
}

// credential reads a key file by the name of a credential or by its path.
func credential(setting, name, dir string) (secretfile.Secret, error) {
	if !filepath.IsAbs(name) {
		if dir == "" {
			return secretfile.Secret{}, errs.New(errs.Invalid, setting+" names a credential, and there are none without systemd").WithClass("configuration").
				WithNext("give the absolute path of the key's file, or start the unit")
		}
		name = filepath.Join(dir, name)
	}
	return secretfile.Read(name, secretfile.Options{Setting: setting, CredentialsDir: dir, Whole: true})
}

// profile opens the listener, which the sandbox forbids later, and fills in the TPM.
func (d *witnessd) profile(*daemon.Process) (p sandbox.Profile, err error) {
	p = sandbox.Witness()
	if kind, path, _ := strings.Cut(d.settings.Anchor.TPM, ":"); kind == "device" {
		p.Devices = []string{path}
	} else {
		p.UnixConnect = []string{filepath.Dir(path)}
	}
	if err := device(p); err != nil {
		return p, err
	}
	var l net.ListenConfig
	if d.listener, err = l.Listen(context.Background(), "tcp", d.settings.Listen); err != nil {
		return p, errs.Wrap(err, errs.Unavailable, "the address in listen cannot be listened on").
			WithNext("check that it is an address of this host and that no other program has the port: ss -ltnp")
	}
	return p, nil
}

// build makes the server.
func (d *witnessd) build(p *daemon.Process) (daemon.Running, error) {
	s, err := witness.New(witness.Config{
		Counter: d.counter, Certificate: d.cert, Advance: d.settings.advance, Read: d.settings.read, Log: p.Log,
	})
	if err != nil {
		return daemon.Running{}, err
	}
	return daemon.Running{Tasks: []daemon.Task{{Name: "witness", Run: func(ctx context.Context) error { return s.Serve(ctx, d.listener) }}}}, nil
}
