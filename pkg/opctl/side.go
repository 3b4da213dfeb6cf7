package opctl

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/textsafe"
	adminpb "pfsensemcp/proto/admin/v1"
	docspb "pfsensemcp/proto/docs/v1"
)

// The sides of a comparison; a file is file:PATH.
const (
	sideUpstream  = "upstream"  // the published document, from docfetchd
	sideAppliance = "appliance" // the appliance's own, from mcpd
	sideNone      = "none"      // there is no such document
	sideFile      = "file:"
)

// Bounds of a side: how long a daemon may take, which may have to fetch first, and
// how large a saved document may be.
const (
	contractWithin = 75 * time.Second
	maxDocument    = 32 << 20
)

// loaded is one side: a contract and where it came from.
type loaded struct {
	Side         string `json:"side"`
	Version      string `json:"version"`
	DocumentHash string `json:"document_hash"`
	Freshness    string `json:"freshness"`  // fresh, stale_but_usable, or file
	FetchedAt    string `json:"fetched_at"` // RFC 3339; "" for a file

	contract *contract.Contract
}

// the returns the contract, nil without a side.
func (l *loaded) the() *contract.Contract {
	if l == nil {
		return nil
	}
	return l.contract
}

// isSide says whether a text names a side.
func isSide(s string) bool {
	return s == sideUpstream || s == sideAppliance || strings.HasPrefix(s, sideFile) && len(s) > len(sideFile)
}

// load gets one side.
func load(ctx context.Context, dir, side string) (*loaded, error) {
	if path, ok := strings.CutPrefix(side, sideFile); ok {
		return loadFile(path)
	}
	ctx, cancel := context.WithTimeout(ctx, contractWithin)
	defer cancel()
	b, src, err := fetchContract(ctx, dir, side)
	if err != nil {
		return nil, err
	}
	c, err := contract.Decode(b)
	if err != nil {
		return nil, err
	}
	out := describe(side, c)
	out.Freshness = textsafe.Clean(src.GetFreshness(), cli.MaxText)
	if at := src.GetFetchedAt(); at > 0 {
		out.FetchedAt = time.Unix(at, 0).UTC().Format(time.RFC3339)
	}
	return out, nil
}

func describe(side string, c *contract.Contract) *loaded {
	return &loaded{
		Side: textsafe.Clean(side, cli.MaxText), Version: textsafe.Clean(c.Version, cli.MaxText),
		DocumentHash: textsafe.Clean(c.DocumentHash, cli.MaxText), contract: c,
	}
}

// fetchContract asks the daemon that has the document.
func fetchContract(ctx context.Context, dir, side string) ([]byte, *docspb.Source, error) {
	if side == sideAppliance {
		conn, err := suite.Dial(dir, suite.McpdSocket, "mcpd")
		if err != nil {
			return nil, nil, err
		}
		defer conn.Close()
		stream, err := adminpb.NewMcpdClient(conn).ApplianceContract(ctx, &adminpb.ApplianceContractRequest{})
		if err != nil {
			return nil, nil, err
		}
		return contract.Receive(stream.Recv)
	}
	conn, err := suite.Dial(dir, suite.DocsSocket, "docfetchd")
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	stream, err := docspb.NewDocsAdminClient(conn).Contract(ctx, &docspb.ContractRequest{})
	if err != nil {
		return nil, nil, err
	}
	return contract.Receive(stream.Recv)
}

// loadFile reads a saved document, or a contract that --dump wrote.
func loadFile(path string) (*loaded, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var c *contract.Contract
	if contract.Is(b) {
		c, err = contract.Decode(b)
	} else {
		var ix *openapi.Index
		if ix, err = openapi.Parse(strings.NewReader(string(b))); err == nil {
			c = contract.Of(ix)
		}
	}
	if err != nil {
		e := errs.Public(err)
		return nil, errs.Wrap(err, errs.Invalid, "the file "+path+": "+e.Msg).WithNext("give a document of pfREST, or a file that --dump wrote")
	}
	out := describe(sideFile+path, c)
	out.Freshness = "file"
	return out, nil
}

// readFile reads a regular file of at most maxDocument bytes; a symlink is not
// followed, and a FIFO in the file's place cannot hang the command.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		why := "cannot be opened"
		switch {
		case errors.Is(err, fs.ErrNotExist):
			why = "does not exist"
		case errors.Is(err, syscall.ELOOP):
			why = "is a symlink, which is not followed"
		}
		return nil, errs.Wrap(err, errs.Invalid, "the file "+path+" "+why)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil || !fi.Mode().IsRegular():
		return nil, errs.New(errs.Invalid, "the file "+path+" is not a regular file")
	case fi.Size() > maxDocument:
		return nil, errs.New(errs.Invalid, "the file "+path+" is larger than 32 MiB")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil || len(b) > maxDocument {
		return nil, errs.Wrap(err, errs.Invalid, "the file "+path+" cannot be read, or grew beyond 32 MiB")
	}
	return b, nil
}

// dump writes a contract to a new file for the caller alone.
func dump(l *loaded, path string) error {
	b, err := l.contract.Encode()
	if err != nil {
		return err
	}
	f, err := carry.New(path)
	if err != nil {
		return err
	}
	defer f.Drop() // half a contract must not lie about as one
	if _, err := f.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.Keep()
}
