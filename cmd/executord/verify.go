package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/sd"
	"pfsensemcp/pkg/secretfile"
)

const verifyHelp = `Usage: executord verify --root-key FILE [--config PATH] [--pinned-head HEX]
                        [--export FILE]

Verifies the contract store of an executord that does not run, without writing
to it: every row, the audit chain and its head. Run it as the store's owner.

  --config PATH      settings file; default /etc/pfsense-mcp/executord.toml
  --root-key FILE    the store's root key, as systemd-creds decrypts it
  --pinned-head HEX  a head that was kept elsewhere must still be in the chain
  --export FILE      so must every row of an export that was kept elsewhere

Exit: 0 sound, 1 could not be looked at, 2 not what was written, or usage.
Example: executord verify --root-key /run/key --pinned-head 78b1aaba...4f19
`

// verify is `executord verify`.
func verify(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("executord verify", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	config := fs.String("config", "/etc/pfsense-mcp/executord.toml", "")
	key := fs.String("root-key", "", "")
	head := fs.String("pinned-head", "", "")
	export := fs.String("export", "", "")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, verifyHelp)
		return 0
	case err != nil || fs.NArg() > 0 || *key == "":
		fmt.Fprint(stderr, verifyHelp)
		return 2
	}
	sum, code, err := look(*config, *key, *head, *export)
	if sum != "" {
		fmt.Fprint(stdout, sum)
	}
	if err != nil {
		e := errs.Public(err)
		fmt.Fprintf(stderr, "executord verify: %s\n", e.Msg)
		if e.Next != "" {
			fmt.Fprintf(stderr, "executord verify: %s\n", e.Next)
		}
	}
	return code
}

func look(config, key, head, export string) (string, int, error) {
	s := &settings{}
	if err := conf.Load(s, conf.Options{Path: config}); err != nil {
		return "", 1, errs.Wrap(err, errs.Invalid, "the settings cannot be used").WithNext("see all faults: executord --check-config")
	}
	if !s.configured() {
		return "", 1, errs.New(errs.Invalid, "the settings name no store: write is off").WithNext("give the settings of the store: --config")
	}
	secret, err := secretfile.Read(key, secretfile.Options{Setting: "--root-key", Whole: true, CredentialsDir: sd.CredentialsDirectory()})
	if err != nil {
		return "", 1, err
	}
	defer secret.Zero()
	var rows []byte
	if export != "" {
		if rows, err = readAll(export, maxExport); err != nil {
			return "", 1, errs.Wrap(err, errs.Invalid, "the export cannot be read")
		}
	}
	return executor.Verify(executor.Config{StoreDir: s.StoreDir, StoreID: s.StoreID, Lab: s.Lab, Limits: s.Limits.bounds()}, secret, head, rows)
}

// maxExport bounds an export that is read whole, in bytes.
const maxExport = 256 << 20
