package conf

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Describe returns the text of --help-config for a pointer to a struct of
// settings: each key with its variable, type, bounds, default and sentence, in
// the form of a settings file with everything commented out.
func Describe(dst any) (string, error) {
	fields, err := fieldsOf(dst)
	if err != nil {
		return "", err
	}
	// Keys outside tables first: after a table's head TOML reads them into it.
	slices.SortStableFunc(fields, func(a, b *field) int {
		return cmp.Compare(strings.Count(a.name, "."), strings.Count(b.name, "."))
	})
	var b strings.Builder
	table := ""
	for i, f := range fields {
		if i > 0 {
			b.WriteByte('\n')
		}
		key := f.name
		if j := strings.LastIndexByte(key, '.'); j >= 0 {
			if key[:j] != table {
				table = key[:j]
				fmt.Fprintf(&b, "# [%s]\n\n", table)
			}
			key = key[j+1:]
		} else {
			table = ""
		}
		if f.help != "" {
			fmt.Fprintf(&b, "# %s\n", f.help)
		}
		fmt.Fprintf(&b, "# %s\n", strings.Join(f.facts(), "; "))
		fmt.Fprintf(&b, "# %s = %s\n", key, f.sample())
	}
	return b.String(), nil
}

// facts lists what a value must be and where it may come from.
func (f *field) facts() []string {
	t, list := f.v.Type(), false
	switch t.Kind() {
	case reflect.Pointer:
		t = t.Elem()
	case reflect.Slice:
		t, list = t.Elem(), true
	}
	kind := typeName(t)
	if len(f.enum) > 0 {
		kind = "one of " + strings.Join(f.enum, ", ")
	}
	if list {
		kind = "list of " + kind
	}
	out := []string{kind}
	unit := ""
	switch {
	case list:
		unit = " entries"
	case t.Kind() == reflect.String:
		unit = " bytes"
	}
	switch {
	case f.min != "" && f.max != "":
		out = append(out, f.min+" to "+f.max+unit)
	case f.min != "":
		out = append(out, f.min+unit+" or more")
	case f.max != "":
		out = append(out, "at most "+f.max+unit)
	}
	switch f.ruleName {
	case "https_url":
		out = append(out, "https://host or https://host:port")
	case "path":
		out = append(out, "an absolute path, ~/ allowed")
	case "socket_path", "socket_dir":
		out = append(out, "a short absolute path")
	}
	if f.required {
		out = append(out, "required")
	}
	if f.env != "" {
		out = append(out, "environment "+f.env)
	} else {
		out = append(out, "not from the environment")
	}
	return out
}

// sample returns the default as the file would have it.
func (f *field) sample() string {
	t := f.v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice:
		var parts []string
		for p := range strings.SplitSeq(f.def, ",") {
			if p = strings.TrimSpace(p); p == "" {
				continue
			}
			if t.Elem().Kind() == reflect.String {
				p = fmt.Sprintf("%q", p)
			}
			parts = append(parts, p)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case t.Kind() == reflect.String || isDuration(t):
		return fmt.Sprintf("%q", f.def)
	case f.def == "" && t.Kind() == reflect.Bool:
		return "false"
	case f.def == "" && t.Kind() == reflect.Pointer:
		return "…"
	case f.def == "":
		return "0"
	case f.def == "on":
		return "true"
	case f.def == "off":
		return "false"
	}
	return f.def
}
