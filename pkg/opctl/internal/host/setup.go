package host

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/install"
	"pfsensemcp/pkg/opctl/internal/cli"
)

// flags of setup beside the options.
type acts struct {
	dryRun, yes, noStart bool
}

// setup is `mcpctl setup`.
func setup(ctx context.Context, e cli.Env, fs *flag.FlagSet, args []string) error {
	o, a := &install.Options{}, &acts{}
	setupFlags(fs, o, a)
	toolsets := fs.String("toolsets", "", "comma `LIST` of toolsets; left out: all")
	if _, err := cli.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	o.Toolsets = catalog.SplitList(*toolsets)
	if !a.dryRun {
		if err := needRoot(); err != nil {
			return err
		}
	}
	h := machine(e)
	if err := h.Fill(o); err != nil {
		return err
	}
	if err := ask(ctx, e, h, o); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	return carryOut(ctx, e, h, o, a)
}

func setupFlags(fs *flag.FlagSet, o *install.Options, a *acts) {
	fs.StringVar(&o.URL, "url", "", "the appliance: `https://HOST`[:PORT]")
	fs.StringVar(&o.Identity, "identity", "", "`NAME` of the appliance's user for reading")
	fs.StringVar(&o.KeyFile, "key-file", "", "`FILE` with its API key; yours, mode 600")
	fs.StringVar(&o.TLS, "tls", "", "`HOW` to believe it: strict, auto or pin; or the best")
	fs.StringVar(&o.CAFile, "ca-file", "", "`FILE` with the CA of its certificate, PEM")
	fs.StringVar(&o.Pin, "pin", "", "`SHA256` of its public key, compared on its console")
	fs.Var(names{&o.Operators}, "operator", "`USER` who may operate, beside root; again for more")
	fs.StringVar(&o.Profile, "profile", "", "`P` of mcpd: auditor, or write_protected for changes")
	fs.BoolVar(&o.Write, "write", false, "set executord up as well")
	fs.StringVar(&o.WriteKeyFile, "write-key-file", "", "`FILE` with the write user's API key")
	fs.StringVar(&o.StoreID, "store-id", "", "`NAME` of the contract store; lab-NAME in a lab")
	fs.StringVar(&o.Account, "account", "", "`NAME` of the appliance's user for writing")
	fs.BoolVar(&o.Lab, "lab", false, "a software TPM may stand for the hardware one")
	fs.StringVar(&o.TPM, "tpm", "", "`WHERE`: device:PATH, or the URL of a witness host")
	fs.StringVar(&o.Witness, "witness", "", "`DIR` with its ca.pem, and cert.pem and key.pem for it")
	fs.BoolVar(&o.Plain, "plain", false, "leave executord's keys unencrypted on the disk")
	fs.BoolVar(&o.DocsResolver, "docs-resolver", false, "let docfetchd ask a name server on a private address")
	fs.BoolVar(&a.noStart, "no-start", false, "enable and start nothing")
	fs.BoolVar(&a.dryRun, "dry-run", false, "show every file, write none")
	fs.BoolVar(&a.yes, "yes", false, "do not ask; an unknown certificate needs --pin too")
}

// ask fills in at a terminal what neither a flag nor the last run said.
func ask(ctx context.Context, e cli.Env, h *install.Host, o *install.Options) error {
	if !e.AtTerminal() {
		return nil // Check names the flag that is missing
	}
	read, write := h.HasKeys()
	for _, q := range []struct {
		to       *string
		question string
		needed   bool
	}{
		{&o.URL, "The appliance's URL (https://HOST[:PORT])", true},
		{&o.Identity, "Name of the appliance's user for reading", true},
		{&o.KeyFile, "File with its API key (alone in a line; yours, mode 600)", !read},
		{&o.Account, "Name of the appliance's user for writing", o.Write},
		{&o.WriteKeyFile, "File with its API key", o.Write && !write},
		{&o.StoreID, "Name for the contract store", o.Write},
	} {
		if *q.to != "" || !q.needed {
			continue
		}
		line, err := e.Line(ctx, q.question, "")
		if err != nil {
			return err
		}
		*q.to = line
	}
	return askCounter(ctx, e, h, o)
}

// askCounter asks a person who sets writing up for the first time where the counter is.
func askCounter(ctx context.Context, e cli.Env, h *install.Host, o *install.Options) (err error) {
	if o.Write && o.TPM == "" && !h.Writes() {
		if o.TPM, err = e.Line(ctx, "Where the TPM is, or the URL of a witness host (https://HOST[:PORT])", "device:/dev/tpmrm0"); err != nil {
			return err
		}
	}
	if o.Write && o.Remote() && o.Witness == "" && !h.HasWitness() {
		o.Witness, err = e.Line(ctx, "Directory with its authority's certificate (ca.pem), and the one for it (cert.pem, key.pem)", "")
	}
	return err
}

