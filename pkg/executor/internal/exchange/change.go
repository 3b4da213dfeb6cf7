package exchange

import (
	"encoding/json/jsontext"
	"strconv"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
)

// Entry is one change that this program can make at all.
type Entry struct{ Capability, Symbol, Method, Path, Unit string }

// Allowed returns the table of all of them, which has exactly one row and is fixed
// when the program is compiled.
func Allowed() []Entry {
	return []Entry{{
		Capability: change.Capability, Symbol: change.EndpointSymbol, Method: change.HTTPMethod,
		Path: "/api/v2/firewall/alias", Unit: change.Operation,
	}}
}

// maxBody bounds the request's body. Every legal one is far below.
const maxBody = 8 << 10

// Change is a new description for the alias of that name at that position.
type Change struct {
	Locator     int64
	Name, Descr string
}

// Body returns the request's body: exactly id, name, descr and apply, in this
// order. pfREST compares the name, which it does not let change, with the alias at
// the position and refuses when they differ. Texts that the appliance would not
// store as they are sent are refused: some of them cost it its configuration.
//
// There is no other place that writes a body, and none in which the position is
// anything but an int64: a JSON false in its place overwrites the whole list.
func (c Change) Body() ([]byte, error) {
	descr, err := change.Description(c.Descr, change.Stored)
	switch {
	case c.Locator < 0 || c.Locator > change.MaxLocator:
		return nil, errs.New(errs.Invalid, "the alias's position is out of range").WithClass(classNotSent)
	case !change.AliasName(c.Name):
		return nil, errs.New(errs.Invalid, "the alias's name is none").WithClass(classNotSent)
	case err != nil || descr != c.Descr:
		return nil, errs.New(errs.Invalid, "the description is no text that the appliance stores as it is sent").WithClass(classNotSent)
	}
	b := strconv.AppendInt([]byte(`{"id":`), c.Locator, 10)
	b = append(b, `,"name":`...)
	if b, err = jsontext.AppendQuote(b, c.Name); err == nil {
		b = append(b, `,"descr":`...)
		b, err = jsontext.AppendQuote(b, c.Descr)
	}
	if b = append(b, `,"apply":false}`...); err != nil || len(b) > maxBody {
		return nil, errs.New(errs.Invalid, "the request's body is too long").WithClass(classNotSent)
	}
	return b, nil
}
