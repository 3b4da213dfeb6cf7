package authority

import (
	"crypto/ed25519"
	"math/big"
	"slices"

	"pfsensemcp/pkg/artifact/internal/field"
)

// CheckPublicKey refuses bytes that are no Ed25519 public key worth pinning: not 32
// bytes, not the one encoding of its point, not on the curve, or of small order (a
// key under which one signature fits many messages). The standard library accepts
// several of these.
func CheckPublicKey(k ed25519.PublicKey) error {
	if len(k) != ed25519.PublicKeySize {
		return field.Refuse(field.Keys, "public key", "must be 32 bytes")
	}
	// y is little-endian below the sign bit of x.
	be := slices.Clone(k)
	slices.Reverse(be)
	be[0] &= 0x7f
	y := new(big.Int).SetBytes(be)
	p, d := curve()
	if y.Cmp(p) >= 0 {
		return field.Refuse(field.Keys, "public key", "is not the one encoding of its point")
	}
	// x² = (y² - 1) / (d y² + 1)
	yy := new(big.Int).Mul(y, y)
	den := new(big.Int).Mul(d, yy)
	den.Add(den, big.NewInt(1)).Mod(den, p)
	xx := new(big.Int).Sub(yy, big.NewInt(1))
	xx.Mul(xx, new(big.Int).ModInverse(den, p)).Mod(xx, p) // -1/d is no square, so den is not 0
	x := new(big.Int).ModSqrt(xx, p)
	if x == nil {
		return field.Refuse(field.Keys, "public key", "is no point of the curve")
	}
	// Doubling three times reaches the neutral element (0, 1) exactly for the eight
	// points of small order. The sign of x does not matter for that.
	for range 3 {
		x, y = double(x, y, p, d)
	}
	if x.Sign() == 0 && y.Cmp(big.NewInt(1)) == 0 {
		return field.Refuse(field.Keys, "public key", "is of small order")
	}
	return nil
}

// curve returns the prime and the constant of the curve: 2^255 - 19 and
// -121665/121666.
func curve() (p, d *big.Int) {
	p = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	d = new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	return p, d
}

// double returns twice the point, by the addition law of -x² + y² = 1 + d x² y².
func double(x, y, p, d *big.Int) (x2, y2 *big.Int) {
	xy := new(big.Int).Mul(x, y)
	xx, yy := new(big.Int).Mul(x, x), new(big.Int).Mul(y, y)
	k := new(big.Int).Mul(d, new(big.Int).Mul(xx, yy))
	k.Mod(k, p)
	div := func(num, den *big.Int) *big.Int {
		num.Mul(num, new(big.Int).ModInverse(den.Mod(den, p), p)) // never 0 on this curve
		return num.Mod(num, p)
	}
	one := big.NewInt(1)
	x2 = div(new(big.Int).Lsh(xy, 1), new(big.Int).Add(one, k))
	y2 = div(new(big.Int).Add(yy, xx), new(big.Int).Sub(one, k))
	return x2, y2
}
