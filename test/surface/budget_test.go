package surface

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/test/suite"
)

// What a list may cost, in bytes as served: every session of every client pays
// it before it asks its first question. They are the budgets of the default
// profile; where people may be asked for a change the list has one entry more,
// with a budget of its own (budgetWrite).
const (
	budgetBare = 52_000  // 95 READ and 2 guidance tools without output schemas
	budgetFull = 165_000 // the same with them
	budgetCore = 14_000  // the READ tools of core, without output schemas
)

// bare is what a tool costs without its output schema, punctuation included.
func (x tool) bare() int {
	n := len(x.raw)
	if len(x.Out) > 0 {
		n -= len(`"outputSchema":,`) + len(x.Out)
	}
	return n
}

// cost adds tools up as entries of one list.
func cost(tools []tool, each func(tool) int) int {
	n := len("[]")
	for i, x := range tools {
		if i > 0 {
			n++
		}
		n += each(x)
	}
	return n
}

// over says which budget a list exceeds; "" for none.
func over(what string, bytes, budget int) string {
	if bytes <= budget {
		return ""
	}
	return fmt.Sprintf("%s: %d bytes are served, the budget is %d", what, bytes, budget)
}

func TestTheServedListKeepsItsBudget(t *testing.T) {
	_, c := begin(t, suite.Options{})
	tools, whole := list(t, c)
	full := cost(tools, func(x tool) int { return len(x.raw) })
	if full != len(whole) {
		t.Fatalf("the parts add up to %d bytes, served are %d", full, len(whole))
	}
	bare := cost(tools, tool.bare)

	_, c = begin(t, suite.Options{Settings: coreBare})
	var core []tool
	lean, _ := list(t, c)
	for _, x := range lean {
		if len(x.Out) > 0 {
			t.Errorf("%s has an output schema although they are off", x.Name)
		}
		if r, ok := catalog.Lookup(x.Name); ok && r.Core {
			core = append(core, x)
		}
	}
	if len(tools) != 97 || len(core) != 25 {
		t.Fatalf("%d tools, %d of core", len(tools), len(core))
	}
	corebare := cost(core, tool.bare)
	t.Logf("97 tools: %d bytes (of %d), with output schemas %d (of %d); core: %d (of %d)", bare, budgetBare, full, budgetFull, corebare, budgetCore)
	for _, bad := range []string{
		over("97 tools without output schemas", bare, budgetBare),
		over("97 tools with output schemas", full, budgetFull),
		over("core without output schemas", corebare, budgetCore),
	} {
		if bad != "" {
			t.Error(bad)
		}
	}
}

// TestTheBudgetCanFail adds one description of the allowed length.
func TestTheBudgetCanFail(t *testing.T) {
	x := tool{raw: json.RawMessage(`{"name":"a","description":"` + strings.Repeat("x", maxDesc) + `","outputSchema":{}}`), Out: json.RawMessage(`{}`)}
	if n := x.bare(); n != len(x.raw)-len(`"outputSchema":{},`) {
		t.Errorf("%d bytes without the output schema", n)
	}
	many := make([]tool, 97)
	for i := range many {
		many[i] = tool{raw: json.RawMessage(strings.Repeat("x", 540))}
	}
	if over("x", cost(many, tool.bare), budgetBare) == "" {
		t.Error("97 tools of 540 bytes pass")
	}
	if over("x", budgetBare, budgetBare) != "" {
		t.Error("the budget itself is refused")
	}
}
