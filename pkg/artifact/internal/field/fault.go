package field

import (
	"errors"

	"pfsensemcp/pkg/canon"
)

// Class says which kind of rule a file breaks. The set is closed.
type Class string

// The classes.
const (
	Structure Class = "structure" // bytes, members, forms, bounds
	Binding   Class = "binding"   // members that contradict one another or their digests
	Signature Class = "signature" // key, role, algorithm or signature
	Keys      Class = "keys"      // a list of public keys that must not be used
)

// Fault is every refusal of pkg/artifact and what is below it. Member and Rule are
// our words: a fault never quotes the file.
type Fault struct {
	Class  Class
	Member string // path of the member such as "posture_plan.steps[2].order", or what the rule is about
	Rule   string
}

// Error returns member and rule.
func (f *Fault) Error() string { return f.Member + ": " + f.Rule }

// Refuse makes a Fault.
func Refuse(c Class, member, rule string) error { return &Fault{c, member, rule} }

// ClassOf returns the class of the first Fault in err's chain, "" without one.
func ClassOf(err error) Class {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Class
	}
	return ""
}

// Structural makes an error of canon a Fault; nil and a Fault stay what they are.
func Structural(err error) error {
	if e, ok := errors.AsType[*canon.Error](err); ok {
		return Refuse(Structure, "file", e.Rule)
	}
	return err
}

// Digest is p.Digest with a Fault for its error.
func Digest(p canon.Purpose, v any) (string, error) {
	d, err := p.Digest(v)
	return d, Structural(err)
}

// Bytes is canon.Encode with a Fault for its error.
func Bytes(v any) ([]byte, error) {
	b, err := canon.Encode(v)
	return b, Structural(err)
}

// Read reads an object whose bytes are canonical.
func Read(b []byte, list func(*Codec)) error { return read(canon.DecodeExact, b, list) }

// ReadFree reads an object that people write: blanks and order are free, members
// are not.
func ReadFree(b []byte, list func(*Codec)) error { return read(canon.Decode, b, list) }

func read(decode func([]byte) (any, error), b []byte, list func(*Codec)) error {
	v, err := decode(b)
	if err != nil {
		return Structural(err)
	}
	o, ok := v.(canon.Object)
	if !ok {
		return Refuse(Structure, "file", "must be an object")
	}
	return Decode(o, list)
}
