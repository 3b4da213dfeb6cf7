package executor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/ceremony"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
)

// Limits are the bounds of section 8 of the design.
type Limits = store.Limits

// DefaultLimits returns the limits as designed.
func DefaultLimits() Limits { return store.DefaultLimits() }

// Windows are the times that only a test build may shorten.
type Windows = ceremony.Windows

// DefaultWindows returns the windows as designed.
func DefaultWindows() Windows { return ceremony.DefaultWindows() }

// Keys are the secrets of the write path, as their files hold them.
type Keys struct {
	Root, Attestation, CounterAuth, API secretfile.Secret
	NextRoot                            secretfile.Secret // empty unless the root key is to be rotated
	Paths                               []string          // of all of them: none may lie with the store
	CredentialsDir                      string            // $CREDENTIALS_DIRECTORY, "" without systemd
	Sealed                              bool              // all of them came from there
}

// Appliance says which appliance is changed, and whom to believe that it is.
type Appliance struct {
	BaseURL, TLSMode, CAFile, Pin string
	Account                       string // the user of the write key
}

// Anchor says where the counter is.
type Anchor struct {
	Backend string // tpm-local or tpm-remote
	TPM     string // tpm-local: device:PATH or unix:PATH
	Index   uint32 // 0: the store's own, or not chosen yet
	Remote  struct{ URL, ServerCA, ClientCert, ClientKey string }
}

// Config is the write path as the settings give it.
type Config struct {
	Lab, TestBuild   bool
	StoreDir         string
	StoreID          string
	Keys             Keys
	Authorities      []byte // the authorities file
	Appliance        Appliance
	Anchor           Anchor
	Enabled, Relay   bool
	Limits           Limits
	AuthorizationMax time.Duration
	Charset          string
	Windows          Windows

	// Progress is told how far a start is that takes long, and ends it with its error; nil
	// for nobody.
	Progress func(text string) error

	// CrashAt ends the process at a named point; a test build alone can set it.
	CrashAt func(point string)
}

// Write is the write path of one process life.
type Write struct {
	cfg   Config
	inner ceremony.Config
	key   secretfile.Secret
	tls   string
	y     *ceremony.Ceremony
}

// Prepare checks a configuration and reads what the sandbox hides later: the boot id,
// the CA file, what kind of machine this is. It opens no store and sends nothing.
func Prepare(c Config) (*Write, error) {
	w := &Write{cfg: c, key: c.Keys.API, tls: c.Appliance.TLSMode}
	root, err := rootKey(c.Keys.Root)
	if err != nil {
		return nil, err
	}
	in := &w.inner
	in.Store = store.Config{
		Dir: c.StoreDir, StoreID: c.StoreID, Lab: c.Lab, Key: root, KeyPaths: c.Keys.Paths, Limits: c.Limits, Short: c.TestBuild && c.Lab,
		Seam: crashSeam(c.CrashAt), Progress: c.Progress,
	}
	if in.Store.Clock, err = store.SystemClock(); err != nil {
		return nil, err
	}
	if err := in.Store.Check(); err != nil {
		return nil, err
	}
	if c.Keys.NextRoot.Bytes() != nil {
		next, err := rootKey(c.Keys.NextRoot)
		if err != nil {
			return nil, err
		}
		in.Next = &next
	}
	if in.Attestation, err = keyfile.ParseAttestation(c.Keys.Attestation.Bytes()); err != nil {
		return nil, err
	}
	if in.Authorities, err = authority.Parse(c.Authorities); err != nil {
		return nil, errs.Wrap(err, errs.Invalid, "the authorities file breaks a rule").WithClass("configuration").
			WithNext("it is one line of JSON with the three lists of public keys that mcpsign keygen printed; no key and no id may stand twice")
	}
	if err := w.appliance(); err != nil {
		return nil, err
	}
	if err := w.counter(); err != nil {
		return nil, err
	}
	in.Enabled, in.Relaying, in.AuthorizationMax, in.Charset = c.Enabled, c.Relay, c.AuthorizationMax, change.Charset(c.Charset)
	in.Windows, in.TestBuild, in.Account, in.Index = c.Windows, c.TestBuild, c.Appliance.Account, c.Anchor.Index
	in.Point = c.CrashAt
	in.Challenge = func(challenge [32]byte) (sum [32]byte) {
		h := hmac.New(sha256.New, w.key.Bytes())
		h.Write(challenge[:])
		copy(sum[:], h.Sum(nil))
		return sum
	}
	return w, nil
}

func rootKey(s secretfile.Secret) (store.Key, error) {
	k, err := keyfile.ParseRoot(s.Bytes())
	return store.Key{ID: k.KeyID, Epoch: k.Epoch, Material: k.Material}, err
}

