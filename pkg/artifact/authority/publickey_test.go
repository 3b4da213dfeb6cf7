package authority

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"math/big"
	"testing"

	"pfsensemcp/pkg/artifact/internal/field"
)

func TestUnusablePublicKeysAreRefused(t *testing.T) {
	le := func(n *big.Int, sign byte) []byte {
		b := make([]byte, 32)
		n.FillBytes(b)
		for i, j := 0, 31; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		b[31] |= sign
		return b
	}
	p, _ := curve()
	add := func(d int64) *big.Int { return new(big.Int).Add(p, big.NewInt(d)) }
	order8, _ := hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
	other8, _ := hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
	for name, k := range map[string][]byte{
		"nothing": nil, "31 bytes": make([]byte, 31), "33 bytes": make([]byte, 33),
		"neutral": le(big.NewInt(1), 0), "neutral, signed": le(big.NewInt(1), 0x80), "order 2": le(add(-1), 0), "order 4": le(big.NewInt(0), 0), "order 4, signed": le(big.NewInt(0), 0x80),
		"order 8": order8, "order 8, other": other8, "order 8, signed": append(bytes.Clone(order8[:31]), order8[31]|0x80),
		"y = p": le(p, 0), "y = p+1": le(add(1), 0), "y = p+2": le(add(2), 0x80), "all ones": bytes.Repeat([]byte{0xff}, 32),
		"off the curve": le(big.NewInt(2), 0),
	} {
		if field.ClassOf(CheckPublicKey(k)) != field.Keys {
			t.Errorf("%s is accepted", name)
		}
	}
	for b := range 64 {
		if err := CheckPublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(b)}, 32)).Public().(ed25519.PublicKey)); err != nil {
			t.Errorf("seed %d: %v", b, err)
		}
	}
}
