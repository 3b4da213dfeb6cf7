package custody

import (
	"context"
	"errors"
	"fmt"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// rotated is `mcpctl keys rotate --json`.
type rotated struct {
	Epoch uint32 `json:"epoch"`
	KeyID string `json:"key_id"`
	Rows  uint64 `json:"rows"` // rewritten
	Next  string `json:"next"`
}

// rotate is `mcpctl keys rotate`.
func rotate(ctx context.Context, c *suite.Call, args []string) error {
	if err := c.None(args); err != nil {
		return err
	}
	if err := c.Insist(ctx, "Replace the store's root key by the one in credentials.next_root_key? Every row is written anew, and the old key opens the store no longer."); err != nil {
		return err
	}
	var r *executorpb.RotateKeysResponse
	err := c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) (err error) {
		r, err = x.RotateKeys(ctx, &executorpb.RotateKeysRequest{Confirm: true})
		return err
	})
	if err != nil {
		return suite.Told(err, "the log of executord, where key_rotated stands when it was done")
	}
	out := rotated{
		Epoch: r.GetEpoch(), KeyID: r.GetKeyId(), Rows: r.GetRows(),
		Next: "before executord starts again, make the new key's file the credential credentials.root_key: with the old one it refuses its store; then mcpctl store backup -o FILE",
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, out)
	}
	fmt.Fprintf(c.Out, "rotated to key %s, epoch %d\n", cli.Clean(out.KeyID), out.Epoch)
	cli.Row(c.Out, "rows", fmt.Sprint(out.Rows, " written anew"))
	cli.Next(c.Out, out.Next)
	return nil
}

// pinned is `mcpctl keys pins --json`.
type pinned struct {
	File      string `json:"file"`
	SHA256    string `json:"sha256"`
	Store     string `json:"store_id"`
	NVIndex   string `json:"nv_index_name"`
	Appliance string `json:"appliance_target_digest"`
	Build     string `json:"executor_build_id"` // "" when any build is pinned
	KeyID     string `json:"attestation_key_id"`
	KeySHA256 string `json:"attestation_key_sha256"`
	Next      string `json:"next"`
}

// pins is `mcpctl keys pins`.
func pins(ctx context.Context, c *suite.Call, args []string) error {
	path := c.OutFlag()
	out, err := output(c, args, path)
	if err != nil {
		return err
	}
	defer out.Drop()
	var x authority.Pin
	file, err := c.Attested(ctx, out, "a pins file of one executor", func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ArtifactResponse, error) {
		return x.GetPins(ctx, &executorpb.GetPinsRequest{})
	}, func(b []byte) error {
		p, err := authority.ParsePins(b)
		if err == nil && len(p.Executors) != 1 {
			err = errors.New("another number of executors")
		}
		if err == nil {
			x = p.Executors[0]
		}
		return err
	})
	if err != nil {
		return err
	}
	k := pinned{
		File: *path, SHA256: canon.Hash(file), Store: x.StoreID, NVIndex: x.NVIndexName, Appliance: x.ApplianceTarget, Build: x.BuildID,
		KeyID: x.Attestation.ID, KeySHA256: canon.Hash(x.Attestation.Public),
		Next: "compare this with the host in person, two of you; then it is pins.json of each signer, or its entry goes into that file; there: mcpsign pins",
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, k)
	}
	fmt.Fprintln(c.Out, "pins of one executor")
	cli.Row(c.Out, "store", k.Store, "counter index "+k.NVIndex)
	cli.Row(c.Out, "appliance", k.Appliance)
	if k.Build != "" {
		cli.Row(c.Out, "build", k.Build)
	}
	cli.Row(c.Out, "attests", k.KeyID+"  key SHA-256 "+k.KeySHA256)
	for _, role := range []struct {
		name string
		keys []authority.Key
	}{{"authorizes", x.Authorities.Authorization}, {"confirms", x.Authorities.Confirmation}, {"reconciles", x.Authorities.Reconciliation}} {
		var lines []string
		for _, key := range role.keys {
			lines = append(lines, key.ID+"  key SHA-256 "+canon.Hash(key.Public))
		}
		cli.Row(c.Out, role.name, lines...)
	}
	cli.Row(c.Out, "file", cli.Clean(k.File), "SHA-256 "+k.SHA256)
	cli.Next(c.Out, k.Next)
	return nil
}

// backup is `mcpctl store backup`.
func backup(ctx context.Context, c *suite.Call, args []string) error {
	path := c.OutFlag()
	if err := c.None(args); err != nil {
		return err
	}
	if *path == "" {
		return c.Misuse("-o FILE is missing")
	}
	if err := c.NeedTerminal(); err != nil {
		return err
	}
	out, err := carry.New(*path)
	if err != nil {
		return err
	}
	defer out.Drop()
	if err := c.Insist(ctx, "Copy the store to "+cli.Clean(*path)+"? It is as confidential as the store itself."); err != nil {
		return err
	}
	var got suite.Received
	err = c.Ask(ctx, suite.Stream, func(ctx context.Context, x executorpb.AdminClient) error {
		s, err := x.Backup(ctx, &executorpb.BackupRequest{})
		if err != nil {
			return err
		}
		got, err = suite.Receive(s.Recv, out)
		return err
	})
	if err != nil {
		return damaged(err)
	}
	if err := out.Keep(); err != nil {
		return err
	}
	k := kept{File: *path, Bytes: got.Bytes, SHA256: got.SHA256, Next: "keep it off this host, apart from the root key; a restored copy needs a signed rebaseline: mcpctl anchor status -o anchor.json"}
	return k.show(c, "a copy of the store")
}
