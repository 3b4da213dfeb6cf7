package supervise

import (
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/supervise/internal/process"
	"pfsensemcp/pkg/supervise/internal/rehearsal"
)

// The laboratory of the demonstration.
const (
	labStore  = "lab-demo"
	labHandle = "0x01500000"
)

// owners are the people of the demonstration, with the ids of their keys.
var owners = []struct {
	owner authority.Owner
	id    string
}{
	{authority.Authorization, "owner-authz-1"},
	{authority.Confirmation, "owner-confirm-1"},
	{authority.Reconciliation, "owner-reconcile-1"},
}

// lab is the write path of the demonstration: an emulated TPM, key files, and the
// owners, each with a directory of his own that stands for a machine of his own.
type lab struct {
	tpm         string // address
	dir         string // key files
	authorities string
	writeKey    string
}

// startLab prepares the write path before the daemons start.
func (s *suite) startLab(ctx context.Context) error {
	s.lab.dir = filepath.Join(s.layout.root, "etc")
	if err := s.startTPM(); err != nil {
		return err
	}
	for name, file := range map[string]func() ([]byte, error){
		"root-key":        func() ([]byte, error) { return keyfile.NewRoot("k1", 1) },
		"attestation-key": func() ([]byte, error) { return keyfile.NewAttestation("executor-1") },
		"counter-auth":    keyfile.NewCounterAuth,
	} {
		b, err := file()
		if err == nil {
			_, err = s.layout.write(filepath.Join("etc", name), b)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.storeDir(), 0o700); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the store's directory cannot be made")
	}
	var set authority.Set
	for i, o := range owners {
		line, err := s.stage().Sign(ctx, o.owner, "keygen", "-owner", string(o.owner), "-id", o.id, "-no-passphrase")
		if err != nil {
			return err
		}
		key, err := entry(line)
		if err != nil {
			return err
		}
		*[]*[]authority.Key{&set.Authorization, &set.Confirmation, &set.Reconciliation}[i] = []authority.Key{key}
	}
	b, err := set.Encode()
	if err != nil {
		return errs.Wrap(err, errs.Internal, "the owners' keys make no authorities file")
	}
	if s.lab.authorities, err = s.layout.write(filepath.Join("etc", "authorities.json"), b); err != nil {
		return err
	}
	s.say("three owners have keys of their own, each on a machine of his own (here: a directory)")
	return nil
}

func (s *suite) storeDir() string { return filepath.Join(s.layout.root, "state", "store") }

// entry reads the line of keygen.
func entry(line string) (k authority.Key, err error) {
	d := jsontext.NewDecoder(strings.NewReader(line))
	var last string
	for {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		if t.Kind() != '"' {
			continue
		}
		switch v := t.String(); last {
		case "authority_id":
			k.ID, last = v, ""
		case "public_key_hex":
			if k.Public, err = unhex(v); err != nil {
				return k, err
			}
			last = ""
		default:
			last = v
		}
	}
	if k.ID == "" || len(k.Public) == 0 {
		return k, errs.New(errs.Internal, "mcpsign keygen printed something else than a key")
	}
	return k, nil
}

// startTPM starts an emulated TPM.
func (s *suite) startTPM() error {
	path, err := exec.LookPath("swtpm")
	if err != nil {
		return errs.Wrap(err, errs.Unavailable, "there is no swtpm, which plays the TPM of the demonstration").
			WithNext("install it (Debian: apt install swtpm), or run deploy/ensure-swtpm.sh as root")
	}
	state := filepath.Join(s.layout.root, "state", "tpm")
	if err := os.Mkdir(state, 0o700); err != nil {
		return errs.Wrap(err, errs.Unavailable, "the TPM's directory cannot be made")
	}
	sock := filepath.Join(state, "s")
	p := &process.Process{Name: "swtpm", Path: path, Env: []string{}, Args: []string{
		"socket", "--tpm2", "--tpmstate", "dir=" + state, "--server", "type=unixio,path=" + sock,
		"--flags", "not-need-init,startup-clear",
	}}
	stderr := &process.Tail{}
	if err := p.Start(nil, stderr); err != nil {
		return err
	}
	s.running = append(s.running, p)
	for end := time.Now().Add(readyWithin); ; {
		if _, err := os.Stat(sock); err == nil {
			s.lab.tpm = "unix:" + sock
			s.say("an emulated TPM is up: this is a laboratory")
			return nil
		}
		select {
		case <-p.Ended():
			return process.NotStarted(p, stderr, s.say)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			return errs.New(errs.Expired, "swtpm did not come up").WithNext("try again on a less busy machine")
		}
	}
}

// settings adds executord's write path, with the windows of a test build.
func (l lab) settings(b *strings.Builder, p pretend, store string) {
	table := func(name string, pairs ...string) {
		if name != "" {
			b.WriteString("[" + name + "]\n")
		}
		for i := 0; i < len(pairs); i += 2 {
			b.WriteString(pairs[i] + " = " + pairs[i+1] + "\n")
		}
	}
	q := strconv.Quote
	key := func(name string) string { return q(filepath.Join(l.dir, name)) }
	table("", "lab", "true", "store_dir", q(store), "store_id", q(labStore), "authorities_file", q(l.authorities))
	table("appliance", "base_url", q(p.url), "tls_mode", q("auto"), "ca_file", q(p.ca), "account", q("mcp-writer"))
	table("write", "enabled", "true")
	table("anchor", "backend", q("tpm-local"), "tpm", q(l.tpm))
	table("credentials", "root_key", key("root-key"), "attestation_key", key("attestation-key"),
		"nv_auth", key("counter-auth"), "api_key", q(l.writeKey))
	table("test", "settle_ms", "200", "patience_ms", "200", "fresh_ms", "30000", "landing_s", strconv.Itoa(landing), "cooldown_s", "0")
}

// landing is how long a write without an answer may still land in the demonstration,
// in seconds. Really it is 900.
const landing = 3

// stage is where the rehearsal is played.
func (s *suite) stage() rehearsal.Stage {
	return rehearsal.Stage{
		BinDir: s.BinDir, Dir: s.layout.root, Socket: s.layout.socket("mcp"), Control: s.controlSocket(),
		Handle: labHandle, Landing: landing, Out: s.Out, Err: s.Err,
	}
}

// controlSocket steers the pretend appliance.
func (s *suite) controlSocket() string { return filepath.Join(s.layout.root, "state", "pf") }

func unhex(s string) ([]byte, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "a public key is not hex")
	}
	return b, nil
}
