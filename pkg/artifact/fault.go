package artifact

import (
	"errors"

	"pfsensemcp/pkg/artifact/internal/field"
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

// Fault is every refusal of this package. Member and Rule are our words: a fault
// never quotes the file.
type Fault struct {
	Class  Class
	Member string // path of the member, or what the rule is about
	Rule   string
}

// Error returns member and rule.
func (f *Fault) Error() string { return f.Member + ": " + f.Rule }

// ClassOf returns the class of the first Fault in err's chain, "" without one.
func ClassOf(err error) Class {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Class
	}
	return ""
}

func fault(c Class, member, rule string) error { return &Fault{c, member, rule} }

// structural turns an error of the layers below into a Fault. A rule between
// members is a *Fault already.
func structural(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	if e, ok := errors.AsType[*field.Error](err); ok {
		if e.Bound {
			return fault(Binding, e.Member, e.Rule)
		}
		return fault(Structure, e.Member, e.Rule)
	}
	return fault(Structure, "file", err.Error())
}
