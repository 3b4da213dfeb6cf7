// Package install owns what mcpctl setup, uninstall and rotate-key do to a host: which
// files, with which owners, and which units are told.
//
// Only opctl imports it. Its one connection is a TLS handshake with the appliance
// (inner package peek), its one way to the disk is the inner package place, and the
// programs that it starts are systemctl and systemd-creds. It must never send the key
// anywhere, show one, or overwrite what a person has written.
//
// The attacks it stops: a key sent to whoever answers at the appliance's address; a
// setting, a key or a unit that another user can change; and a host half set up that
// looks whole.
package install

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/install/internal/layout"
	"pfsensemcp/pkg/install/internal/peek"
	"pfsensemcp/pkg/install/internal/place"
)

// Host is the machine: everything that is looked at, written or started. Tests put
// another one in its place.
type Host struct {
	Root     string // "/" but in tests
	UID, GID int    // whose the files shall be: 0 but in tests
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	Lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	Roots    *x509.CertPool // nil: the system's
	// Run starts a program with these bytes on standard input and returns its
	// standard output, of at most 64 KiB. Of a program that fails nothing is shown.
	Run func(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error)
	Now func() time.Time
}

// The ways to believe the appliance.
const (
	TLSStrict = "strict" // this host's authorities
	TLSAuto   = "auto"   // one file of authorities
	TLSPin    = "pin"    // the certificate's key and nothing else
)

// Options are what a person decides.
type Options struct {
	URL       string
	KeyFile   string // with the READ key; "" keeps the one that is in place
	Identity  string // name of the READ user
	TLS       string // "": the strictest that holds
	CAFile    string
	Pin       string
	Operators []string
	Profile   string // "" is the default's
	Toolsets  []string

	Write        bool
	WriteKeyFile string // "" keeps the one that is in place
	StoreID      string
	Account      string // name of the write user
	Lab          bool
	TPM          string // "" is the device; a URL is a witness host's
	Witness      string // directory with the certificates for that host (package pair); "" keeps those in place
	Plain        bool   // leave executord's keys unencrypted on the disk

	DocsResolver bool // let docfetchd ask the name servers of /etc/resolv.conf
}

// Seen is what the appliance's certificate says.
type Seen = peek.Seen

// Believed says that an authority believes a certificate.
const Believed = peek.Believed

// Step is what becomes of one file, Action says it in a word.
type (
	Step   = place.Step
	Action = place.Action
)

// The actions.
const (
	Write   = place.Write
	Replace = place.Replace
	Same    = place.Same
	Mend    = place.Mend
	Left    = place.Left
	Kept    = place.Kept
)

func (h *Host) tree() *place.Tree {
	return &place.Tree{Root: h.Root, UID: h.UID, GID: h.GID, Shipped: layout.Shipped}
}

func refuse(msg, next string) error {
	return errs.New(errs.Invalid, msg).WithClass("configuration").WithNext(next)
}

// Check refuses what could not be written into settings: every value ends between
// quotes in a file that root's daemons read.
func (o *Options) Check() error {
	if _, err := peek.Parse(o.URL); err != nil {
		return err
	}
	for _, n := range []struct{ value, what, flag string }{{o.Identity, "the READ user's name", "--identity"}, {o.Account, "the write user's name", "--account"}} {
		if n.value != "" && !plain(n.value, "._@-", 64) {
			return refuse(n.what+" is not 1 to 64 letters, digits and . _ @ -", "give the name of the appliance's user: "+n.flag)
		}
	}
	for _, u := range o.Operators {
		if !plain(u, "._-", 32) || u[0] == '-' {
			return refuse("an operator's name is not that of a user", "give the login name: --operator NAME")
		}
	}
	if o.Identity == "" {
		return refuse("the READ user has no name", "give the name of the appliance's user whose key this is: --identity NAME")
	}
	if !slices.Contains([]string{"", TLSStrict, TLSAuto, TLSPin}, o.TLS) {
		return refuse("the way to believe the appliance is none of strict, auto and pin", "leave --tls out: the strictest that holds is taken")
	}
	if o.CAFile != "" && o.TLS != "" && o.TLS != TLSAuto {
		return refuse("a CA file goes with --tls auto only", "leave one of them out")
	}
	if o.Profile != "" && !slices.Contains(catalog.Profiles(), o.Profile) {
		return refuse("there is no such profile", "use one of "+strings.Join(catalog.Profiles(), ", "))
	}
	profile := o.Profile
	if profile == "" {
		profile = catalog.ProfileAuditor
	}
	if _, err := catalog.Select(profile, nil, o.Toolsets); err != nil {
		return refuse(errs.Public(err).Msg, "leave --toolsets out for all of them; mcpd serve --help-config names them")
	}
	if o.Write {
		return o.checkWrite()
	}
	return nil
}

func (o *Options) checkWrite() error {
	switch {
	case !plain(o.StoreID, "._:-", 64) || strings.IndexByte("._:-", o.StoreID[0]) >= 0:
		return refuse("the store's name is not 1 to 64 letters, digits and . _ : -", "give the contract store a name: --store-id NAME")
	case strings.HasPrefix(o.StoreID, "lab-") != o.Lab:
		return refuse("a store's name begins with lab- exactly in a lab", "with --lab name it lab-NAME, without it otherwise")
	case o.Account == "":
		return refuse("the write user has no name", "give the name of the appliance's user that the write key belongs to: --account NAME")
	case o.Account == o.Identity:
		return refuse("the write user is the READ user", "make two users on the appliance, with a key each")
	case o.TLS == TLSPin:
		return refuse("executord believes no certificate by its pin alone", "give the appliance a certificate that is valid for its name, and leave --tls out")
	}
	return o.checkTPM()
}

func (o *Options) tpm() string {
	if o.TPM == "" {
		return "device:/dev/tpmrm0"
	}
	return o.TPM
}

// plain says whether a text is 1 to most letters, digits and signs of these.
func plain(s, signs string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(signs, r)
	})
}
