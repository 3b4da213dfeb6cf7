package where

// maxLiteral bounds a number's text, the decoder's bound for rows.
const maxLiteral = 40

// decimal is a number in scientific form, 0.digits x 10^exp, exact: integers
// above 2^53 compare as what they are.
type decimal struct {
	neg    bool
	n      int // digits in use; 0 for zero
	digits [maxLiteral]byte
	exp    int
}

// parseDecimal reads a JSON number.
func parseDecimal[T string | []byte](s T) (decimal, bool) {
	var d decimal
	i := 0
	if len(s) == 0 || len(s) > maxLiteral {
		return d, false
	}
	if s[0] == '-' {
		d.neg = true
		i++
	}
	whole := 0
	for start := i; i < len(s) && isDigit(s[i]); i++ {
		if i == start+1 && s[start] == '0' {
			return d, false // leading zero
		}
		whole++
		d.push(s[i])
	}
	if whole == 0 {
		return d, false
	}
	if i < len(s) && s[i] == '.' {
		i++
		start := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			if d.n == 0 && s[i] == '0' {
				d.exp-- // zeros between the point and the first digit
			}
			d.push(s[i])
		}
		if i == start {
			return d, false
		}
	}
	// push drops leading zeros, so a whole part of "0" has given no digit.
	if s[0] == '0' || d.neg && s[1] == '0' {
		whole = 0
	}
	d.exp += whole
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, ok := exponent(s[i+1:])
		if !ok {
			return d, false
		}
		d.exp += e
		i = len(s)
	}
	for d.n > 0 && d.digits[d.n-1] == '0' {
		d.n--
	}
	if d.n == 0 {
		d.neg, d.exp = false, 0
	}
	return d, i == len(s)
}

func (d *decimal) push(c byte) {
	if d.n == 0 && c == '0' {
		return
	}
	d.digits[d.n] = c
	d.n++
}

// exponent reads an exponent of at most five digits: no number of an appliance
// needs more, and sums of such exponents stay small.
func exponent[T string | []byte](s T) (int, bool) {
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 5 {
		return 0, false
	}
	e := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		e = e*10 + int(s[i]-'0')
	}
	if neg {
		e = -e
	}
	return e, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// compare returns -1, 0 or 1.
func (d *decimal) compare(o decimal) int {
	if d.neg != o.neg {
		if d.neg {
			return -1
		}
		return 1
	}
	c := d.magnitude(&o)
	if d.neg {
		return -c
	}
	return c
}

func (d *decimal) magnitude(o *decimal) int {
	switch {
	case d.n == 0 && o.n == 0:
		return 0
	case d.n == 0:
		return -1
	case o.n == 0:
		return 1
	case d.exp != o.exp:
		return sign(d.exp - o.exp)
	}
	for i := range min(d.n, o.n) {
		if d.digits[i] != o.digits[i] {
			return sign(int(d.digits[i]) - int(o.digits[i]))
		}
	}
	return sign(d.n - o.n)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
