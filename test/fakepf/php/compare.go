package php

import (
	"math"
	"strconv"
	"strings"
)

// Infer gives a query value the type pfREST's URL decoder gives it: digits are
// an integer that stops at the largest int64, dotted numbers a float, the
// lower-case words true, false and null the PHP values of that name, all else text.
func Infer(s string) any {
	switch s {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case "":
		return ""
	}
	if digits(s) {
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return int64(math.MaxInt64)
		}
		return i
	}
	if a, b, ok := strings.Cut(s, "."); ok && digits(a) && digits(b) {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	return s
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Numeric returns the number a text is to PHP (blanks around it allowed) and
// whether it is one at all.
func Numeric(s string) (float64, bool) {
	t := strings.Trim(s, " \t\n\r\v\f")
	if t == "" || strings.ContainsAny(t, "xXpP_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// Truth is PHP's cast to bool.
func Truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != "" && v != "0"
	case []any:
		return len(v) > 0
	case Object:
		return len(v) > 0
	}
	return true
}

// Text is PHP's cast to string; lists are "Array".
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "1"
		}
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	}
	return "Array"
}

// Equal is PHP 8's == between two values.
func Equal(a, b any) bool {
	if isBool(a) || isBool(b) {
		return Truth(a) == Truth(b)
	}
	if a == nil || b == nil {
		other := a
		if a == nil {
			other = b
		}
		if s, ok := other.(string); ok {
			return s == ""
		}
		return !Truth(other)
	}
	la, aList := a.([]any)
	lb, bList := b.([]any)
	if aList || bList {
		if !aList || !bList || len(la) != len(lb) {
			return false
		}
		for i := range la {
			if !Equal(la[i], lb[i]) {
				return false
			}
		}
		return true
	}
	sa, aText := a.(string)
	sb, bText := b.(string)
	switch {
	case aText && bText:
		if sa == sb {
			return true
		}
		x, okx := Numeric(sa)
		y, oky := Numeric(sb)
		return okx && oky && x == y
	case aText:
		return equalNumber(sa, b)
	case bText:
		return equalNumber(sb, a)
	}
	ia, aInt := a.(int64)
	ib, bInt := b.(int64)
	if aInt && bInt {
		return ia == ib
	}
	x, okx := number(a)
	y, oky := number(b)
	return okx && oky && x == y
}

// equalNumber compares a text with a number: by value when the text is
// numeric, as text otherwise. Two integers are compared as integers.
func equalNumber(s string, n any) bool {
	if i, ok := n.(int64); ok {
		if j, err := strconv.ParseInt(strings.Trim(s, " \t\n\r\v\f"), 10, 64); err == nil {
			return i == j
		}
	}
	if x, ok := Numeric(s); ok {
		y, _ := number(n)
		return x == y
	}
	return s == Text(n)
}

func isBool(v any) bool { _, ok := v.(bool); return ok }

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		return Numeric(v)
	}
	return 0, false
}

// Less is the order sort_by uses: numbers by value, texts by bytes, null first,
// lists by length.
func Less(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	la, aList := a.([]any)
	lb, bList := b.([]any)
	if aList || bList {
		if aList && bList {
			if len(la) != len(lb) {
				return len(la) < len(lb)
			}
			for i := range la {
				if Less(la[i], lb[i]) {
					return true
				}
				if Less(lb[i], la[i]) {
					return false
				}
			}
			return false
		}
		return bList
	}
	if isBool(a) || isBool(b) {
		return !Truth(a) && Truth(b)
	}
	x, okx := number(a)
	y, oky := number(b)
	if okx && oky {
		return x < y
	}
	return Text(a) < Text(b)
}
