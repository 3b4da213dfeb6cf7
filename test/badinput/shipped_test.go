package badinput

import (
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"sync"

	"pfsensemcp/test/programs"
)

// keyText is the public half of a key as authorities.json holds it.
func keyText(k ed25519.PrivateKey) string {
	return hex.EncodeToString(k.Public().(ed25519.PublicKey))
}

// smallOrder is a point of order 8: whoever signs with it signs everything.
var smallOrder = hex.EncodeToString([]byte{
	0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
	0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
})

var shippedBuilt bool

// shipped builds the shipped programs once.
var shipped = sync.OnceValues(func() (string, error) {
	shippedBuilt = true
	dir, err := os.MkdirTemp("", "badinput-shipped")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	return dir, programs.Build(programs.Shipped, dir, "cmd/mcpd", "cmd/guidanced", "cmd/docfetchd", "cmd/executord", "cmd/mcpctl", "cmd/mcpsign")
})
