// Package fieldcases holds one test for each case of the field that concerns
// READ, numbered as in the collection of cases and named after what it shows. A
// case runs against the real pipeline: tools of the table over readtool, the
// appliance client and the pretend appliance, which answers as pfREST does; what
// concerns the process runs through the suite.
//
// Where a case asks for something that a design page decided otherwise, the page
// wins and the test says which.
//
// Nothing imports this package.
package fieldcases
