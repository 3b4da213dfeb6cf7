package conf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pfsensemcp/pkg/conf/internal/check"
	"pfsensemcp/pkg/errs"
)

const (
	// maxText bounds a text without a max of its own: longer than any path or
	// URL, short enough that a file pasted into a variable is noticed.
	maxText = 4096
	// maxList bounds a list without a max of its own; the longest real one names
	// the tools of the catalog.
	maxList = 256
)

// field is one setting: where it goes, and its rules from the tags.
type field struct {
	name     string // key with its tables, "anchor.backend"
	env      string
	def      string
	help     string
	min, max string
	enum     []string
	rule     check.Func
	ruleName string
	fold     bool
	required bool
	v        reflect.Value

	where  string // where the value in force was given; "" while it is the default
	line   int
	faulty bool
}

// shownAs returns the name under which the value in force was given.
func (f *field) shownAs() string {
	if f.where == inEnvironment {
		return f.env
	}
	return f.name
}

// structFault is the error of a struct of settings that its author got wrong.
func structFault(name, what string) error {
	return errs.Newf(errs.Internal, "settings struct: %s: %s", name, what)
}

// fieldsOf lists the settings of a pointer to a struct, in order.
func fieldsOf(dst any) ([]*field, error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, structFault("destination", "is not a pointer to a struct")
	}
	var out []*field
	if err := collect(v.Elem(), "", &out); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range out {
		for _, n := range []string{f.name, f.env} {
			if n != "" && seen[n] {
				return nil, structFault(n, "is used twice")
			}
			seen[n] = true
		}
	}
	return out, nil
}

// collect appends the settings of one struct; prefix ends in a dot or is empty.
func collect(v reflect.Value, prefix string, out *[]*field) error {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		key, tagged := sf.Tag.Lookup("toml")
		switch {
		case key == "-":
			continue
		case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct:
			if err := collect(v.Field(i), prefix, out); err != nil {
				return err
			}
			continue
		case !sf.IsExported():
			continue
		case !bareKey(key):
			return structFault(prefix+sf.Name, "has no toml tag of small letters, digits and underscores")
		case sf.Type.Kind() == reflect.Struct:
			if err := collect(v.Field(i), prefix+key+".", out); err != nil {
				return err
			}
			continue
		}
		f, err := newField(v.Field(i), sf.Tag, prefix+key)
		if err != nil {
			return err
		}
		*out = append(*out, f)
	}
	return nil
}

// newField reads the tags of one setting.
func newField(v reflect.Value, tag reflect.StructTag, name string) (*field, error) {
	f := &field{
		name: name, v: v,
		env: tag.Get("env"), def: tag.Get("default"), help: tag.Get("help"),
		min: tag.Get("min"), max: tag.Get("max"), ruleName: tag.Get("check"),
		fold: tag.Get("fold") == "true", required: tag.Get("required") == "true",
	}
	if f.env != "" && !strings.HasPrefix(f.env, envPrefix) {
		return nil, structFault(name, "its variable does not begin with "+envPrefix)
	}
	if e := tag.Get("enum"); e != "" {
		f.enum = strings.Split(e, ",")
	}
	if f.ruleName != "" {
		if f.rule = check.ByName(f.ruleName); f.rule == nil {
			return nil, structFault(name, "names an unknown check")
		}
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	} else if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if typeName(t) == "" {
		return nil, structFault(name, "has a type that is no setting")
	}
	for _, bound := range []string{f.min, f.max} {
		if bound == "" {
			continue
		}
		_, err := strconv.ParseInt(bound, 10, 64)
		if isDuration(t) {
			_, err = time.ParseDuration(bound)
		}
		if err != nil {
			return nil, structFault(name, "has a bound that is no number")
		}
	}
	return f, nil
}

// bareKey says whether s is a key as we write them.
func bareKey(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return s != ""
}

// check applies the rules of the field to a value and may normalise it.
func (f *field) check(v reflect.Value, home string) string {
	switch {
	case v.Kind() == reflect.Pointer:
		return f.checkOne(v.Elem(), home)
	case v.Kind() == reflect.Slice:
		if rule := f.within(int64(v.Len()), 0, maxList, "must have", " entries"); rule != "" {
			return rule
		}
		for i := range v.Len() {
			if rule := f.checkOne(v.Index(i), home); rule != "" {
				return rule
			}
		}
		return ""
	}
	return f.checkOne(v, home)
}

// checkOne applies the rules to one scalar. The bounds of a list count its
// entries and say nothing about one of them.
func (f *field) checkOne(v reflect.Value, home string) string {
	list := f.v.Kind() == reflect.Slice
	switch {
	case isDuration(v.Type()):
		return f.checkDuration(time.Duration(v.Int()))
	case v.CanInt() && !list:
		return f.within(v.Int(), -1<<63, 1<<63-1, "must be", "")
	case v.CanUint() && !list:
		if v.Uint() > 1<<63-1 {
			return "is too large"
		}
		return f.within(int64(v.Uint()), 0, 1<<63-1, "must be", "")
	case v.Kind() != reflect.String:
		return ""
	}
	s := v.String()
	if !utf8.ValidString(s) {
		return "must be UTF-8"
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "must not contain control characters"
	}
	if len(f.enum) > 0 {
		for _, e := range f.enum {
			if s == e || f.fold && strings.EqualFold(s, e) {
				v.SetString(e)
				return ""
			}
		}
		return "must be one of " + strings.Join(f.enum, ", ")
	}
	if list && len(s) > maxText {
		return fmt.Sprintf("must have entries of at most %d bytes", maxText)
	}
	if !list {
		if rule := f.within(int64(len(s)), 0, maxText, "must have", " bytes"); rule != "" {
			return rule
		}
	}
	if f.rule != nil && (s != "" || f.required) {
		n, err := f.rule(s, home)
		if err != nil {
			return err.Error()
		}
		v.SetString(n)
	}
	return ""
}

// checkDuration holds a duration to its bounds; without a min it is not negative.
func (f *field) checkDuration(d time.Duration) string {
	lo, hi := time.Duration(0), time.Duration(1<<63-1)
	if f.min != "" {
		lo, _ = time.ParseDuration(f.min)
	}
	if f.max != "" {
		hi, _ = time.ParseDuration(f.max)
	}
	switch {
	case d >= lo && d <= hi:
		return ""
	case f.max == "":
		return fmt.Sprintf("must be %v or more", lo)
	}
	return fmt.Sprintf("must be %v to %v", lo, hi)
}

// within holds a number to the field's bounds, or to the fallback ones.
func (f *field) within(n, lo, hi int64, verb, unit string) string {
	openLo, openHi := lo, hi
	if f.min != "" {
		lo, _ = strconv.ParseInt(f.min, 10, 64)
	}
	if f.max != "" {
		hi, _ = strconv.ParseInt(f.max, 10, 64)
	}
	switch {
	case n >= lo && n <= hi:
		return ""
	case hi == openHi && hi == 1<<63-1:
		return fmt.Sprintf("%s %d or more%s", verb, lo, unit)
	case lo == openLo && lo <= 0:
		return fmt.Sprintf("%s at most %d%s", verb, hi, unit)
	}
	return fmt.Sprintf("%s %d to %d%s", verb, lo, hi, unit)
}
