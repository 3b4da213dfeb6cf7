package change

import (
	"slices"
	"strings"

	"pfsensemcp/pkg/artifact/internal/field"
	"pfsensemcp/pkg/canon"
)

// AliasState is all of an alias that a change could touch. The lists keep the
// appliance's order. Its position on the appliance is not part of it.
type AliasState struct {
	Name, Type, Descr string
	Address, Detail   []string
}

// Fields lists the members. Detail may be shorter than Address: the appliance
// keeps what is there; longer would be lost.
func (s *AliasState) Fields(c *field.Codec) {
	c.Text("name", &s.Name, aliasName)
	c.Enum("type", &s.Type, "host", "network", "port")
	c.Text("descr", &s.Descr, field.Any)
	c.Strings("address", &s.Address, maxEntries)
	c.Strings("detail", &s.Detail, maxEntries)
	c.Check(len(s.Detail) <= len(s.Address), "detail", "must not be longer than address")
}

// equal compares two states byte for byte.
func (s *AliasState) equal(o *AliasState) bool {
	return s.Name == o.Name && s.Type == o.Type && s.Descr == o.Descr &&
		slices.Equal(s.Address, o.Address) && slices.Equal(s.Detail, o.Detail)
}

// Object returns the state as a canonical value, or the Fault that makes it no
// state of an alias that may be changed.
func (s *AliasState) Object() (canon.Object, error) {
	return field.Encode(s.Fields)
}

// Fingerprint returns the digest by which two states are compared.
func (s *AliasState) Fingerprint() (string, error) { return s.digest(canon.TargetFingerprint) }

// Snapshot returns the digest of the state as what an undo restores.
func (s *AliasState) Snapshot() (string, error) { return s.digest(canon.Snapshot) }

func (s *AliasState) digest(p canon.Purpose) (string, error) {
	o, err := s.Object()
	if err != nil {
		return "", err
	}
	return field.Digest(p, o)
}

// Appliance is what binds an approval to one appliance.
type Appliance struct {
	BaseURL      string // https origin in its one normal form
	TLSMode      string // strict or auto
	CADigest     string // digest of what pins the connection; "" when nothing does
	IdentityKind string // netgate_id, or pfhostid where that is absent
	Identity     string
}

// Digest returns the appliance_target_digest.
func (a Appliance) Digest() (string, error) {
	o, err := field.Encode(func(c *field.Codec) {
		c.Text("configured_base_url", &a.BaseURL, origin)
		c.Enum("tls_mode", &a.TLSMode, "strict", "auto")
		c.OptHex64("ca_certificate_digest", &a.CADigest)
		c.Check(a.TLSMode == "strict" || a.CADigest != "", "ca_certificate_digest", "must be there when tls_mode is auto")
		c.Enum("installation_identity_kind", &a.IdentityKind, "netgate_id", "pfhostid")
		c.Text("installation_identity", &a.Identity, func(s string) string {
			if s == "" || len(s) > 256 {
				return "must be 1 to 256 bytes"
			}
			return ""
		})
	})
	if err != nil {
		return "", err
	}
	return field.Digest(canon.ApplianceTarget, o)
}

// origin is the rule of an https origin: nothing but scheme, host and port, lower
// case. It is compared as text, so there must be one way to write it.
func origin(s string) string {
	host, ok := strings.CutPrefix(s, "https://")
	for i := range len(host) {
		c := host[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(".-:[]", c) >= 0)
	}
	if !ok || host == "" || len(s) > 300 || strings.HasSuffix(host, ":443") || strings.HasSuffix(host, ".") {
		return "must be an https origin in lower case without path, user or default port"
	}
	return ""
}

// Neighbour is one other alias of the list that the target was read from.
// Fingerprint is its own, or RawFingerprint of a row that is no AliasState.
type Neighbour struct {
	Locator           int64
	Name, Fingerprint string
}

// RawFingerprint returns what stands for a row of the appliance that is no
// AliasState: the plain hash of its canonical form.
func RawFingerprint(row canon.Object) (string, error) {
	b, err := field.Bytes(row)
	if err != nil {
		return "", err
	}
	return canon.Hash(b), nil
}

// CollectionDigest returns the digest over all other aliases, which shows whether
// anything else moved. It sorts by locator; two with one locator are a Fault.
func CollectionDigest(others []Neighbour) (string, error) {
	sorted := slices.SortedFunc(slices.Values(others), func(a, b Neighbour) int { return int(a.Locator - b.Locator) })
	list := canon.Array{}
	for i, n := range sorted {
		if i > 0 && sorted[i-1].Locator == n.Locator || n.Locator < 0 || n.Locator > MaxLocator || !Hex64(n.Fingerprint) {
			return "", field.Refuse(field.Structure, "collection", "must have one fingerprint for each position")
		}
		list = append(list, canon.Array{n.Locator, n.Name, n.Fingerprint})
	}
	return field.Digest(canon.Collection, list)
}

// RequestKey returns the digest by which two requests for the same change are
// recognised.
func RequestKey(alias, description string) (string, error) {
	return field.Digest(canon.Request, canon.Object{"operation": Operation, "alias_name": alias, "description": description})
}
