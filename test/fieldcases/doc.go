// Package fieldcases holds one test for each case of the field, numbered as in the
// collection of cases and named after what it shows. A case of READ runs against the
// real pipeline: tools of the table over readtool, the appliance client and the pretend
// appliance, which answers as pfREST does; what concerns the process runs through the
// suite. A case of WRITE, of its counter or its store runs against a real executord with
// owners who sign, an emulated TPM and the pretend appliance; that of a full disk (106)
// is in test/badinput.
//
// Where a case asks for something that a design page decided otherwise, the page
// wins and the test says which.
//
// Nothing imports this package.
package fieldcases
