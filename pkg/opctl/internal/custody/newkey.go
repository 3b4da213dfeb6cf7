package custody

import (
	"context"
	"crypto/ed25519"
	"flag"
	"fmt"
	"strings"

	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
)

// keyKind is one kind of key file that executord reads as a credential.
type keyKind struct {
	name  string // of --kind
	what  string
	id    bool // it has an id
	epoch bool // it has an epoch
	make  func(id string, epoch int64) ([]byte, error)
	// public says what of the file is no secret, for a person; nil: nothing.
	public func(b []byte) ([][2]string, error)
	next   string // FILE stands for its path
}

// keyKinds are all of them.
func keyKinds() []keyKind {
	return []keyKind{
		{
			name: "root", what: "a root key", id: true, epoch: true, make: keyfile.NewRoot,
			next: "as root: systemd-creds encrypt --name=next-root-key FILE /etc/credstore.encrypted/pfsense-executord.next-root-key; name it in the drop-in and as credentials.next_root_key, restart executord; then mcpctl keys rotate, and the handbook's Keys for what follows",
		},
		{
			name: "attestation", what: "an attestation key", id: true,
			make: func(id string, _ int64) ([]byte, error) { return keyfile.NewAttestation(id) },
			public: func(b []byte) ([][2]string, error) {
				a, err := keyfile.ParseAttestation(b)
				if err != nil {
					return nil, err
				}
				public, _ := a.Key.Public().(ed25519.PublicKey)
				return [][2]string{{"attests", a.KeyID + "  key SHA-256 " + canon.Hash(public)}}, nil
			},
			next: "as root: systemd-creds encrypt --name=attestation-key FILE /etc/credstore.encrypted/pfsense-executord.attestation-key (move the old one aside first), restart executord; then mcpctl keys pins -o pins.json for every signer, compared by two people",
		},
		{
			name: "counter-auth", what: "a counter's secret",
			make: func(string, int64) ([]byte, error) { return keyfile.NewCounterAuth() },
			next: "it is for a new counter in the TPM alone: one that exists keeps the secret it was made with. As root: systemd-creds encrypt --name=nv-auth FILE /etc/credstore.encrypted/pfsense-executord.nv-auth; then mcpctl anchor provision. On a witness host: as root to /etc/pfsense-mcp/credentials/witness-nv-auth, mode 600; then executord witness provision",
		},
	}
}

// kindNames are the values of --kind.
func kindNames() []string {
	var out []string
	for _, k := range keyKinds() {
		out = append(out, k.name)
	}
	return out
}

// newKey is `mcpctl keys new`. It asks no daemon: a key is made where the person sits,
// and goes into a new file and nowhere else.
func newKey(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	kind := fs.String("kind", "", "what it is for: "+strings.Join(kindNames(), ", ")+" (`KIND`)")
	id := fs.String("id", "", "its `ID`, one that was never used; of root and attestation")
	epoch := fs.Int64("epoch", 0, "one more than the epoch of the root key it follows (`N`); of root alone")
	path := fs.String("o", "", "write the new `FILE`, mode 600")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	var k keyKind
	for _, one := range keyKinds() {
		if one.name == *kind {
			k = one
		}
	}
	switch {
	case k.make == nil:
		return cli.Misuse(fs, "--kind takes one of "+strings.Join(kindNames(), ", "))
	case k.id != (*id != ""):
		return cli.Misuse(fs, "--id is for root and attestation, which need it")
	case !k.epoch && *epoch != 0, k.epoch && (*epoch < 1 || *epoch > keyfile.MaxEpoch):
		return cli.Misuse(fs, "--epoch is for root, which needs it: 1 for the first one, 2 for the one after it")
	case *path == "":
		return cli.Misuse(fs, "-o FILE is missing")
	}
	if err := e.NeedTerminal(); err != nil {
		return err
	}
	out, err := carry.New(*path)
	if err != nil {
		return err
	}
	defer out.Drop()
	if err := e.Insist(ctx, "Make "+k.what+" in "+cli.Clean(*path)+"? Whoever reads that file has the key."); err != nil {
		return err
	}
	b, err := k.make(*id, *epoch)
	if err != nil {
		return errs.Wrap(err, errs.Invalid, errs.Public(err).Msg).WithClass("configuration").WithNext("choose an id as k2 or executor-2")
	}
	defer clear(b)
	var rows [][2]string
	if k.public != nil {
		if rows, err = k.public(b); err != nil {
			return err
		}
	}
	if err := out.Save(b); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, k.what+", new")
	if k.epoch {
		cli.Row(e.Out, "key", fmt.Sprintf("%s, epoch %d", cli.Clean(*id), *epoch))
	}
	for _, r := range rows {
		cli.Row(e.Out, r[0], r[1])
	}
	cli.Row(e.Out, "file", fmt.Sprintf("%s, %d bytes, SECRET: remove it when it is a credential and a copy is kept off this host", cli.Clean(*path), len(b)))
	cli.Next(e.Out, strings.ReplaceAll(k.next, "FILE", cli.Clean(*path)))
	return nil
}
