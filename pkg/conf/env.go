package conf

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/conf/internal/check"
)

const (
	envPrefix     = "PFSENSE_"
	inEnvironment = "environment"
)

// homeOf returns HOME from an environment, "" when there is none.
func homeOf(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			return v
		}
	}
	return ""
}

// loadEnv puts the PFSENSE_* variables over what the file gave.
func (r *Report) loadEnv(o Options) {
	seen := map[string]bool{}
	var known []string
	for _, f := range r.fields {
		if f.env != "" {
			known = append(known, f.env)
		}
	}
	for _, kv := range o.Env {
		name, val, _ := strings.Cut(kv, "=")
		// Ours in any case: "pfsense_profile" means a setting of ours and would
		// otherwise change nothing, silently.
		if len(name) < len(envPrefix) || !strings.EqualFold(name[:len(envPrefix)], envPrefix) || slices.Contains(o.Ignore, name) {
			continue
		}
		x := Fault{Where: inEnvironment, Setting: check.Name(name)}
		i := slices.IndexFunc(r.fields, func(f *field) bool { return f.env == name })
		switch {
		case i < 0:
			x.Rule = "is no setting" + check.Nearest(name, known)
			r.faults = append(r.faults, x)
			continue
		case seen[name]:
			x.Rule = "is given twice"
			r.faults = append(r.faults, x)
			continue
		}
		seen[name] = true
		f := r.fields[i]
		f.where, f.line = inEnvironment, 0
		if x.Rule = r.give(f, textValue{val}, val == ""); x.Rule != "" {
			r.add(f, x)
		}
	}
}
