package guide

import (
	"encoding/json/v2"
	"regexp"
	"slices"
	"strings"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
)

// apiArgs are the arguments. Each mode takes its own and no other.
type apiArgs struct {
	Mode     string  `json:"query_mode"`
	Tool     *string `json:"tool_name"`
	Path     *string `json:"endpoint_path"`
	Method   *string `json:"endpoint_method"`
	Model    *string `json:"model_name"`
	Offset   *uint32 `json:"offset"`
	Contains *string `json:"name_contains"`
	Topic    *string `json:"topic"`

	tool *catalog.Tool // of the mode tool
	verb string        // of the mode endpoint, in capitals
}

func (a apiArgs) offset() uint32 {
	if a.Offset == nil {
		return 0
	}
	return *a.Offset
}

// modes says which arguments a mode needs and which it may have.
var modes = map[string]struct {
	need, may []string
	example   string
}{
	"tool":     {need: []string{"tool_name"}, example: `{"query_mode": "tool", "tool_name": "pfsense_get_firewall_rules"}`},
	"endpoint": {need: []string{"endpoint_path", "endpoint_method"}, example: `{"query_mode": "endpoint", "endpoint_path": "/api/v2/firewall/rules", "endpoint_method": "GET"}`},
	"model":    {need: []string{"model_name"}, may: []string{"offset", "name_contains"}, example: `{"query_mode": "model", "model_name": "FirewallRule"}`},
	"topic":    {need: []string{"topic"}, example: `{"query_mode": "topic", "topic": "WORKING_WITH_OBJECT_IDS"}`},
}

// Bounds and shapes of the arguments. Each is a key of a table and nothing else;
// none ever becomes part of an address.
const (
	maxInput    = 300
	maxContains = 64
	maxOffset   = 10_000
)

var (
	pathShape  = regexp.MustCompile(`^/api/v2/[a-z0-9_/]{1,200}$`)
	modelShape = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	verbs      = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

func refuse(msg, next string) error {
	return errs.New(errs.Invalid, msg).WithClass("request_validation").WithNext(next)
}

// parseAPIArgs reads and checks the arguments. Whatever it refuses, it refuses
// before anybody is asked anything.
func parseAPIArgs(args []byte) (apiArgs, error) {
	var a apiArgs
	if err := json.Unmarshal(args, &a, json.RejectUnknownMembers(true)); err != nil {
		return apiArgs{}, refuse("the arguments are query_mode and those of the mode, each of its type", "example: "+modes["tool"].example)
	}
	mode, ok := modes[a.Mode]
	if !ok {
		return apiArgs{}, refuse("query_mode is tool, endpoint, model or topic", "example: "+modes["tool"].example)
	}
	for _, arg := range []struct {
		name string
		text *string
	}{
		{"tool_name", a.Tool},
		{"endpoint_path", a.Path},
		{"endpoint_method", a.Method},
		{"model_name", a.Model},
		{"name_contains", a.Contains},
		{"topic", a.Topic},
	} {
		need := slices.Contains(mode.need, arg.name)
		switch {
		case arg.text == nil && need:
			return apiArgs{}, refuse("the mode "+a.Mode+" needs "+arg.name, "example: "+mode.example)
		case arg.text != nil && !need && !slices.Contains(mode.may, arg.name):
			return apiArgs{}, refuse("the mode "+a.Mode+" does not take "+arg.name, "example: "+mode.example)
		case arg.text != nil && (*arg.text == "" || len(*arg.text) > maxInput):
			return apiArgs{}, refuse(arg.name+" has 1 to 300 characters", "example: "+mode.example)
		}
	}
	if a.Offset != nil && (a.Mode != "model" || *a.Offset > maxOffset) {
		return apiArgs{}, refuse("offset is 0 to 10000 and belongs to the mode model", "example: "+modes["model"].example)
	}
	return a.known(mode.example)
}

// known checks that every text is one that can be looked up.
func (a apiArgs) known(example string) (apiArgs, error) {
	switch a.Mode {
	case "tool":
		t, ok := catalog.Lookup(*a.Tool)
		if !ok {
			var names []string
			for _, t := range catalog.Tools() {
				names = append(names, t.Name)
			}
			return apiArgs{}, refuse("no READ tool has the name given as tool_name", "the nearest name is "+catalog.Nearest(*a.Tool, names))
		}
		a.tool = t
	case "endpoint":
		a.verb = strings.ToUpper(*a.Method)
		if !slices.Contains(verbs, a.verb) {
			return apiArgs{}, refuse("endpoint_method is GET, POST, PUT, PATCH or DELETE", "example: "+example)
		}
		if !pathShape.MatchString(*a.Path) {
			return apiArgs{}, refuse("endpoint_path is /api/v2/ and lower-case letters, digits, _ and /, without a query", "example: "+example)
		}
	case "model":
		if !modelShape.MatchString(*a.Model) {
			return apiArgs{}, refuse("model_name is 1 to 64 letters and digits", "example: "+example)
		}
		if a.Contains != nil && len(*a.Contains) > maxContains {
			return apiArgs{}, refuse("name_contains has at most 64 characters", "example: "+example)
		}
	case "topic":
		if !slices.Contains(catalog.Topics(), *a.Topic) {
			return apiArgs{}, refuse("there is no such topic", "the topics are "+strings.Join(catalog.Topics(), ", "))
		}
	}
	return a, nil
}
