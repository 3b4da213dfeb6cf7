package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/conf"
	"pfsensemcp/pkg/daemon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor"
	"pfsensemcp/pkg/sd"
)

const provisionHelp = `Usage: executord witness provision [--config PATH]
                                   [--define HANDLE | --first HANDLE]

Makes the counter of a witness host, one step a call, each confirmed at a
terminal. Without a step it shows how far it is, and the free handles.

  --config PATH    settings file, else /etc/pfsense-mcp/executord-witness.toml
  --define HANDLE  define the index at the configured handle
  --first HANDLE   issue the first increment; prints value and Name

Exit: 0 done, 1 not done, 2 usage.
Example: executord witness provision --define 0x01500000
`

// provision is `executord witness provision`.
func provision(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o := provisioning{config: "/etc/pfsense-mcp/executord-witness.toml"}
	if err := o.parse(args); err != nil {
		fmt.Fprint(stderr, provisionHelp)
		return daemon.ExitUsage
	}
	if o.help {
		fmt.Fprint(stdout, provisionHelp)
		return daemon.ExitOK
	}
	err := o.confirmable(stdin)
	if err == nil {
		err = o.run(stdin, stdout)
	}
	if err != nil {
		e := errs.Public(err)
		if faults, ok := errors.AsType[conf.Faults](err); ok {
			e = errs.New(errs.Invalid, faults.Error())
		}
		fmt.Fprintf(stderr, "executord witness provision: %s\n", e.Msg)
		if e.Next != "" {
			fmt.Fprintf(stderr, "executord witness provision: %s\n", e.Next)
		}
		return daemon.ExitStart
	}
	return daemon.ExitOK
}

type provisioning struct {
	config, step string
	handle       uint32
	help         bool
}

func (o *provisioning) parse(args []string) error {
	bad := errs.New(errs.Invalid, "usage")
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-h", "--help":
			o.help = true
			return nil
		case "--config", "--define", "--first":
			if i+1 == len(args) {
				return bad
			}
			name := args[i]
			i++
			if name == "--config" {
				o.config = args[i]
				continue
			}
			h, err := strconv.ParseUint(args[i], 0, 32)
			if err != nil || o.step != "" {
				return bad
			}
			o.step, o.handle = name, uint32(h)
		default:
			return bad
		}
	}
	return nil
}

// confirmable refuses a step that no person at a terminal can confirm.
func (o *provisioning) confirmable(stdin io.Reader) error {
	f, ok := stdin.(*os.File)
	if ok && o.step != "" {
		st, err := f.Stat()
		ok = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	if !ok {
		return errs.New(errs.Denied, "a step needs a terminal, where a person confirms it")
	}
	return nil
}

func (o *provisioning) run(stdin io.Reader, w io.Writer) error {
	s := &witnessSettings{}
	if err := conf.Load(s, conf.Options{Path: o.config}); err != nil {
		return err
	}
	credentials := sd.CredentialsDirectory()
	s.Credentials.NVAuth = atRest(s.Credentials.NVAuth, credentials)
	c, err := s.open(credentials, func([]byte) {})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	p, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	show(w, p)
	if o.step == "" {
		return nil
	}
	fmt.Fprintf(w, "\n%s changes the TPM for good. Type the handle to go on: ", o.step)
	line, _ := bufio.NewReader(stdin).ReadString('\n')
	if strings.TrimSpace(line) != p.Handle {
		return errs.New(errs.Denied, "not confirmed: nothing was changed")
	}
	if o.step == "--define" {
		if err := c.Define(ctx, o.handle); err != nil {
			return err
		}
		fmt.Fprintf(w, "defined; next: executord witness provision --first %s\n", p.Handle)
		return nil
	}
	v, err := c.First(ctx, o.handle)
	if err != nil {
		return err
	}
	f, err := c.Facts(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "value %d\nnv_index_name = %q\n", v, f.Name)
	return nil
}

// unitCredentials begins the path from which the unit loads a credential. Whoever
// provisions does it by hand, before the unit ever ran.
const unitCredentials = "/etc/pfsense-mcp/credentials/witness-"

// atRest is where the credential of a name lies for a process that got none.
func atRest(name, credentials string) string {
	if name == "" || filepath.IsAbs(name) || credentials != "" {
		return name
	}
	return unitCredentials + name
}

func show(w io.Writer, p executor.CounterPlan) {
	fmt.Fprintf(w, "handle        %s\nstep          %s\nTPM           %s, %s\nin use        %s\nfree          %s\n",
		p.Handle, orNone(p.Step), orNone(p.Manufacturer), p.Assurance, orNone(strings.Join(p.Taken, " ")), strings.Join(p.Free, " "))
	if p.Name != "" {
		fmt.Fprintf(w, "nv_index_name %s\n", p.Name)
	}
	for _, n := range []struct {
		holds bool
		what  string
	}{
		{p.Foreign, "an index of somebody else stands at the handle: choose a free one"},
		{p.Lockout, "the TPM is in lockout: it refuses every secret until that ends"},
		{p.OwnerSet, "the owner hierarchy has a secret: no index can be defined here"},
	} {
		if n.holds {
			fmt.Fprintln(w, "warning       "+n.what)
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
