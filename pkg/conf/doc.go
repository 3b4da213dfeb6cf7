// Package conf owns the settings of the programs: one strict TOML file, then
// the PFSENSE_* environment over it, read into a typed struct of the caller.
//
// Any package may import conf; conf imports none of ours but errs. The structs
// live with the daemons: conf holds the loader and the reusable rules. Secrets
// are never settings, only paths to files that secretfile reads.
//
// What it must never do: guess. A key or a PFSENSE_* name that it does not know,
// a key in another case, a name given twice, a value of another type or out of
// bounds is a fault, and all faults are reported together, with file and line.
//
// The attacks it stops: a wall that is silently off because its setting was
// misspelt ("tls_mod"), or written twice in two cases of which one wins; a
// settings file swapped for a pipe or a giant that hangs or fills the daemon; and
// a secret pasted into the wrong setting that comes out again in an error
// message. For the last one no fault ever shows a value, of any setting: it names
// the place, the setting and the rule.
//
// # Tags
//
// A struct of settings has these tags. Fields are string, bool, integers,
// time.Duration, slices of string or integers, pointers to the scalar ones (nil:
// not set), and nested structs (a table). An embedded struct without a toml tag
// belongs to the table around it.
//
//	toml:"api_url"         the key; required, "-" leaves a field out
//	env:"PFSENSE_API_URL"  the variable over it; none: the environment cannot set it
//	default:"strict"       in the text form of the environment
//	required:"true"        missing or empty is a fault
//	enum:"strict,auto"     closed values; add fold:"true" to ignore ASCII case
//	min:"1" max:"100"      integers, durations, bytes of a text, entries of a list
//	check:"https_url"      https_url, identity, path, socket_path, socket_dir: may normalise
//	help:"…"               one sentence for --help-config
//
// In the environment and in default a list is written with commas; the file takes
// a TOML array or the same text. An empty variable is an empty list or an empty
// *string; for every other field it is a fault, because "not set" and "set to
// nothing" differ in what an operator meant.
package conf
