package docfetch

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/docfetch/internal/site"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/plain"
	"pfsensemcp/pkg/openapi/view"
	"pfsensemcp/pkg/rpc"
	docspb "pfsensemcp/proto/docs/v1"
)

// maxExcerpt bounds what is shown of a page, in characters.
const maxExcerpt = 1500

// maxOffset bounds the fields that a caller passes over.
const maxOffset = 10_000

// Config is what a service is made of. There is nothing in it about where the
// documentation is.
type Config struct {
	Log     *slog.Logger
	Metrics *metrics.Registry

	place site.Place // the internet, but in test builds
}

// Service answers docs.v1. Nothing is fetched before the first question.
type Service struct {
	docspb.UnsafeDocsServer
	docspb.UnsafeDocsAdminServer

	cache   *cache
	fetch   func(context.Context, site.Source) (*site.Page, error)
	log     *slog.Logger
	fetches *metrics.Counter
	took    *metrics.Histogram
}

// New returns a service. Run it, so that it ends what is under way when the
// daemon does.
func New(cfg Config) *Service {
	s := &Service{
		fetch: site.New(cfg.place).Fetch, log: cfg.Log,
		fetches: cfg.Metrics.Counter("docfetch_fetches", "Pages asked of the documentation site.", "kind", "outcome"),
		took:    cfg.Metrics.Histogram("docfetch_fetch_seconds", "How long a fetch and the reading of the page took.", []float64{0.1, 0.3, 1, 3, 10, 30}, "kind"),
	}
	s.cache = newCache(s.load, time.Now)
	return s
}

// Run waits for ctx and ends the fetches that are under way.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	s.cache.close()
	return nil
}

// load fetches one source and makes of it what is kept.
func (s *Service) load(ctx context.Context, src site.Source, old *entry) (*entry, time.Duration, bool, error) {
	begun := time.Now()
	e, got, err := s.read(ctx, src, old)
	outcome, size := "fetched", 0
	if err != nil {
		outcome = string(site.FailureOf(err))
	}
	if got != nil {
		size = got.Size
	}
	s.fetches.Inc(src.Kind.String(), outcome)
	s.took.Observe(time.Since(begun).Seconds(), src.Kind.String())
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "documentation fetched", logging.KeyPath, src.URL, logging.KeyOutcome, outcome,
		logging.KeyDurationMS, time.Since(begun).Milliseconds(), logging.KeyCount, size)
	if err != nil {
		return nil, 0, false, err
	}
	return e, got.Fresh, got.NoStore, nil
}

func (s *Service) read(ctx context.Context, src site.Source, old *entry) (*entry, *site.Page, error) {
	got, err := s.fetch(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	if old != nil && old.hash == got.Hash {
		return &entry{value: old.value, hash: old.hash, version: old.version, odd: old.odd}, got, nil
	}
	e := &entry{hash: got.Hash}
	if src.Kind == site.Document {
		ix, err := openapi.Parse(got.Reader())
		if err != nil {
			return nil, got, site.Corrupt
		}
		e.value, e.version, e.odd = ix, ix.Version, uint32(ix.Odd)
		return e, got, nil
	}
	text, err := plain.Page(got.Bytes())
	if err != nil || text == "" {
		return nil, got, site.Corrupt
	}
	excerpt, left := plain.Cut(text, maxExcerpt)
	e.value = topic{strings.Clone(excerpt), left}
	return e, got, nil
}

// topic is what is kept of a page.
type topic struct {
	excerpt string
	omitted int // characters
}

// index returns the document's index, nil when there is none.
func (s *Service) index(ctx context.Context) (*openapi.Index, *docspb.Source) {
	v, src := s.cache.get(ctx, site.TheDocument())
	ix, _ := v.(*openapi.Index)
	return ix, src
}

// The shapes of what may be asked for. Each is a key of an index and nothing else.
var (
	pathShape  = regexp.MustCompile(`^/api/v2/[a-z0-9_/]{1,200}$`)
	modelShape = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
)

// verbs are what may be asked for.
var verbs = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func refuse(msg string) error { return errs.New(errs.Invalid, msg).WithClass("request_validation") }

// Endpoint implements docs.v1.
func (s *Service) Endpoint(ctx context.Context, req *docspb.EndpointRequest) (*docspb.EndpointResponse, error) {
	switch {
	case !pathShape.MatchString(req.GetPath()):
		return nil, refuse("path is /api/v2/ and lower-case letters, digits, _ and /")
	case !slices.Contains(verbs, req.GetVerb()):
		return nil, refuse("verb is GET, POST, PUT, PATCH or DELETE")
	}
	ix, src := s.index(ctx)
	out := &docspb.EndpointResponse{}
	if ix != nil {
		out = view.Endpoint(ix, req.GetPath(), req.GetVerb())
	}
	out.Source = src
	return out, nil
}

// Model implements docs.v1.
func (s *Service) Model(ctx context.Context, req *docspb.ModelRequest) (*docspb.ModelResponse, error) {
	switch {
	case !modelShape.MatchString(req.GetName()):
		return nil, refuse("name is 1 to 64 letters and digits")
	case req.GetOffset() > maxOffset || req.GetLimit() > view.MaxFields || len(req.GetNameContains()) > 64:
		return nil, refuse("offset is at most 10000, limit at most 25, name_contains at most 64 bytes")
	}
	ix, src := s.index(ctx)
	out := &docspb.ModelResponse{}
	if ix != nil {
		out = view.Model(ix, req)
	}
	out.Source = src
	return out, nil
}

// Topic implements docs.v1.
func (s *Service) Topic(ctx context.Context, req *docspb.TopicRequest) (*docspb.TopicResponse, error) {
	src, ok := site.Topic(req.GetTopic())
	if !ok {
		return nil, errs.New(errs.Invalid, "there is no such topic").WithClass("request_validation").
			WithNext("the topics are " + strings.Join(site.Topics(), ", "))
	}
	v, from := s.cache.get(ctx, src)
	out := &docspb.TopicResponse{Source: from, Topic: src.Topic}
	if t, ok := v.(topic); ok {
		out.Excerpt, out.Omitted = t.excerpt, uint32(t.omitted)
	}
	return out, nil
}

// Methods is the table of docs.v1.Docs. A call may wait for one fetch.
func Methods() []rpc.Method {
	row := func(full string) rpc.Method {
		return rpc.Method{Full: full, Callers: rpc.Mcpd, MaxRequest: 1 << 10, MaxDuration: 45 * time.Second}
	}
	return []rpc.Method{row(docspb.Docs_Endpoint_FullMethodName), row(docspb.Docs_Model_FullMethodName), row(docspb.Docs_Topic_FullMethodName)}
}

// AdminMethods is the table of docs.v1.DocsAdmin. One contract at a time is in
// memory.
func AdminMethods() []rpc.Method {
	return []rpc.Method{{Full: docspb.DocsAdmin_Contract_FullMethodName, Callers: rpc.Operators, MaxDuration: 2 * time.Minute, Once: true}}
}
