package canon

// A canonical value is nil, a bool, an int64, a string, an Array or an Object;
// no other type is accepted anywhere, so nothing is converted in silence.
type (
	// Array is an ordered list of canonical values.
	Array []any
	// Object maps names to canonical values. Its order is that of its keys.
	Object map[string]any
)

// Error says which rule a value or a text breaks. It never quotes the value.
type Error struct{ Rule string }

// Error returns the rule.
func (e *Error) Error() string { return "canonical JSON: " + e.Rule }

// broken makes an Error.
func broken(rule string) error { return &Error{rule} }
