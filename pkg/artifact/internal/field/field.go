// Package field owns the strict, two-way reading and writing of one JSON object:
// one list of members, run once to write the object and once to read it, so the
// two cannot drift apart.
//
// Only pkg/artifact and the packages below it import it. It must never accept an object with a member that
// the list does not name or without one that it does, nor write a value that it
// would not read back. It never puts a value into an error.
//
// The attack it stops: a signed file with a member that one reader heeds and
// another ignores.
package field

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"pfsensemcp/pkg/canon"
)

// Codec runs a list of members over one object. The first broken rule ends it: the
// calls after it do nothing.
type Codec struct {
	obj     canon.Object
	writing bool
	used    int // members read so far; each method reads another one
	path    string
	err     *error // shared by the codecs of nested objects
}

// Decode reads an object by the list.
func Decode(o canon.Object, list func(*Codec)) error {
	var err error
	c := &Codec{obj: o, err: &err}
	c.run(list)
	return err
}

// Encode writes an object by the list.
func Encode(list func(*Codec)) (canon.Object, error) {
	var err error
	c := &Codec{obj: canon.Object{}, writing: true, err: &err}
	c.run(list)
	if err != nil {
		return nil, err
	}
	return c.obj, nil
}

// run runs the list, then refuses members that no call read.
func (c *Codec) run(list func(*Codec)) {
	list(c)
	if !c.Failed() && !c.writing && c.used != len(c.obj) {
		// Every named member was found, so what is left over is unknown. Its name
		// is the file's and stays out of the error.
		c.fail("", "holds a member that does not belong here")
	}
}

// Failed says whether a rule was broken.
func (c *Codec) Failed() bool { return *c.err != nil }

// Writing says whether the list runs to write.
func (c *Codec) Writing() bool { return c.writing }

// fail notes the first broken rule.
func (c *Codec) fail(key, rule string) { c.note(Structure, key, rule) }

func (c *Codec) note(class Class, key, rule string) {
	if *c.err == nil {
		*c.err = Refuse(class, c.at(key), rule)
	}
}

// at returns the path of a member.
func (c *Codec) at(key string) string {
	switch {
	case key == "" && c.path == "":
		return "file"
	case key == "":
		return c.path
	case c.path == "":
		return key
	}
	return c.path + "." + key
}

// Check notes a rule between members: it holds in both directions.
func (c *Codec) Check(ok bool, key, rule string) {
	if !ok {
		c.fail(key, rule)
	}
}

// Bind is Check for a member that must fit another one.
func (c *Codec) Bind(ok bool, key, rule string) {
	if !ok {
		c.note(Binding, key, rule)
	}
}

// Claim runs a member that holds a digest of what the file carries. Writing, the
// digest is computed; reading, it must be the one computed: no reader can forget
// to compare.
func (c *Codec) Claim(key string, compute func() (string, error)) {
	if c.Failed() {
		return
	}
	is, err := compute()
	if err != nil {
		c.Bind(false, key, "cannot be computed from what the file carries")
		return
	}
	said := is
	c.Hex64(key, &said)
	c.Bind(said == is, key, "is not the digest of what the file carries")
}

// Echo runs a member that repeats a text that the file carries elsewhere.
func (c *Codec) Echo(key, is string, rule func(string) string) {
	said := is
	c.Text(key, &said, rule)
	c.Bind(said == is, key, "is not what the rest of the file says")
}

// take returns a member's value when reading.
func (c *Codec) take(key string) (any, bool) {
	v, ok := c.obj[key]
	if !ok {
		c.fail(key, "is missing")
		return nil, false
	}
	c.used++
	return v, true
}

// scalar is the one way in which a member that is a single value is read and
// written: from converts it or says which rule it breaks, to converts it back and
// says likewise. A nil value of an optional member stands for the zero T.
func scalar[T comparable](c *Codec, key string, p *T, optional bool, from func(any) (T, string), to func(T) (any, string)) {
	if c.Failed() {
		return
	}
	var zero T
	if c.writing {
		if optional && *p == zero {
			c.obj[key] = nil
			return
		}
		v, rule := to(*p)
		if rule != "" {
			c.fail(key, rule)
			return
		}
		c.obj[key] = v
		return
	}
	v, ok := c.take(key)
	if !ok {
		return
	}
	if v == nil && optional {
		*p = zero
		return
	}
	t, rule := from(v)
	if rule == "" && optional && t == zero {
		rule = "must be null when there is none"
	}
	if rule != "" {
		c.fail(key, rule)
		return
	}
	*p = t
}

