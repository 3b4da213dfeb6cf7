// Package readtool runs a catalog row: arguments, requests, decoding by model,
// disclosure gate, filter, page, byte budget, result.
//
// It owns what a READ tool answers. Only mcpserver and programs import it. It
// must never put a caller's text into a request, keep a row that is not part of
// the answer, or let a value that is not shown influence anything that is.
//
// The attack it stops: a model that is steered by text of outsiders and asks for
// what it may not see. The order is fixed and tested: decode, gate, scrub,
// escape, and only then filter, page, budget.
package readtool

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"sync"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/readtool/internal/args"
	"pfsensemcp/pkg/readtool/internal/row"
)

// Client is the part of *pfrest.Client that reading needs.
type Client interface {
	Get(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.Page) (pfrest.Answer, error)
	Walk(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.WalkOptions, func(row jsontext.Value, pos int) (more bool)) (pfrest.Walked, error)
}

// Bounds and defaults of the settings.
const (
	DefaultResultBytes = 32 << 10
	MinResultBytes     = 4 << 10
	MaxResultBytes     = 256 << 10
	DefaultScanRows    = 5000
	MinScanRows        = 250
	MaxScanRows        = 200_000
)

// Config is what a Reader needs.
type Config struct {
	Client      Client
	ResultBytes int // bound of one result's JSON, 0 for the default
	ScanRows    int // rows that one filtered call reads, 0 for the default
	// InterfaceNames returns how the appliance names interfaces: id, descr or if;
	// anything else is shown as unknown. Its owner caches it. Nil means unknown.
	InterfaceNames func(context.Context, pfrest.Caller) string
	Now            func() time.Time // nil means time.Now
}

// Reader runs tools. It is safe for concurrent use.
type Reader struct {
	cfg      Config
	shapes   sync.Map // *catalog.Model to *row.Shape
	packages packages
	version  fact // of the REST API package
	backend  fact // the DHCP server
}

// New returns a Reader. A setting out of its bounds is Invalid.
func New(cfg Config) (*Reader, error) {
	if cfg.Client == nil {
		return nil, errs.New(errs.Internal, "readtool needs a client")
	}
	if cfg.ResultBytes == 0 {
		cfg.ResultBytes = DefaultResultBytes
	}
	if cfg.ScanRows == 0 {
		cfg.ScanRows = DefaultScanRows
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	switch {
	case cfg.ResultBytes < MinResultBytes || cfg.ResultBytes > MaxResultBytes:
		return nil, errs.Newf(errs.Invalid, "result bytes must be from %d to %d", MinResultBytes, MaxResultBytes)
	case cfg.ScanRows < MinScanRows || cfg.ScanRows > MaxScanRows:
		return nil, errs.Newf(errs.Invalid, "scan rows must be from %d to %d", MinScanRows, MaxScanRows)
	}
	return &Reader{cfg: cfg}, nil
}

// Result is a tool's answer.
type Result struct {
	JSON      []byte   // the structured content: one JSON object, compact
	Rows      int      // rows in the answer; 1 for an object
	Scanned   int      // rows decoded
	Drift     int      // values that did not fit the model
	Truncated bool     // more matched than is in the answer, or may have
	Notes     []string // as in JSON
}

// Run answers one call of a tool with the caller's raw arguments. progress, when
// not nil, is called after each page with the rows read so far. Errors are
// *errs.Error: request_validation for arguments, before any request; the
// client's own classes; response_shape when the rows do not fit the model.
func (r *Reader) Run(ctx context.Context, caller pfrest.Caller, t *catalog.Tool, raw []byte, progress func(rows int)) (Result, error) {
	if t.Path == "" {
		return Result{}, errs.New(errs.Internal, "this tool asks no appliance")
	}
	shape, err := r.shape(t.Model)
	if err != nil {
		return Result{}, err
	}
	a, err := args.Parse(t, shape, raw)
	if err != nil {
		return Result{}, err
	}
	c := &call{
		Reader: r, tool: t, caller: caller, shape: shape, args: a, progress: progress,
		dec:  row.NewDecoder(shape, a.Flag),
		room: r.cfg.ResultBytes - reserve(r.cfg.ResultBytes),
	}
	switch {
	case !t.List:
		err = c.object(ctx)
	case t.Log:
		err = c.log(ctx)
	case t.Reads != nil:
		err = c.children(ctx)
	default:
		err = c.list(ctx)
	}
	if err == nil {
		err = c.usable()
	}
	if err != nil {
		return Result{}, r.explain(ctx, caller, t, err)
	}
	return c.result(ctx), nil
}

// shape returns the compiled model. Compiling is done once a model; two callers
// may do it at once and get equal shapes.
func (r *Reader) shape(m *catalog.Model) (*row.Shape, error) {
	if s, ok := r.shapes.Load(m); ok {
		return s.(*row.Shape), nil
	}
	s, err := row.Compile(m)
	if err != nil {
		return nil, errs.Wrap(err, errs.Internal, "the tool's model is broken")
	}
	r.shapes.Store(m, s)
	return s, nil
}

// explain turns a client's error into this tool's: what the appliance leaves out
// of its refusals comes from the table.
func (r *Reader) explain(ctx context.Context, caller pfrest.Caller, t *catalog.Tool, err error) error {
	e := errs.Public(err)
	switch e.Class {
	case pfrest.ClassNotInstalled:
		return r.unavailable(ctx, caller, t, err)
	case pfrest.ClassAuthorization:
		path := t.Path
		if t.Reads != nil {
			path = t.Reads.Path
		}
		return errs.Wrap(err, e.Code, "the API key lacks the privilege "+catalog.PrivilegeFor(path, "GET")).
			WithClass(e.Class).WithNext("grant it to the key's user on the appliance; `mcpctl privileges` prints all that are needed")
	case pfrest.ClassPackageAbsent:
		if t.Package == "" {
			break
		}
		return errs.Wrap(err, e.Code, "the package "+t.Package+" is not installed on the appliance").
			WithClass(e.Class).WithNext("there is nothing to read until it is installed; other tools work without it")
	}
	return err
}

func shapeError(why string) error {
	return errs.New(errs.Unavailable, why).WithClass("response_shape").
		WithNext("compare versions with `mcpctl schema-diff`")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
