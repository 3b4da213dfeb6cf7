// Package signer owns mcpsign: an owner's half of an approval, made off the host,
// at a terminal, over a file that is carried by hand.
//
// cmd/mcpsign alone imports it. It imports artifact and canon, and nothing that can
// reach a network, log elsewhere or start a process; not even errs and conf. It must
// never sign what it did not show, show what it did not recompute, take an approval
// from anything but a person who typed yes after the review, or sign the same thing
// twice.
//
// The attacks it stops: a host, an operator or a carrier that shows an owner one
// change and has another signed; a file of another executor, store, counter or
// appliance; a laboratory's file signed as if it were production's; one person or
// machine playing two owners; an approval piped in; and text on the screen that is
// not the text that is signed.
package signer

// pinsName is the pins file in the signer's directory.
const pinsName = "pins.json"