// text runs a string member; rule returns the broken rule or "".
func (c *Codec) text(key string, p *string, optional bool, rule func(string) string) {
	scalar(c, key, p, optional, func(v any) (string, string) {
		s, ok := v.(string)
		if !ok {
			return "", "must be a text"
		}
		return s, rule(s)
	}, func(s string) (any, string) { return s, rule(s) })
}

// Text runs a string member that is in NFC and fits the rule.
func (c *Codec) Text(key string, p *string, rule func(string) string) {
	c.text(key, p, false, func(s string) string {
		if !canon.Normal(s) {
			return "must be normalised text of at most 65536 bytes"
		}
		return rule(s)
	})
}

// Token runs a member that holds an identifier.
func (c *Codec) Token(key string, p *string) { c.text(key, p, false, Token) }

// OptToken is Token or null; "" stands for null.
func (c *Codec) OptToken(key string, p *string) { c.text(key, p, true, Token) }

// ID runs a member that holds a random id with the prefix.
func (c *Codec) ID(key string, p *string, prefix string) { c.text(key, p, false, ID(prefix)) }

// Hex64 runs a member that holds a digest.
func (c *Codec) Hex64(key string, p *string) { c.text(key, p, false, Hex64) }

// OptHex64 is Hex64 or null; "" stands for null.
func (c *Codec) OptHex64(key string, p *string) { c.text(key, p, true, Hex64) }

// Enum runs a member that holds one of the words.
func (c *Codec) Enum(key string, p *string, words ...string) { c.text(key, p, false, oneOf(words)) }

// OptEnum is Enum or null; "" stands for null.
func (c *Codec) OptEnum(key string, p *string, words ...string) {
	c.text(key, p, true, oneOf(words))
}

// OptText is a text that fits the rule, or null; "" stands for null.
func (c *Codec) OptText(key string, p *string, rule func(string) string) {
	c.text(key, p, true, rule)
}

// Const runs a member that always holds one text.
func (c *Codec) Const(key, value string) { c.Enum(key, &value, value) }

// Version runs the member schema_version, which holds exactly n.
func (c *Codec) Version(n int64) {
	v := n
	c.Int("schema_version", &v, n, n)
}

// Bool runs a boolean member.
func (c *Codec) Bool(key string, p *bool) {
	scalar(c, key, p, false, func(v any) (bool, string) {
		b, ok := v.(bool)
		if !ok {
			return false, "must be true or false"
		}
		return b, ""
	}, func(b bool) (any, string) { return b, "" })
}

// Int runs an integer member within bounds, both included.
func (c *Codec) Int(key string, p *int64, least, most int64) {
	rule := func(n int64) string {
		if n < least || n > most {
			return fmt.Sprintf("must be an integer from %d to %d", least, most)
		}
		return ""
	}
	scalar(c, key, p, false, func(v any) (int64, string) {
		n, ok := v.(int64)
		if !ok {
			return 0, "must be an integer"
		}
		return n, rule(n)
	}, func(n int64) (any, string) { return n, rule(n) })
}

// OptInt is Int or null; a nil pointer stands for null.
func (c *Codec) OptInt(key string, p **int64, least, most int64) {
	if c.Failed() {
		return
	}
	null := *p == nil
	if !c.writing {
		v, there := c.obj[key]
		null = there && v == nil
	}
	if null {
		var none string
		c.OptToken(key, &none)
		*p = nil
		return
	}
	var n int64
	if c.writing {
		n = **p
	}
	c.Int(key, &n, least, most)
	*p = &n
}

// layout is the one form of a timestamp: UTC, whole seconds.
const layout = "2006-01-02T15:04:05Z"

// Time runs a timestamp member.
func (c *Codec) Time(key string, p *time.Time) { c.time(key, p, false) }

// OptTime is Time or null; the zero time stands for null.
func (c *Codec) OptTime(key string, p *time.Time) { c.time(key, p, true) }

