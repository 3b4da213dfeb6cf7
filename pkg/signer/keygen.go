package signer

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"slices"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/signer/internal/vault"
)

// keygen makes an owner's key and prints its entry for the authorities file.
func keygen(e *Env, args []string) error {
	f := flag.NewFlagSet("keygen", flag.ContinueOnError)
	ownerName := f.String("owner", "", "")
	id := f.String("id", "", "")
	open := f.Bool("no-passphrase", false, "")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	owner := authority.Owner(*ownerName)
	if !slices.Contains(authority.Owners(), owner) {
		return &misuse{"keygen needs --owner authorization, confirmation or reconciliation"}
	}
	if !change.Token(*id) {
		return &misuse{"keygen needs --id with a name of letters, digits and _ . : -"}
	}
	dir, err := vault.Make(e.Dir)
	if err != nil {
		return err
	}
	held, err := dir.Held()
	if err != nil {
		return err
	}
	for _, k := range held {
		k.Close()
	}
	if len(held) > 0 {
		return no("this machine holds an owner's key already", "make each owner's key on a machine of its own, by another person")
	}
	var passphrase []byte
	if !*open {
		if passphrase, err = e.newPassphrase(); err != nil {
			return err
		}
		defer clear(passphrase)
	}
	seed := vault.NewSeed()
	defer clear(seed)
	cost := e.cost
	if cost == (vault.Cost{}) {
		cost = vault.DefaultCost()
	}
	if err := dir.Store(owner, seed, passphrase, cost); err != nil {
		return err
	}
	return e.announce(dir, owner, *id, passphrase)
}

// newPassphrase asks twice.
func (e *Env) newPassphrase() ([]byte, error) {
	if err := e.atTerminal(); err != nil {
		return nil, err
	}
	first, err := e.passphrase(fmt.Sprintf("Passphrase for the key (at least %d characters): ", vault.MinPassphrase))
	if err != nil {
		return nil, err
	}
	if len(first) < vault.MinPassphrase || len(first) > vault.MaxPassphrase {
		clear(first)
		return nil, no(fmt.Sprintf("the passphrase has less than %d or more than %d bytes", vault.MinPassphrase, vault.MaxPassphrase), "choose several words")
	}
	again, err := e.passphrase("The same again: ")
	if err != nil {
		clear(first)
		return nil, err
	}
	defer clear(again)
	if !bytes.Equal(first, again) {
		clear(first)
		return nil, no("the two passphrases differ", "start again")
	}
	return first, nil
}

// announce reads the key file back, proves that it signs, and prints the entry.
func (e *Env) announce(dir *vault.Dir, owner authority.Owner, id string, passphrase []byte) error {
	k, err := dir.Load(owner)
	if err != nil {
		return err
	}
	defer k.Close()
	key, err := k.Open(passphrase)
	if err != nil {
		return err
	}
	defer clear(key)
	if err := authority.CheckPublicKey(k.Public); err != nil {
		return err
	}
	probe := &artifact.Rebaseline{
		AuthorityID: id, Nonce: change.NewID(""), StoreID: "probe", NVIndexName: "000b" + canon.Hash(nil), AuditHead: canon.Hash(nil),
		Reason: artifact.ReasonRestored, IssuedAt: e.now(), ExpiresAt: e.now().Add(1e9),
	}
	if _, err := artifact.Sign(probe, key); err != nil {
		return err
	}
	line, err := canon.Encode(canon.Object{"authority_id": id, "public_key_hex": hex.EncodeToString(k.Public)})
	if err != nil {
		return err
	}
	// The line alone goes to standard output, so that it can be kept in a file.
	if err := e.say(string(line) + "\n"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Err, "The key lies in %s. Keep a copy where only its owner can reach it.\n"+
		"next: give the line above to whoever installs executord: it belongs into the list %q of the authorities file; compare the key by voice\n", dir.KeyPath(owner), owner)
	return err
}
