// Package openapi owns the index of an OpenAPI document in pfREST's style: the
// operations, models and fields that the suite ever looks at, and of them the few
// properties that it uses.
//
// docfetch, apidocs, mcpserver and opctl may import it; of ours it imports errs,
// textsafe and its own parts. The document is read once, token by token, and
// dropped; it is never given out. References are not followed: a field that
// points to another model carries that model's name, so a document cannot send
// the reader in circles. Everything kept is text of whoever wrote the document,
// without markup and without what cannot be seen (see plain).
//
// The attacks it stops: a document that is built to fill the memory (MaxKept), to
// recurse without end (depth, references), or to smuggle markup, invisible text
// or links into an answer; and the per-installation secrets that an appliance
// prints as defaults, which are hashed before they are kept.
package openapi

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi/internal/scan"
)

// Caps of what is kept of one thing, in characters unless said otherwise.
const (
	MaxDescription = 500          // of an operation or a model
	MaxFieldText   = 150          // of a field's or parameter's description
	MaxCondition   = 200          // of the condition under which a field is available
	MaxName        = scan.MaxName // bytes of a field, parameter, privilege or package
	MaxValue       = 200          // bytes of a default or an enumerated value; longer ones end in a hash
)

// MaxKept bounds the memory that an index may take, in bytes by our own count.
// The real document takes a fifth of it.
const MaxKept = 10 << 20

// ClassCorrupt is the class of the error for a document that is none.
const ClassCorrupt = "corrupt"

// Index is what was kept of one document. It never changes after Parse and may be
// used by any number of goroutines.
type Index struct {
	OpenAPI string // the version of the OpenAPI format
	Version string // info.version: of the package that wrote the document; "" when it does not say
	Title   string
	License string
	Bytes   int64  // of the document
	Hash    string // SHA-256 of the document, 64 lower-case hex digits
	Odd     int    // things left out because their names are none

	operations []*Operation // by path, then verb
	models     map[string]*Model
	names      []string // of the models, sorted
	extensions []Extension
}

// Operation is one verb on one path.
type Operation struct {
	Path, Verb  string // the verb in capitals
	ID          string
	Description string
	Cut         int    // characters of the description that were left out
	Type        string // Singular or Plural; "" when not stated
	Model       string // "" for none
	Parent      string // "" for none
	Auth        string // yes or no; "" when not stated
	Applies     string // yes, no or not_applicable; "" when not stated
	Cache       string // "" for none
	AuthModes   List
	Privileges  List // the allowed privileges, page-all among them
	Packages    List // required packages
	Params      []Param
	Body        string   // the model of the request body; "" for none
	Required    []string // fields that the request body must have, sorted
	Adds        []Param  // members of each object in the answer that are outside its model: id, parent_id
}

// List is a list in square brackets behind a label.
type List struct {
	Stated    bool // the label is there
	Malformed bool // what follows it is no list
	Items     []string
}

// Param is one parameter of an operation. Place is query, path, header or
// cookie, or body for a member of the request body that is outside the model.
type Param struct {
	Name, Place, Type, Description string
	Required                       bool
}

// Model is one schema.
type Model struct {
	Name        string
	Description string
	Fields      []Field // by name
}

// Need says whether a field must be given on creation.
type Need uint8

// The needs. Unknown: no request body with the model, and nothing that nests it,
// says so.
const (
	Unknown Need = iota
	No
	Yes
)

// Field is one field of a model.
type Field struct {
	Name        string
	Type        string // string, integer, number, boolean, array or object; "" when not stated
	Item        string // of an array's entries
	Model       string // the model it refers to; "" for none
	Description string
	Cut         int    // characters of the description that were left out
	Condition   string // when the field is available; "" for always
	Required    Need
	Nullable    bool
	ReadOnly    bool
	WriteOnly   bool
	Enum        []string
	Default     string // JSON text, or a hash in words where it looks like a secret; "" for none
	Minimum     string // JSON number; "" for none
	Maximum     string
	MaxLength   uint32 // characters; 0 when not stated
}

// Extension is a member whose name begins with x-, down to depth 5.
type Extension struct {
	Pointer string // where it stands: a JSON pointer
	Value   string // JSON text, members sorted
}

// Operation returns one operation.
func (ix *Index) Operation(path, verb string) (*Operation, bool) {
	i, ok := slices.BinarySearchFunc(ix.operations, Operation{Path: path, Verb: verb}, func(a *Operation, b Operation) int {
		return compare(a, &b)
	})
	if !ok {
		return nil, false
	}
	return ix.operations[i], true
}

// Verbs returns the verbs that a path has, sorted.
func (ix *Index) Verbs(path string) []string {
	i, _ := slices.BinarySearchFunc(ix.operations, path, func(a *Operation, p string) int { return strings.Compare(a.Path, p) })
	var out []string
	for ; i < len(ix.operations) && ix.operations[i].Path == path; i++ {
		out = append(out, ix.operations[i].Verb)
	}
	return out
}

// Operations returns all operations by path, then verb; the caller changes none.
func (ix *Index) Operations() []*Operation { return ix.operations }

// Model returns one model.
func (ix *Index) Model(name string) (*Model, bool) {
	m, ok := ix.models[name]
	return m, ok
}

// ModelNames returns the names of all models, sorted; the caller changes none.
func (ix *Index) ModelNames() []string { return ix.names }

// Extensions returns the extensions by place; the caller changes none.
func (ix *Index) Extensions() []Extension { return ix.extensions }

func compare(a, b *Operation) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return strings.Compare(a.Verb, b.Verb)
}

func corrupt(msg string) error {
	return errs.New(errs.Invalid, msg).WithClass(ClassCorrupt)
}
