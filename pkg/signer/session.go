package signer

import (
	"flag"
	"slices"
	"time"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/signer/internal/review"
	"pfsensemcp/pkg/signer/internal/screen"
	"pfsensemcp/pkg/signer/internal/vault"
)

// session is one run of a signing command.
type session struct {
	env  *Env
	dir  *vault.Dir
	pins *authority.Pins
	key  *vault.Key
	log  *vault.Log
	in   *string
	out  *string
}

// run is a signing command. The order is fixed: terminal, directory, pins, keys, log,
// input, review, word, key, signature, log entry, output.
func (v verb) run(e *Env, args []string) error {
	f := flag.NewFlagSet(v.name, flag.ContinueOnError)
	s := &session{env: e, in: f.String("i", "", ""), out: f.String("o", "", "")}
	extra := map[string]*string{}
	for name := range v.extra {
		extra[name] = f.String(name, "", "")
	}
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if *s.in == "" || *s.out == "" {
		return &misuse{v.name + " needs -i FILE and -o FILE"}
	}
	given := map[string]string{}
	for name, value := range extra {
		if given[name] = *value; !v.extra[name](*value) {
			return &misuse{v.name + " needs a known word after --" + name}
		}
	}
	if err := e.atTerminal(); err != nil {
		return err
	}
	defer s.close()
	if err := s.open(v.owners); err != nil {
		return err
	}
	if err := vault.Absent(*s.out); err != nil {
		return err
	}
	b, err := s.input(*s.in)
	if err != nil {
		return err
	}
	j, err := v.review(s, b, given)
	if err != nil {
		return err
	}
	return s.finish(j, b)
}

// open opens the directory, the pins, the one key and the log.
func (s *session) open(owners []authority.Owner) (err error) {
	if s.dir, err = vault.Open(s.env.Dir); err != nil {
		return err
	}
	if s.pins, err = loadPins(s.dir); err != nil {
		return err
	}
	if s.key, err = s.onlyKey(owners); err != nil {
		return err
	}
	s.log, err = s.dir.OpenLog()
	return err
}

func (s *session) close() {
	if s.key != nil {
		s.key.Close()
	}
	if s.log != nil {
		s.log.Close()
	}
}

// loadPins reads the pins file.
func loadPins(dir *vault.Dir) (*authority.Pins, error) {
	b, err := vault.Read(dir.Path(pinsName), authority.MaxPins)
	if err != nil {
		return nil, no("the pins file cannot be used: "+err.Error(), "put the pins file of your executor there, mode 600, received from whoever installed it and compared by voice")
	}
	p, err := authority.ParsePins(b)
	if err != nil {
		return nil, no("the pins file is refused: "+err.Error(), "have it corrected; never copy a value out of a file that you are asked to sign")
	}
	return p, nil
}

// onlyKey returns the key that signs, if it is the only owner's key here.
func (s *session) onlyKey(owners []authority.Owner) (*vault.Key, error) {
	held, err := s.dir.Held()
	if err != nil {
		return nil, err
	}
	var here []authority.Owner
	for _, k := range held {
		for _, o := range s.ownersOf(k) {
			if !slices.Contains(here, o) {
				here = append(here, o)
			}
		}
		k.Close()
	}
	switch {
	case len(here) > 1:
		return nil, no("this machine holds the keys of two owners", "keep each owner's key on its own machine, with its own person")
	case len(here) == 0 || !slices.Contains(owners, here[0]):
		return nil, no("the key that signs this is not here", "run mcpsign on the machine of the owner whose signature is needed")
	}
	return s.dir.Load(here[0])
}

// ownersOf returns whose key a key file is: the owner that its name or its content
// says, and every owner for whom its public key is pinned. Renaming a file does not
// make it another's.
func (s *session) ownersOf(k *vault.Key) []authority.Owner {
	var of []authority.Owner
	if k.Owner != "" {
		of = append(of, k.Owner)
	}
	for _, pin := range s.pins.Executors {
		for _, o := range authority.Owners() {
			for _, pinned := range pin.Authorities.Of(o) {
				if pinned.Public.Equal(k.Public) && !slices.Contains(of, o) {
					of = append(of, o)
				}
			}
		}
	}
	return of
}

// context is what a review needs of the session.
func (s *session) context() review.Context {
	return review.Context{Pins: s.pins, Owner: s.key.Owner, Public: s.key.Public, Now: s.env.now()}
}

// input reads a file that was carried here.
func (s *session) input(path string) ([]byte, error) {
	return vault.Read(path, artifact.MaxAttested)
}

// finish shows the review, takes the word and signs.
func (s *session) finish(j *review.Job, input []byte) error {
	probe, err := j.Sign(s.env.now())
	if err != nil {
		return err // whatever cannot be signed is not reviewed either
	}
	kind := string(probe.Role())
	if at, twice := s.log.Signed(kind, j.Subject); twice {
		return no("this was signed here on "+at.UTC().Format(time.RFC3339), "if the result was lost, have the executor make a new file; if you did not sign it, tell everybody")
	}
	j.Page.Line("")
	if err := s.env.say(j.Page.String()); err != nil {
		return err
	}
	ok, err := s.env.ask("Type yes to sign, anything else to stop: ")
	if err != nil {
		return err
	}
	if !ok {
		return no("nothing was signed", "nothing: the file can be reviewed again")
	}
	a, err := j.Sign(s.env.now())
	if err != nil {
		return err
	}
	b, err := s.signed(a, j.Pin)
	if err != nil {
		return err
	}
	// The name is taken first, so that a bad one costs no entry in the log; the
	// entry is durable before the signature can leave.
	f, err := vault.New(*s.out)
	if err != nil {
		return err
	}
	entry := vault.Entry{At: s.env.now(), Kind: kind, Subject: j.Subject, ID: j.ID, Input: canon.Hash(input), Output: canon.Hash(b)}
	if err := s.log.Add(entry); err != nil {
		_ = f.Close() // it stays empty: nothing is ever removed
		return err
	}
	if err := vault.Fill(f, b); err != nil {
		return err
	}
	return s.env.say("Signed: " + screen.Plain(*s.out, 4096) + "\nSHA-256 " + canon.Hash(b) + "\nnext: " + j.Next + "\n")
}

// signed opens the key and signs; the result is verified against the pins, as the
// executor will.
func (s *session) signed(a artifact.Signed, pin *authority.Pin) ([]byte, error) {
	var passphrase []byte
	if s.key.Protected() {
		var err error
		if passphrase, err = s.env.passphrase("Passphrase of the key: "); err != nil {
			return nil, err
		}
		defer clear(passphrase)
	}
	key, err := s.key.Open(passphrase)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	b, err := artifact.Sign(a, key)
	if err != nil {
		return nil, err
	}
	return b, pin.Authorities.Verify(a)
}
