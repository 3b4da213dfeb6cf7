// Package member owns the strict, two-way reading and writing of the members of one
// row: one list of members, run once to write and once to read.
//
// Only package record imports it. It must never accept a member that the list does
// not name or miss one that it does, and it has no kind for free text: that is how
// an outsider's words stay out of every row.
//
// The attack it stops: a row with a member that one reader heeds and another
// ignores.
package member

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
)

// List runs one list of members over an object, once to write and once to read,
// so that the two cannot drift apart. The first broken rule ends it.
type List struct {
	obj     canon.Object
	writing bool
	used    int
	err     error
}

// run reads by the list and refuses what the list does not name.
func (c *List) run(list func(*List)) {
	list(c)
	if c.err == nil && c.used != len(c.obj) {
		c.err = errors.New("the row holds a member that does not belong here")
	}
}

// Check notes a rule that holds in both directions.
func (c *List) Check(ok bool, rule string) {
	if !ok && c.err == nil {
		c.err = errors.New(rule)
	}
}

func (c *List) fail(key string) { c.Check(false, key+" is missing or malformed") }

// member is the one way in which a value is read and written. A nil value of an
// optional member stands for the zero T.
func member[T comparable](c *List, key string, p *T, optional bool, from func(any) (T, bool), to func(T) (any, bool)) {
	if c.err != nil {
		return
	}
	var zero T
	if c.writing {
		if optional && *p == zero {
			c.obj[key] = nil
			return
		}
		v, ok := to(*p)
		if !ok {
			c.fail(key)
			return
		}
		c.obj[key] = v
		return
	}
	v, there := c.obj[key]
	if !there {
		c.fail(key)
		return
	}
	c.used++
	if v == nil && optional {
		*p = zero
		return
	}
	t, ok := from(v)
	if !ok || optional && t == zero {
		c.fail(key)
		return
	}
	*p = t
}

// Word runs a text that fits the rule.
func Word[T ~string](c *List, key string, p *T, optional bool, rule func(string) bool) {
	member(c, key, p, optional,
		func(v any) (T, bool) { s, ok := v.(string); return T(s), ok && rule(s) },
		func(t T) (any, bool) { return string(t), rule(string(t)) })
}

// Token runs an identifier, OptToken one or null: "" stands for null, as in all Opts.
func (c *List) Token(key string, p *string)    { Word(c, key, p, false, change.Token) }
func (c *List) OptToken(key string, p *string) { Word(c, key, p, true, change.Token) }

// Hex runs a digest of 64 digits.
func (c *List) Hex(key string, p *string)    { Word(c, key, p, false, change.Hex64) }
func (c *List) OptHex(key string, p *string) { Word(c, key, p, true, change.Hex64) }

// ID runs a random id with the prefix.
func (c *List) ID(key string, p *string, prefix string)    { Word(c, key, p, false, isID(prefix)) }
func (c *List) OptID(key string, p *string, prefix string) { Word(c, key, p, true, isID(prefix)) }

// Fixed runs a member that always holds one text.
func (c *List) Fixed(key, is string) {
	said := is
	Word(c, key, &said, false, func(s string) bool { return s == is })
}

// Enum runs one of the words.
func Enum[T ~string](c *List, key string, p *T, words []T) { Word(c, key, p, false, among(words)) }

// OptEnum runs one of the words or null.
func OptEnum[T ~string](c *List, key string, p *T, words []T) { Word(c, key, p, true, among(words)) }

func among[T ~string](words []T) func(string) bool {
	return func(s string) bool { return slices.Contains(words, T(s)) }
}

// isID is the rule of a random id: the prefix and 32 lower-case hex digits.
func isID(prefix string) func(string) bool {
	return func(s string) bool {
		rest, ok := strings.CutPrefix(s, prefix)
		return ok && len(rest) == 32 && change.Hex64(rest+rest)
	}
}

// Most bounds every count, value, version and clock reading.
const Most = 1<<63 - 1

// Num runs a number within bounds, both included.
func (c *List) Num(key string, p *int64, least, most int64) {
	in := func(n int64) bool { return n >= least && n <= most }
	member(c, key, p, false,
		func(v any) (int64, bool) { n, ok := v.(int64); return n, ok && in(n) },
		func(n int64) (any, bool) { return n, in(n) })
}

// OptNum runs a number or null; a nil pointer stands for null.
func (c *List) OptNum(key string, p **int64, least, most int64) {
	var n int64
	if c.writing {
		if *p == nil {
			c.obj[key] = nil
			return
		}
		n = **p
	} else if v, there := c.obj[key]; there && v == nil {
		c.used++
		*p = nil
		return
	}
	c.Num(key, &n, least, most)
	*p = &n
}