// appliance makes the reader and the exchange, which believe the same certificates and
// share nothing else.
func (w *Write) appliance() error {
	a := w.cfg.Appliance
	pc := pfrest.Config{
		BaseURL: a.BaseURL, Key: w.key, TLSMode: a.TLSMode, CAFile: a.CAFile, Pin: a.Pin, Endpoints: alias.Endpoints(), Authoritative: true,
	}
	tls, err := pfrest.ClientTLS(pc)
	if err != nil {
		return err
	}
	client, err := pfrest.New(pc)
	if err != nil {
		return err
	}
	pinned, err := trust(a)
	if err != nil {
		return err
	}
	if w.inner.Reader, err = alias.New(alias.Config{Client: client, BaseURL: a.BaseURL, TLSMode: a.TLSMode, CADigest: pinned}); err != nil {
		return err
	}
	w.inner.Exchanger, err = exchange.New(exchange.Config{BaseURL: a.BaseURL, TLS: tls, Key: w.key})
	return err
}

// trust is the digest of what pins the connection, which an approval is bound to: the
// CA file of mode auto, and the SPKI pin where there is one.
func trust(a Appliance) (string, error) {
	ca := ""
	if a.TLSMode == "auto" {
		pem, err := readBounded(a.CAFile, maxCAFile)
		if err != nil {
			return "", errs.Wrap(err, errs.Invalid, "the file of appliance.ca_file cannot be read").WithClass("configuration").
				WithNext("give the certificate of the appliance's authority, at most 1 MiB")
		}
		ca = canon.Hash(pem)
	}
	if a.Pin == "" {
		return ca, nil
	}
	return canon.Hash(canon.Frames([]byte(ca), []byte(a.Pin))), nil
}

// counter makes the backend of the counter.
func (w *Write) counter() (err error) {
	a, c := w.cfg.Anchor, w.cfg
	if a.Backend == anchor.TPMRemote {
		w.inner.Counter, err = anchor.OpenRemote(anchor.RemoteConfig{
			URL: a.Remote.URL, ServerCA: a.Remote.ServerCA, ClientCert: a.Remote.ClientCert, ClientKey: a.Remote.ClientKey,
			CredentialsDir: c.Keys.CredentialsDir, Settle: c.Windows.Patience,
		})
		return err
	}
	auth, err := keyfile.ParseCounterAuth(c.Keys.CounterAuth.Bytes())
	if err != nil {
		return err
	}
	w.inner.Counter, err = anchor.OpenTPM(anchor.TPMConfig{
		Address: a.TPM, Index: a.Index, Auth: auth, Machine: anchor.ReadMachine(), Settle: c.Windows.Patience,
	})
	return err
}

// Open verifies the store, holds it against the counter and settles what a former
// process left. Nothing is served before it has returned.
func (w *Write) Open(ctx context.Context, version, buildID string, log *slog.Logger, reg *metrics.Registry, notices func(...string)) (*Service, error) {
	w.inner.BuildID = buildID
	w.inner.Log = log
	watch := NewWatch(log, reg)
	w.inner.Observe = func(e ceremony.Event) {
		watch.Event(e)
		if w.y != nil && (e.Kind == ceremony.KindQuarantined || e.Kind == ceremony.KindReleased) {
			notices(w.Notices()...)
		}
	}
	y, err := ceremony.Open(ctx, w.inner)
	if err != nil {
		return nil, err
	}
	w.y = y
	notices(w.Notices()...)
	cfg := w.inner.Store
	return New(y, Facts{
		Version: version, BuildID: buildID, Lab: w.cfg.Lab, TestBuild: w.cfg.TestBuild, Enabled: w.cfg.Enabled, Relay: w.cfg.Relay,
		TLSMode: w.tls, Pinned: w.cfg.Appliance.Pin != "", Sealed: w.cfg.Keys.Sealed, Authorities: w.inner.Authorities, Limits: w.cfg.Limits, Metrics: reg,
		Permissions: func() error {
			if err := cfg.Check(); err != nil {
				return err
			}
			return cfg.Room()
		},
		Appliance: w.inner.Reader,
	}), nil
}

// Run is the writer: it returns when ctx has ended and the step under way is done, or
// with an error when an outcome could not be stored.
func (w *Write) Run(ctx context.Context) error { return w.y.Run(ctx) }

// Alive says whether the writer keeps its deadline.
func (w *Write) Alive() error { return w.y.Alive() }

// Notices are what status shows of the write path beside its state.
func (w *Write) Notices() []string {
	var out []string
	if w.cfg.Lab {
		out = append(out, "LABORATORY: a software TPM may stand for the hardware witness")
	}
	if st := w.y.Status(); !st.Constructible {
		out = append(out, "no change can be asked for: "+st.Why)
	}
	return out
}

// StateDir is the directory that the store needs for itself.
func (c Config) StateDir() string { return filepath.Clean(c.StoreDir) }

// maxCAFile bounds the file of the appliance's authority, in bytes.
const maxCAFile = 1 << 20

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = errs.New(errs.Invalid, "the file is too large")
	}
	return b, err
}
