// Package contract holds what mcpd serves to test/testdata/mcp/contract.json:
// names, schemas, hints, prompts and resources, byte for byte. A client's
// settings, a reviewer's notes and a model's habits depend on them, so that no
// change of a table reaches them unseen. What the profile write_protected serves
// otherwise is held to contract-write.json. `make contract` writes both anew.
package contract
