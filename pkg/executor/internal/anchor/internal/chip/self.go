package chip

import (
	"encoding/binary"
	"strings"

	"github.com/google/go-tpm/tpm2"
)

// The bits of TPM_PT_PERMANENT that are looked at.
const (
	ownerAuthSet       = 1 << 0
	endorsementAuthSet = 1 << 1
	inLockout          = 1 << 9
)

// Self is what a TPM says of itself, and what that makes of it.
type Self struct {
	Manufacturer string // printable, at most 4 characters; "" when it cannot be read
	Assurance    string // Software, HardwareWitness or Unknown
	EKDigest     string // 64 hex digits, "" when it shows none
	OwnerSet     bool   // the owner hierarchy has a secret
	Lockout      bool   // every secret is refused for now
}

// Self asks the TPM.
func (c *Conn) Self(m Machine) (Self, error) {
	s := Self{Assurance: Unknown}
	bits, err := c.permanent()
	if err != nil {
		return s, err
	}
	s.OwnerSet, s.Lockout = bits&ownerAuthSet != 0, bits&inLockout != 0
	props, err := c.properties(tpm2.TPMPTManufacturer, 6)
	if err != nil {
		return s, err
	}
	var vendor strings.Builder
	for _, p := range []tpm2.TPMPT{tpm2.TPMPTVendorString1, tpm2.TPMPTVendorString2, tpm2.TPMPTVendorString3, tpm2.TPMPTVendorString4} {
		vendor.WriteString(fourChars(props[p]))
	}
	if s.Manufacturer = strings.TrimSpace(fourChars(props[tpm2.TPMPTManufacturer])); s.Manufacturer != "" {
		s.Assurance = assurance(!c.port.Socket(), m, s.Manufacturer, vendor.String())
	}
	if bits&endorsementAuthSet == 0 {
		s.EKDigest, err = c.endorsementKey()
	}
	return s, err
}

// OwnerSet says whether the owner hierarchy has a secret.
func (c *Conn) OwnerSet() (bool, error) {
	bits, err := c.permanent()
	return bits&ownerAuthSet != 0, err
}

func (c *Conn) permanent() (uint32, error) {
	p, err := c.properties(tpm2.TPMPTPermanent, 1)
	return p[tpm2.TPMPTPermanent], err
}

// properties reads at most n properties from first on.
func (c *Conn) properties(first tpm2.TPMPT, n uint32) (map[tpm2.TPMPT]uint32, error) {
	r, err := (tpm2.GetCapability{Capability: tpm2.TPMCapTPMProperties, Property: uint32(first), PropertyCount: n}).Execute(c.link)
	if err != nil {
		return nil, err
	}
	list, err := r.CapabilityData.Data.TPMProperties()
	if err != nil {
		return nil, err
	}
	out := make(map[tpm2.TPMPT]uint32, n)
	for _, p := range list.TPMProperty {
		out[p.Property] = p.Value
	}
	return out, nil
}

// fourChars is a property that is text: up to four characters, padded.
func fourChars(v uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], v)
	return strings.TrimRight(string(b[:]), "\x00")
}