// carryOut looks at the appliance, shows the plan, and does it.
func carryOut(ctx context.Context, e cli.Env, h *install.Host, o *install.Options, a *acts) error {
	seen, err := h.Look(ctx, *o)
	if err != nil {
		return err
	}
	showCertificate(e, seen)
	compared := false
	if o.NeedsComparing(seen) && e.AtTerminal() && !a.yes {
		if err := e.Insist(ctx, "No authority that this host knows vouches for it. Compare the fingerprint or the pin on the appliance's own console, not over the network: is it the same?"); err != nil {
			return err
		}
		compared = true
	}
	p, err := h.Plan(ctx, *o, seen, compared)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "The appliance will be believed "+p.Trust()+".")
	showSteps(e, p, a.dryRun)
	for _, n := range p.Notes {
		fmt.Fprintln(e.Out, "note: "+n)
	}
	if a.dryRun {
		fmt.Fprintln(e.Out, "Nothing was written.")
		return nil
	}
	if p.Changes() {
		if err := e.Consent(ctx, "Write these files?", a.yes); err != nil {
			return err
		}
	}
	if err := h.Apply(ctx, p); err != nil {
		return err
	}
	showGrants(e, p)
	if a.noStart {
		fmt.Fprintln(e.Out, "Nothing was started. Then: systemctl daemon-reload && systemctl enable --now pfsense-mcp.target")
		return nil
	}
	if err := h.Start(ctx, p); err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "The daemons run. What mcpctl doctor finds:")
	parts := doctorParts{suite: true, write: true, dir: hostDir, probes: p.Changes()}
	return parts.run(ctx, e)
}

// showCertificate shows what one handshake showed, for a person to compare.
func showCertificate(e cli.Env, s *install.Seen) {
	fmt.Fprintf(e.Out, "%s shows a certificate:\n", s.URL())
	for _, l := range [][2]string{
		{"subject", s.Subject},
		{"issuer", s.Issuer},
		{"names", strings.Join(s.Names, ", ")},
		{"valid", s.NotBefore.UTC().Format("2006-01-02") + " to " + s.NotAfter.UTC().Format("2006-01-02")},
		{"SHA-256", s.SHA256},
		{"pin", s.Pin + " (SHA-256 of its public key)"},
	} {
		fmt.Fprintf(e.Out, "  %-8s %s\n", l[0], l[1])
	}
}

// words say what becomes of a file.
var words = map[install.Action]string{
	install.Write: "new", install.Replace: "changed", install.Same: "as it is", install.Mend: "owner and mode set",
	install.Left: "LEFT: a person changed it", install.Kept: "kept: a key is in place",
}

// showSteps shows what becomes of every file; whole shows their content too, but for
// keys.
func showSteps(e cli.Env, p *install.Plan, whole bool) {
	for _, s := range p.Steps {
		fmt.Fprintf(e.Out, "  %-58s %04o  %s\n", s.Path, s.Mode, words[s.Action])
		if !whole {
			continue
		}
		if s.Secret {
			fmt.Fprintln(e.Out, "    | (a key, not shown)")
			continue
		}
		for line := range strings.Lines(string(s.Data)) {
			fmt.Fprint(e.Out, "    | "+line)
		}
	}
}

// showGrants shows what is left to do on the appliance and elsewhere.
func showGrants(e cli.Env, p *install.Plan) {
	profile := p.Profile
	if profile == "" {
		profile = catalog.ProfileAuditor
	}
	fmt.Fprintf(e.Out, "\nOn the appliance, the user %s needs exactly these privileges:\n", p.Identity)
	if tools, err := catalog.Select(profile, nil, p.Toolsets); err == nil {
		for _, name := range catalog.NeededBy(tools) {
			fmt.Fprintln(e.Out, "  "+name)
		}
	}
	for _, u := range p.Operators {
		fmt.Fprintf(e.Out, "Let %s reach the operators' sockets: usermod -aG pfsense-mcp-admin %s\n", u, u)
	}
	fmt.Fprintln(e.Out, "Let people run MCP clients: usermod -aG pfsense-mcp USER")
	if !p.Write {
		return
	}
	fmt.Fprintf(e.Out, `
The two identities, by hand on the appliance (System, User Manager):
  1. two users of their own, %[1]s for reading and %[2]s for writing, in no group but "all";
     no shell, no web interface, no administrator
  2. %[1]s gets the list above, %[2]s exactly these seven:
`, p.Identity, p.Account)
	for _, name := range catalog.ExecutorPrivileges() {
		fmt.Fprintln(e.Out, "       "+name)
	}
	fmt.Fprintf(e.Out, `  3. make each user's key as that user: POST /api/v2/auth/key with its password; Basic
     authentication, and the privilege api-v2-auth-key-post, are on for that moment alone
  4. System, REST API, Settings: key authentication on, read-only off, HATEOAS off

Then, for the ceremony:
  5. each owner, on a machine of their own, never on this one: mcpsign keygen
  6. put the public keys into /etc/pfsense-mcp/authorities.json (root, 644)
`)
	if !p.Remote() {
		fmt.Fprintln(e.Out, "  7. systemctl restart pfsense-executord; mcpctl anchor plan, provision and seed")
	} else {
		fmt.Fprintf(e.Out, `  7. on the witness host (man executord-witness): executord witness provision; in
     executord-witness.toml this host's certificate, and its address in the drop-in:
       advance = ["%s"]
     then here: systemctl restart pfsense-executord; mcpctl anchor status and seed
`, p.Fingerprint)
	}
	fmt.Fprint(e.Out, `  8. mcpctl keys pins -o pins.json, compared by two people; a copy for each owner
  9. mcpctl doctor write
`)
	if profile != catalog.ProfileWriteProtected {
		fmt.Fprintf(e.Out, "  10. last, so that clients are offered the tool: mcpctl setup --write --profile %s\n", catalog.ProfileWriteProtected)
	}
}
