package guide

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/proto/docs/v1"
	"pfsensemcp/proto/guidance/v1"
)

// silent is a daemon that takes a question and says nothing, as a stopped
// process does.
type silent struct {
	guidancepb.GuidanceClient
	docspb.DocsClient
}

func wait[T any](ctx context.Context) (*T, error) {
	<-ctx.Done()
	return nil, errs.Wrap(ctx.Err(), errs.Expired, "the daemon did not answer in time").WithClass("service")
}

func (silent) Lookup(ctx context.Context, _ *guidancepb.LookupRequest, _ ...grpc.CallOption) (*guidancepb.LookupResponse, error) {
	return wait[guidancepb.LookupResponse](ctx)
}

func (silent) ToolGuidance(ctx context.Context, _ *guidancepb.ToolGuidanceRequest, _ ...grpc.CallOption) (*guidancepb.ToolGuidanceResponse, error) {
	return wait[guidancepb.ToolGuidanceResponse](ctx)
}

func (silent) Endpoint(ctx context.Context, _ *docspb.EndpointRequest, _ ...grpc.CallOption) (*docspb.EndpointResponse, error) {
	return wait[docspb.EndpointResponse](ctx)
}

func (silent) Topic(ctx context.Context, _ *docspb.TopicRequest, _ ...grpc.CallOption) (*docspb.TopicResponse, error) {
	return wait[docspb.TopicResponse](ctx)
}

// Without a bound of its own the call's deadline would end it: after 45 s, and
// with the advice to ask for fewer rows instead of the daemon's name.
func TestADaemonThatSaysNothingIsNamedBeforeTheCallsOwnDeadline(t *testing.T) {
	official := guidanceTool{client: silent{}}.answer
	api := apiTool{guidance: silent{}, docs: silent{}}.answer
	for _, tt := range []struct {
		name, args string
		ask        func(context.Context, []byte) error
		within     time.Duration
	}{
		{"official", `{"capability":"FIREWALL_READ"}`, func(ctx context.Context, args []byte) error {
			_, err := official(ctx, pfrest.Caller{}, args, nil)
			return err
		}, 10 * time.Second},
		{"topic", `{"query_mode":"topic","topic":"ENDPOINT_TYPES"}`, func(ctx context.Context, args []byte) error {
			_, err := api(ctx, pfrest.Caller{}, args, nil)
			return err
		}, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
			defer cancel()
			began := time.Now()
			err := tt.ask(ctx, []byte(tt.args))
			if errs.Public(err).Class != "service" || time.Since(began) != tt.within {
				t.Errorf("%s: %v after %v", tt.name, err, time.Since(began))
			}
		})
	}
}

// A mode with more than one source answers from the others, and says which daemons
// said nothing.
func TestSilentDaemonsAreNotesOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		began := time.Now()
		a, err := apiTool{guidance: silent{}, docs: silent{}}.answer(ctx, pfrest.Caller{}, []byte(`{"query_mode":"tool","tool_name":"pfsense_get_firewall_rules"}`), nil)
		if err != nil || time.Since(began) != docfetchdWithin {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if n := strings.Count(string(a.JSON), "the daemon did not answer in time"); n != 2 {
			t.Errorf("%d daemons are named in %s", n, a.JSON)
		}
	})
}
