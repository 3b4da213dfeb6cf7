// Guidanceaudit is the maintainers' tool for the guidance registry.
//
//	go run ./test/guidanceaudit -pages DIR   check against saved pages; DIR mirrors /pfsense/en/latest/
//	go run ./test/guidanceaudit -fetch       check against the pages themselves; a person with a network runs this
//	go run ./test/guidanceaudit -pin         print the digests that the texts of the data should have
//	go run ./test/guidanceaudit -anchor TEXT print the anchor of a phrase
//
// It exits 0 when every page is fine, 1 when one is not, 2 for usage. No daemon
// runs it, and no test gives it a network.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"pfsensemcp/pkg/guidance"
	"pfsensemcp/test/guidanceaudit/audit"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, audit.Fetched(&http.Transport{Proxy: http.ProxyFromEnvironment})))
}

func run(args []string, out, problems io.Writer, site audit.Source) int {
	flags := flag.NewFlagSet("guidanceaudit", flag.ContinueOnError)
	flags.SetOutput(problems)
	pages := flags.String("pages", "", "check against the pages saved below this `directory`")
	fetch := flags.Bool("fetch", false, "check against the pages themselves")
	pin := flags.Bool("pin", false, "print the digests the texts should have")
	data := flags.String("data", filepath.Join("pkg", "guidance", "registry"), "the registry's `directory`, for -pin")
	anchor := flags.String("anchor", "", "print the anchor of this `phrase`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen := 0
	for _, on := range []bool{*pages != "", *fetch, *pin, *anchor != ""} {
		if on {
			chosen++
		}
	}
	if chosen != 1 || flags.NArg() > 0 {
		fmt.Fprintln(problems, "guidanceaudit: give one of -pages DIR, -fetch, -pin, -anchor TEXT")
		return 2
	}
	switch {
	case *anchor != "":
		words, hash := guidance.Anchor(*anchor)
		fmt.Fprintf(out, "source_verification_words = %d\nsource_verification_hash = %q\n", words, hash)
		return 0
	case *pin:
		return repin(os.DirFS(*data), out, problems)
	case *pages != "":
		site = audit.Saved(os.DirFS(*pages))
	}
	registry, err := guidance.Bundled()
	if err != nil {
		fmt.Fprintln(problems, "guidanceaudit:", err)
		return 1
	}
	return report(audit.Run(context.Background(), audit.References(registry), site), out)
}

// report prints what is not fine, and the sum.
func report(findings []audit.Finding, out io.Writer) int {
	bad := 0
	for _, f := range findings {
		if f.Verdict != audit.Fine {
			bad++
			fmt.Fprintf(out, "%-8s %s: %s\n         %s\n", f.Verdict, f.ID, f.Detail, f.URL)
		}
	}
	fmt.Fprintf(out, "%d references, %d to look at\n", len(findings), bad)
	if bad > 0 {
		return 1
	}
	return 0
}
