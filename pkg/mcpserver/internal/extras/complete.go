package extras

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pfsensemcp/pkg/catalog"
)

// maxValues is how many suggestions the protocol allows.
const maxValues = 100

// complete answers completion/complete with compiled names alone: what an
// appliance or another client said is never suggested.
func (s *Set) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if req.Params == nil || req.Params.Ref == nil {
		return nil, invalid("completion needs ref and argument")
	}
	set, ok := s.setOf(req.Params.Ref, req.Params.Argument.Name)
	if !ok {
		return nil, invalid("there is no such argument to complete; prompts/list and resources/templates/list show them")
	}
	all := matching(s.names[set], req.Params.Argument.Value)
	out := mcp.CompletionResultDetails{Values: all, Total: len(all)}
	if len(all) > maxValues {
		out.Values, out.HasMore = all[:maxValues], true
	}
	return &mcp.CompleteResult{Completion: out}, nil
}

// setOf returns which names complete an argument; ok is false when there is no
// such argument.
func (s *Set) setOf(ref *mcp.CompleteReference, argument string) (set catalog.NameSet, ok bool) {
	if ref.Type == "ref/resource" {
		for _, t := range s.templates {
			if t.uri() == ref.URI && string(t.of) == argument {
				return t.of, true
			}
		}
		return catalog.NoSet, false
	}
	for _, p := range s.prompts {
		if p.Name != ref.Name {
			continue
		}
		for _, a := range p.Args {
			if a.Name == argument {
				return a.Of, true
			}
		}
	}
	return catalog.NoSet, false
}

// matching returns the names that begin with what was typed, then those that
// hold it, ASCII case ignored.
func matching(names []string, typed string) []string {
	begin, hold := []string{}, []string{}
	typed = strings.ToLower(typed)
	for _, n := range names {
		switch low := strings.ToLower(n); {
		case strings.HasPrefix(low, typed):
			begin = append(begin, n)
		case strings.Contains(low, typed):
			hold = append(hold, n)
		}
	}
	return append(begin, hold...)
}
