// Program fakepf runs the pretend appliance of test/fakepf by itself: for the
// demo and for a look by hand. It listens on loopback only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"pfsensemcp/test/fakepf"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("fakepf", flag.ContinueOnError)
	fs.SetOutput(stderr)
	listen := fs.String("listen", "127.0.0.1:0", "loopback address and port of the API")
	certDir := fs.String("cert-dir", "", "directory (made if missing, 0700) to write ca.pem to; needed")
	keyFile := fs.String("key-file", "", "file to write the read-only API key to, 0600")
	writeKeyFile := fs.String("write-key-file", "", "file to write the API key of the change executor to, 0600")
	rows := fs.Int("rows", 0, "this many firewall states, and as many aliases and rules beyond the office's own")
	openapi := fs.String("openapi", "", "file to serve as the schema document instead of the generated one")
	control := fs.String("control", "", "path of a Unix socket to steer faults and rows through")
	applyTime := fs.Duration("apply-time", 0, "how long an apply takes; 1.4s when 0")
	lockWait := fs.Duration("lock-wait", 0, "how long a write waits for a held lock; 61s when 0")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fs.NArg() > 0 || *certDir == "" {
		fmt.Fprintln(stderr, "fakepf: --cert-dir is needed, arguments are not; see --help")
		return 2
	}
	o := fakepf.Options{Listen: *listen, States: *rows, Aliases: *rows, Rules: *rows, ApplyTime: *applyTime, LockWait: *lockWait}
	if *openapi != "" {
		b, err := os.ReadFile(*openapi)
		if err != nil {
			fmt.Fprintln(stderr, "fakepf:", err)
			return 1
		}
		o.OpenAPI = b
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, o, paths{*certDir, *keyFile, *writeKeyFile, *control}, stdout); err != nil {
		fmt.Fprintln(stderr, "fakepf:", err)
		return 1
	}
	return 0
}

type paths struct{ certDir, key, writeKey, control string }

func serve(ctx context.Context, o fakepf.Options, p paths, stdout io.Writer) error {
	s, err := fakepf.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := os.MkdirAll(p.certDir, 0o700); err != nil {
		return err
	}
	ca := filepath.Join(p.certDir, "ca.pem")
	if err := replace(ca, s.CAPEM(), 0o644); err != nil {
		return err
	}
	for file, key := range map[string]string{p.key: fakepf.ReadKey, p.writeKey: fakepf.WriteKey} {
		if file == "" {
			continue
		}
		if err := replace(file, []byte(key+"\n"), 0o600); err != nil {
			return err
		}
	}
	if p.control != "" {
		end, err := serveControl(p.control, s.Control())
		if err != nil {
			return err
		}
		defer end()
	}
	fmt.Fprintf(stdout, "ready url=%s ca=%s pin=%s\n", s.URL(), ca, s.Pin())
	<-ctx.Done()
	return nil
}

// serveControl listens on a socket only its owner can use.
func serveControl(path string, h http.Handler) (end func(), _ error) {
	old := syscall.Umask(0o177)
	ln, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go srv.Serve(ln) //nolint:errcheck // always http.ErrServerClosed after Close
	return func() { srv.Close() }, nil
}

// replace writes a file in one step, so that a reader sees the old or the new one.
func replace(file string, b []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".fakepf-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when the rename was done
	_, err = f.Write(b)
	if cerr := f.Chmod(mode); err == nil {
		err = cerr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
