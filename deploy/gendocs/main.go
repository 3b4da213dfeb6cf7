// Command gendocs prints docs/tools.md, the reference of the READ tools, from
// the table alone: `make generate` runs it, and its test fails when the page in
// the tree is another one.
package main

import (
	"fmt"
	"os"

	"pfsensemcp/pkg/catalog"
)

func main() {
	if _, err := os.Stdout.Write(page(catalog.Tools())); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}
