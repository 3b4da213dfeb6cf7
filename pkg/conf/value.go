package conf

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// isDuration says whether t is the one named type that a setting may have.
func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }

// typeName names a scalar type in a fault, "" for a type that is no setting.
func typeName(t reflect.Type) string {
	switch {
	case isDuration(t):
		return "a duration such as 30s"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64, t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		return "a whole number"
	}
	return ""
}

// value is what a source gives for a setting.
type value interface {
	// into stores the value in v, which is addressable and zero, and returns the
	// rule it breaks.
	into(v reflect.Value) string
}

// textValue is a value from the environment or from a default.
type textValue struct{ s string }

func (t textValue) into(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return t.into(v.Elem())
	case v.Kind() == reflect.Slice:
		return t.list(v)
	case isDuration(v.Type()):
		d, err := time.ParseDuration(t.s)
		if err != nil {
			return "must be a duration such as 30s"
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		v.SetString(t.s)
	case v.Kind() == reflect.Bool:
		switch t.s {
		case "true", "on":
			v.SetBool(true)
		case "false", "off":
		default:
			return "must be true or false"
		}
	case v.CanInt():
		n, err := strconv.ParseInt(t.s, 10, 64)
		// The canonical form alone: "+5", "007" and " 5" are more often a
		// slip than a wish.
		if err != nil || strconv.FormatInt(n, 10) != t.s {
			return "must be a whole number"
		}
		return setInt(v, n)
	default:
		n, err := strconv.ParseUint(t.s, 10, 64)
		if err != nil || strconv.FormatUint(n, 10) != t.s {
			return "must be a whole number, not negative"
		}
		if v.OverflowUint(n) {
			return "is too large"
		}
		v.SetUint(n)
	}
	return ""
}

// list splits at commas and trims blanks. An empty text is an empty list, an
// empty entry is a fault: it is what a lost name leaves behind.
func (t textValue) list(v reflect.Value) string {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	if strings.TrimSpace(t.s) == "" {
		return ""
	}
	for part := range strings.SplitSeq(t.s, ",") {
		part = strings.Trim(part, " ")
		if part == "" {
			return "must not have an empty entry"
		}
		if v.Len() > maxList {
			return "has too many entries"
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if rule := (textValue{part}).into(e); rule != "" {
			return "every entry " + rule
		}
		v.Set(reflect.Append(v, e))
	}
	return ""
}

// setInt stores n if it fits.
func setInt(v reflect.Value, n int64) string {
	if v.CanUint() {
		if n < 0 {
			return "must be a whole number, not negative"
		}
		if v.OverflowUint(uint64(n)) {
			return "is too large"
		}
		v.SetUint(uint64(n))
		return ""
	}
	if v.OverflowInt(n) {
		return "is too large or too small"
	}
	v.SetInt(n)
	return ""
}

// tomlValue is a decoded value of the file.
type tomlValue struct{ x any }

func (t tomlValue) into(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch x := t.x.(type) {
	case string:
		// A duration has no TOML type, and a list may be written as in the
		// environment. Numbers and booleans in quotes stay a fault.
		if v.Kind() == reflect.String || v.Kind() == reflect.Slice || isDuration(v.Type()) {
			return textValue{x}.into(v)
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return ""
		}
	case int64:
		if !isDuration(v.Type()) && (v.CanInt() || v.CanUint()) {
			return setInt(v, x)
		}
	case []any:
		if v.Kind() == reflect.Slice {
			return t.list(v, x)
		}
	}
	if v.Kind() == reflect.Slice {
		return "must be a list"
	}
	return "must be " + typeName(v.Type())
}

// list stores a TOML array.
func (t tomlValue) list(v reflect.Value, in []any) string {
	v.Set(reflect.MakeSlice(v.Type(), 0, len(in)))
	for _, x := range in {
		e := reflect.New(v.Type().Elem()).Elem()
		if rule := (tomlValue{x}).into(e); rule != "" {
			return "every entry " + rule
		}
		if e.Kind() == reflect.String && e.String() == "" {
			return "must not have an empty entry"
		}
		v.Set(reflect.Append(v, e))
	}
	return ""
}
