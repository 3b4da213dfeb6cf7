package conf

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pfsensemcp/pkg/conf/internal/check"
)

// maxShown bounds the faults that are printed: a wrong file has a few, and a
// file of another kind must not scroll them away.
const maxShown = 50

// Fault is one broken rule. It never holds a value of a setting.
type Fault struct {
	Where   string // "file:line", "file", "environment", or "" when nothing was given
	Setting string // the TOML key with its tables, or the variable's name
	Rule    string // the rule that is broken, in our words
	line    int    // orders the faults of a file
}

// String returns the fault as one line: where, setting, rule.
func (f Fault) String() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{f.Where, f.Setting, f.Rule} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Faults is every fault of one Load, in the order of the file, then of the
// environment, then what is missing.
type Faults []Fault

// Error returns all faults, one per line.
func (f Faults) Error() string {
	var b strings.Builder
	for i, x := range f {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(f)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(x.String())
	}
	return b.String()
}

// Options says where the settings come from.
type Options struct {
	Path     string   // the TOML file; "" for environment only
	Optional bool     // a missing file is no fault (the default path, not one that was typed)
	Env      []string // NAME=value, as os.Environ returns it; HOME is used to expand "~/"
	Ignore   []string // PFSENSE_* names that belong to another program
}

// Checker is implemented by a struct of settings that has rules over more than
// one setting. Check runs after file and environment, even when settings have faults
// already, so that all are told at once; not when the file could not be read.
type Checker interface {
	Check(r *Report)
}

// Load fills dst, a pointer to a struct of settings, from its defaults, the file
// and the environment, in this order. The error is Faults, or an internal error
// when the struct itself is wrong. After an error dst holds nothing to rely on.
func Load(dst any, o Options) error {
	fields, err := fieldsOf(dst)
	if err != nil {
		return err
	}
	r := &Report{fields: fields, home: homeOf(o.Env)}
	for _, f := range fields {
		if f.def != "" {
			if rule := r.set(f, textValue{f.def}); rule != "" {
				return structFault(f.name, "its default breaks its own rule: "+rule)
			}
		}
	}
	r.loadFile(o)
	r.loadEnv(o)
	for _, f := range fields {
		if f.required && f.where == "" && !r.unread {
			rule := "is required"
			if f.env != "" && o.Path != "" {
				rule = "is required, here or as " + f.env
			} else if f.env != "" {
				rule = "is required, as " + f.env
			}
			r.add(f, Fault{Where: missingWhere(o), Setting: f.name, Rule: rule})
		}
	}
	if c, ok := dst.(Checker); ok && !r.unread {
		c.Check(r)
	}
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int { return cmp.Compare(rank(a), rank(b)) })
	return r.faults
}

// rank orders faults: lines of the file, the environment, the rest.
func rank(f Fault) int {
	switch {
	case f.line > 0:
		return f.line
	case f.Where == inEnvironment:
		return 1 << 29
	}
	return 1 << 30
}

// missingWhere names the file in which a missing setting was looked for.
func missingWhere(o Options) string {
	if o.Path != "" {
		return check.Name(o.Path)
	}
	return inEnvironment
}

// Report collects the faults of one Load and knows where each setting came from.
type Report struct {
	fields []*field
	faults Faults
	home   string
	unread bool // the file could not be read: what it would have set is not known
}

// Fault reports that the setting (its TOML key with its tables) breaks a rule.
// The rule is text of ours and holds no value. A setting that already has a fault
// gets no second one: the first is usually its cause.
func (r *Report) Fault(setting, rule string) {
	switch f := r.find(setting); {
	case f == nil:
		r.faults = append(r.faults, Fault{Setting: setting, Rule: rule})
	case !f.faulty:
		r.add(f, Fault{Where: f.where, Setting: f.shownAs(), Rule: rule, line: f.line})
	}
}

// Given says whether file or environment set the setting; a default does not.
func (r *Report) Given(setting string) bool {
	f := r.find(setting)
	return f != nil && f.where != ""
}

// find returns a setting by its key with its tables, nil when there is none.
func (r *Report) find(setting string) *field {
	for _, f := range r.fields {
		if f.name == setting {
			return f
		}
	}
	return nil
}

// add records a fault of a known setting.
func (r *Report) add(f *field, x Fault) {
	f.faulty = true
	r.faults = append(r.faults, x)
}

// give sets a field from a source. Set to nothing is not the same as not set: only
// a list and a pointer to text can say so.
func (r *Report) give(f *field, val value, empty bool) string {
	k := f.v.Kind()
	takesEmpty := k == reflect.Slice || k == reflect.Pointer && f.v.Type().Elem().Kind() == reflect.String
	switch {
	case empty && f.required:
		return "is required, and empty"
	case empty && !takesEmpty:
		return "is empty: give it a value or remove it"
	}
	return r.set(f, val)
}

// set puts a value into the field and checks it; the rule it breaks comes back.
// The field changes only when every rule holds.
func (r *Report) set(f *field, val value) string {
	v := reflect.New(f.v.Type()).Elem()
	if rule := val.into(v); rule != "" {
		return rule
	}
	if rule := f.check(v, r.home); rule != "" {
		return rule
	}
	f.v.Set(v)
	return ""
}
