// Package walls looks at a real executord with a whole write path from outside: what
// leaves the process, who can reach what it owns, and whether a second one can disturb
// it. Nothing imports it.
package walls
