package chip

import "github.com/google/go-tpm/tpm2"

// counterSize is the size of a counter's data in bytes.
const counterSize = 8

// public is the public area that an index of ours has. Every attribute that is
// not named is clear: no access by owner, platform or policy, no lock, no
// NO_DA (wrong secrets count towards the lockout), no ORDERLY (an increment is
// in the TPM's flash when it is answered), no deletion by policy alone.
func public(handle uint32, written bool) tpm2.TPMSNVPublic {
	return tpm2.TPMSNVPublic{
		NVIndex: tpm2.TPMHandle(handle), NameAlg: tpm2.TPMAlgSHA256, DataSize: counterSize,
		Attributes: tpm2.TPMANV{NT: tpm2.TPMNTCounter, AuthRead: true, AuthWrite: true, Written: written},
	}
}

// difference compares a public area with ours, one attribute after the other, and
// returns in words the first that differs, "" when none does. Whether it is
// written is a fact and no difference.
func difference(handle uint32, got tpm2.TPMSNVPublic) string {
	want, a := public(handle, got.Attributes.Written), got.Attributes
	for _, row := range []struct {
		differs bool
		what    string
	}{
		{got.NVIndex != want.NVIndex, "another handle"},
		{got.NameAlg != want.NameAlg, "another name algorithm than SHA-256"},
		{got.DataSize != want.DataSize, "another size than 8 bytes"},
		{len(got.AuthPolicy.Buffer) != 0, "a policy"},
		{a.NT != tpm2.TPMNTCounter, "not the type of a counter"},
		{!a.AuthRead, "no reading with its secret"},
		{!a.AuthWrite, "no incrementing with its secret"},
		{a.OwnerRead, "reading by the owner"},
		{a.OwnerWrite, "writing by the owner"},
		{a.PPRead, "reading by the platform"},
		{a.PPWrite, "writing by the platform"},
		{a.PolicyRead, "reading by policy"},
		{a.PolicyWrite, "writing by policy"},
		{a.PolicyDelete, "deletion by policy"},
		{a.NoDA, "no protection against guessing"},
		{a.Orderly, "a value that is kept in memory until shutdown"},
		{a.ClearSTClear, "a state that a restart clears"},
		{a.PlatformCreate, "the platform as its creator"},
		{a.WriteLocked || a.ReadLocked, "a lock in force"},
		{a.WriteAll, "whole writes alone"},
		{a.WriteDefine || a.WriteSTClear || a.ReadSTClear || a.GlobalLock, "a lock that can be set"},
	} {
		if row.differs {
			return row.what
		}
	}
	// Bits that have no name yet.
	if !tpmEqual(got, want) {
		return "an attribute that this version does not know"
	}
	return ""
}

// tpmEqual compares the encoded forms.
func tpmEqual(a, b tpm2.TPMSNVPublic) bool {
	return string(tpm2.Marshal(a)) == string(tpm2.Marshal(b))
}
