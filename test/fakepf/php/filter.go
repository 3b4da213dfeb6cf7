package php

import (
	"net/netip"
	"regexp"
	"strings"
)

// Filter is one query filter: whether the stored value passes the wanted one.
type Filter func(stored, want any) bool

// Filters returns pfREST's query filters by their name in a query key
// (field__name); a key without a name uses "exact".
func Filters() map[string]Filter {
	return map[string]Filter{
		"exact":      exact,
		"except":     func(s, w any) bool { return !exact(s, w) },
		"contains":   contains,
		"startswith": edge(strings.HasPrefix),
		"endswith":   edge(strings.HasSuffix),
		"in":         in,
		"lt":         order(func(x, y float64) bool { return x < y }),
		"lte":        order(func(x, y float64) bool { return x <= y }),
		"gt":         order(func(x, y float64) bool { return x > y }),
		"gte":        order(func(x, y float64) bool { return x >= y }),
		"regex":      regex,
		"format":     format,
	}
}

// exact is PHP's loose comparison, but for null, which finds null alone.
func exact(stored, want any) bool {
	if want == nil {
		return stored == nil
	}
	return Equal(stored, want)
}

func contains(stored, want any) bool {
	if list, ok := stored.([]any); ok {
		for _, e := range list {
			if Equal(e, want) {
				return true
			}
		}
		return false
	}
	return strings.Contains(Text(stored), Text(want))
}

func edge(has func(s, part string) bool) Filter {
	return func(stored, want any) bool {
		if list, ok := stored.([]any); ok {
			for _, e := range list {
				if has(Text(e), Text(want)) {
					return true
				}
			}
			return false
		}
		return has(Text(stored), Text(want))
	}
}

func in(stored, want any) bool {
	list, ok := want.([]any)
	if !ok {
		return Equal(stored, want)
	}
	for _, e := range list {
		if Equal(stored, e) {
			return true
		}
	}
	return false
}

func order(ok func(x, y float64) bool) Filter {
	return func(stored, want any) bool {
		x, okx := number(stored)
		y, oky := number(want)
		return okx && oky && ok(x, y)
	}
}

// regex matches only patterns with slashes around them, as PHP wants a
// delimiter and the usual caller forgets it; a bad pattern matches nothing.
func regex(stored, want any) bool {
	p, ok := want.(string)
	if !ok || len(p) < 2 || p[0] != '/' {
		return false
	}
	end := strings.LastIndexByte(p, '/')
	if end == 0 {
		return false
	}
	body := p[1:end]
	if strings.Contains(p[end:], "i") {
		body = "(?i)" + body
	}
	re, err := regexp.Compile(body)
	if err != nil {
		return false
	}
	return re.MatchString(Text(stored))
}

func format(stored, want any) bool {
	s, ok := stored.(string)
	if !ok {
		return false
	}
	a, errA := netip.ParseAddr(s)
	n, errN := netip.ParsePrefix(s)
	switch want {
	case "ipv4":
		return errA == nil && a.Is4()
	case "ipv6":
		return errA == nil && a.Is6()
	case "ip":
		return errA == nil
	case "subnetv4":
		return errN == nil && n.Addr().Is4()
	case "subnetv6":
		return errN == nil && n.Addr().Is6()
	case "subnet":
		return errN == nil
	}
	return false
}
