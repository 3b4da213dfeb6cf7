package cli

import "pfsensemcp/pkg/errs"

// ClassIntegrity is the class of an error that means: things differ that must agree.
const ClassIntegrity = "integrity"

// StrictCode returns the exit code of an error in the commands of the write path
// (write-path 9.5): 2 for a command line, file or target that breaks a rule and for
// what does not agree, 1 for what was denied, is not ready or cannot be reached.
func StrictCode(err error) int {
	e := errs.Public(err)
	switch e.Class {
	case ClassIntegrity, "store_integrity", "anchor_mismatch", "anchor_conflict", "anchor_name":
		return ExitUsage
	}
	if e.Code == errs.Invalid {
		return ExitUsage
	}
	return ExitFail
}