// Version runs schema_version.
func (c *List) Version(n int64) { c.Num("schema_version", &n, n, n) }

// Flag runs a boolean.
func (c *List) Flag(key string, p *bool) {
	member(c, key, p, false,
		func(v any) (bool, bool) { b, ok := v.(bool); return b, ok },
		func(b bool) (any, bool) { return b, true })
}

// Failed says whether a rule was broken.
func (c *List) Failed() bool { return c.err != nil }

// Write runs the list to write.
func Write(list func(*List)) (canon.Object, error) {
	c := &List{obj: canon.Object{}, writing: true}
	list(c)
	return c.obj, c.err
}

// Read runs the list to read.
func Read(o canon.Object, list func(*List)) error {
	c := &List{obj: o}
	c.run(list)
	return c.err
}

// Layout is the one form of a time: UTC, whole seconds.
const Layout = "2006-01-02T15:04:05Z"

func stamp(t time.Time) (string, bool) {
	s := t.UTC().Format(Layout)
	return s, !t.IsZero() && t.Nanosecond() == 0 && len(s) == len(Layout)
}

func moment(s string) (time.Time, bool) {
	t, err := time.Parse(Layout, s)
	return t, err == nil && t.Format(Layout) == s && !t.IsZero()
}

// Time runs a time, OptTime one or null for the zero time.
func (c *List) Time(key string, p *time.Time)    { c.when(key, p, false) }
func (c *List) OptTime(key string, p *time.Time) { c.when(key, p, true) }

func (c *List) when(key string, p *time.Time, optional bool) {
	var s string
	if c.writing && !(optional && p.IsZero()) {
		var ok bool
		if s, ok = stamp(*p); !ok {
			c.fail(key)
		}
	}
	Word(c, key, &s, optional, func(s string) bool { _, ok := moment(s); return ok })
	if !c.writing && c.err == nil {
		*p, _ = moment(s) // the zero time for null
	}
}

// Times runs a list of at most most times.
func (c *List) Times(key string, p *[]time.Time, most int) {
	if c.err != nil {
		return
	}
	if c.writing {
		a := canon.Array{}
		for _, t := range *p {
			s, ok := stamp(t)
			c.Check(ok, key+" is malformed")
			a = append(a, s)
		}
		c.Check(len(a) <= most, key+" is too long")
		c.obj[key] = a
		return
	}
	a, ok := c.obj[key].(canon.Array)
	if !ok || len(a) > most {
		c.fail(key)
		return
	}
	c.used++
	*p = nil
	for _, v := range a {
		s, _ := v.(string)
		t, ok := moment(s)
		c.Check(ok, key+" is malformed")
		*p = append(*p, t)
	}
}

// File runs a member with at most most bytes in base64.
func (c *List) File(key string, p *[]byte, most int) {
	var s string
	if c.writing {
		s = base64.StdEncoding.EncodeToString(*p)
	}
	Word(c, key, &s, false, func(s string) bool {
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return err == nil && len(b) > 0 && len(b) <= most && base64.StdEncoding.EncodeToString(b) == s
	})
	if !c.writing && c.err == nil {
		*p, _ = base64.StdEncoding.DecodeString(s) // checked above
	}
}

// Object runs a nested object.
func (c *List) Object(key string, list func(*List)) {
	if c.err != nil {
		return
	}
	in := &List{writing: c.writing}
	if c.writing {
		in.obj = canon.Object{}
		list(in)
		c.obj[key] = in.obj
	} else {
		o, ok := c.obj[key].(canon.Object)
		if !ok {
			c.fail(key)
			return
		}
		c.used++
		in.obj = o
		in.run(list)
	}
	if in.err != nil {
		c.err = fmt.Errorf("%s: %w", key, in.err)
	}
}

// OptObject runs a nested object or null; a nil pointer stands for null.
func OptObject[T any](c *List, key string, p **T, list func(*List, *T)) {
	if c.err != nil {
		return
	}
	null := *p == nil
	if !c.writing {
		v, there := c.obj[key]
		if null = there && v == nil; null {
			c.used++
		}
	}
	if null {
		if *p = nil; c.writing {
			c.obj[key] = nil
		}
		return
	}
	if !c.writing {
		*p = new(T)
	}
	c.Object(key, func(c *List) { list(c, *p) })
}
