package alias

import (
	"errors"

	"pfsensemcp/pkg/errs"
)

// The classes of errors. All but read are words of the audit.
const (
	classRead       = "read"
	classVersion    = "appliance_version"
	classSettings   = "appliance_settings"
	classBusy       = "appliance_busy"
	classUnresolved = "target_unresolved"
	classTooLarge   = "target_too_large"
)

// errShape stands for every way in which an answer is not what it should be. What
// exactly was wrong is the appliance's text.
var errShape = errors.New("not the expected shape")

// failed is a read without an answer. pfrest's texts are ours, from a closed
// table, so they may be shown.
func failed(what string, err error) *errs.Error {
	e := errs.Wrap(err, errs.Unavailable, what+" could not be read").WithClass(classRead)
	if cause, ok := coded(err); ok {
		e.Msg += ": " + cause.Msg
		e.Next = cause.Next
	}
	return e
}

// unreadable is a read whose answer cannot be used.
func unreadable(what string) *errs.Error {
	return errs.New(errs.Unavailable, what+" is not in a form that can be relied on").WithClass(classRead).
		WithNext("look at the appliance's REST API: a list that is not whole, or a row that cannot be read, proves nothing")
}

func linksOn() *errs.Error {
	return errs.New(errs.Conflict, "the appliance's REST API adds links to its answers").WithClass(classSettings).
		WithNext("switch HATEOAS off in the settings of the appliance's REST API")
}

// coded returns the first error of ours in a chain.
func coded(err error) (*errs.Error, bool) { return errors.AsType[*errs.Error](err) }