func (c *Codec) time(key string, p *time.Time, optional bool) {
	const rule = "must be a time like 2026-03-14T09:20:00Z"
	var s string
	if c.writing && !(optional && p.IsZero()) {
		if s = p.UTC().Format(layout); !p.UTC().Truncate(time.Second).Equal(*p) || p.IsZero() {
			c.fail(key, "must be a time of whole seconds")
			return
		}
	}
	c.text(key, &s, optional, func(s string) string {
		// Parse takes a fraction that the layout does not have.
		if t, err := time.Parse(layout, s); err != nil || t.Format(layout) != s || t.IsZero() {
			return rule
		}
		return ""
	})
	if c.writing || c.Failed() {
		return
	}
	*p = time.Time{}
	if s != "" {
		t, err := time.Parse(layout, s)
		c.Check(err == nil, key, rule)
		*p = t
	}
}

// Bytes runs a member that holds exactly n bytes in base64.
func (c *Codec) Bytes(key string, p *[]byte, n int) {
	var s string
	if c.writing {
		s = base64.StdEncoding.EncodeToString(*p)
	}
	c.text(key, &s, false, func(s string) string {
		// The decoder skips line ends, so the text must be what it encodes to.
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil || len(b) != n || base64.StdEncoding.EncodeToString(b) != s {
			return fmt.Sprintf("must be %d bytes in padded base64", n)
		}
		return ""
	})
	if !c.writing && !c.Failed() {
		*p, _ = base64.StdEncoding.DecodeString(s) // checked above
	}
}

// Object runs a member that holds an object with a list of its own.
func (c *Codec) Object(key string, list func(*Codec)) {
	if c.Failed() {
		return
	}
	in := &Codec{writing: c.writing, path: c.at(key), err: c.err}
	if c.writing {
		in.obj = canon.Object{}
		in.run(list)
		c.obj[key] = in.obj
		return
	}
	v, ok := c.take(key)
	if !ok {
		return
	}
	if in.obj, ok = v.(canon.Object); !ok {
		c.fail(key, "must be an object")
		return
	}
	in.run(list)
}

// Strings runs a member that holds a list of at most most texts in NFC.
func (c *Codec) Strings(key string, p *[]string, most int) {
	if c.Failed() {
		return
	}
	const rule = "must be a list of normalised texts"
	var a canon.Array
	if c.writing {
		for _, s := range *p {
			a = append(a, s)
		}
	} else {
		v, ok := c.take(key)
		if !ok {
			return
		}
		if a, ok = v.(canon.Array); !ok {
			c.fail(key, rule)
			return
		}
	}
	if len(a) > most {
		c.fail(key, fmt.Sprintf("has more than %d entries", most))
		return
	}
	out := make([]string, 0, len(a))
	for _, v := range a {
		s, ok := v.(string)
		if !ok || !canon.Normal(s) {
			c.fail(key, rule)
			return
		}
		out = append(out, s)
	}
	if !c.writing {
		*p = out
		return
	}
	c.obj[key] = append(canon.Array{}, a...)
}

// Objects runs a member that holds a list of least to most objects, each with the
// list of members that item runs.
func Objects[T any](c *Codec, key string, p *[]T, least, most int, item func(*Codec, *T)) {
	if c.Failed() {
		return
	}
	n := len(*p)
	var a canon.Array
	if !c.writing {
		v, ok := c.take(key)
		if !ok {
			return
		}
		if a, ok = v.(canon.Array); !ok {
			c.fail(key, "must be a list")
			return
		}
		n = len(a)
	}
	if n < least || n > most {
		c.fail(key, fmt.Sprintf("must have %d to %d entries", least, most))
		return
	}
	out := canon.Array{}
	got := slices.Grow([]T(nil), n)
	for i := range n {
		in := &Codec{writing: c.writing, path: fmt.Sprintf("%s[%d]", c.at(key), i), err: c.err}
		var t T
		if c.writing {
			in.obj, t = canon.Object{}, (*p)[i]
		} else if o, ok := a[i].(canon.Object); ok {
			in.obj = o
		} else {
			in.fail("", "must be an object")
			return
		}
		in.run(func(c *Codec) { item(c, &t) })
		out, got = append(out, in.obj), append(got, t)
	}
	if c.writing {
		c.obj[key] = out
		return
	}
	*p = got
}
