// Package writetool plays a change from end to end as a model sees it: an MCP
// client, the shim, mcpd, executord with an emulated TPM, a pretend appliance, and
// the two owners who sign. What executord does at each stage is its own tests'
// matter; what the model is told at each stage is this one's.
package writetool
