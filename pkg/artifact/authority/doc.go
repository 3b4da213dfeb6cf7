// Package authority owns who may sign: the pinned public keys of the three owners
// and of the executor, the rule that no key and no name stands for two of them, and
// the verification of a file against them.
//
// The executor pins the owners by an authorities file, an off-host signer pins
// executors and owners by a pins file; both import it. It imports artifact, canon
// and the codec alone. It must never accept a signature because its key is known:
// the key must be known for the owner that the file's role needs.
//
// The attacks it stops: two approvals by one key; a confirmation key that
// authorizes; a public key under which one signature fits many messages; and a file
// of one executor, store or appliance shown to an owner as that of another.
package authority
