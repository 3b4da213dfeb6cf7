// Program fakedocs runs the pretend documentation site of test/fakedocs by itself:
// for the demo and for a look by hand. It listens on loopback only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"pfsensemcp/test/fakedocs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("fakedocs", flag.ContinueOnError)
	fs.SetOutput(stderr)
	listen := fs.String("listen", "127.0.0.1:0", "loopback address and port")
	certDir := fs.String("cert-dir", "", "directory (made if missing, 0700) to write docs-ca.pem to; needed")
	document := fs.String("document", "", "file to serve as the OpenAPI document instead of the pretend appliance's own, described")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fs.NArg() > 0 || *certDir == "" {
		fmt.Fprintln(stderr, "fakedocs: --cert-dir is needed, arguments are not; see --help")
		return 2
	}
	if err := serve(ctx, *listen, *certDir, *document, stdout); err != nil {
		fmt.Fprintln(stderr, "fakedocs:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, listen, certDir, document string, stdout io.Writer) error {
	doc, err := fakedocs.Office()
	if document != "" {
		doc, err = os.ReadFile(document)
	}
	if err != nil {
		return err
	}
	s, err := fakedocs.New(fakedocs.Options{Listen: listen, Document: doc})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := os.MkdirAll(certDir, 0o700); err != nil {
		return err
	}
	ca := filepath.Join(certDir, "docs-ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "ready addr=%s ca=%s\n", s.Addr(), ca)
	<-ctx.Done()
	return nil
}
