// Package alias owns executord's reads of the appliance: which appliance it is,
// every alias as it stands now, and what must hold before a change is sent.
//
// executord's own packages (gate, ceremony) may import it; of ours it imports
// canon, artifact/change, errs and pfrest, of which it uses Get and Schema alone.
// It must never change anything, never answer from memory, never leave out a row
// that it cannot read, and never put text of the appliance into an error: whoever
// compares two lists must know that each is whole and that none is older than the
// call that made it.
//
// Each list is one GET on a connection of its own (pfrest.Config.Authoritative),
// opened after List was called, behind the identity of the appliance that
// answered. Two reads that must differ in time are two calls.
//
// The attacks it stops: a list from before the change taken for proof that nothing
// happened; a row dropped, duplicated or paged away, so that a change of another
// alias is not seen; another appliance answering on the same address; text that
// looks like the alias's name and is another; and a package version, a setting or
// another administrator's open change under which the one request that executord
// can send would do something else.
package alias
