package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promptFaults lists what is wrong with prompts.
func promptFaults(prompts []*Prompt) []string {
	var bad []string
	fault := func(p *Prompt, what string) { bad = append(bad, p.Name+": "+what) }
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	plain := regexp.MustCompile(`^[\x20-\x7e]+$`)
	seen := map[string]bool{}
	for _, p := range prompts {
		if !name.MatchString(p.Name) || seen[p.Name] {
			fault(p, "name")
		}
		seen[p.Name] = true
		texts := []string{p.Title, p.Desc, p.Tell}
		var args []string
		for _, a := range p.Args {
			args = append(args, a.Name)
			texts = append(texts, a.Desc)
			if !name.MatchString(a.Name) || a.Required && a.Default != "" || a.Of != NoSet && a.Form != WordsForm {
				fault(p, "argument "+a.Name)
			}
		}
		if len(p.Steps) == 0 || len(p.Desc) > 250 {
			fault(p, "steps or description")
		}
		for _, st := range p.Steps {
			texts = append(texts, st.Why)
			if !slices.Contains(KnownTools(), st.Tool) || st.Tool == WriteTool {
				fault(p, "tool "+st.Tool)
			}
			filled := st.Args
			for _, hole := range regexp.MustCompile(`\{[a-z]+\}`).FindAllString(st.Args, -1) {
				arg := strings.Trim(hole, "{}")
				i := slices.Index(args, arg)
				if i < 0 || !p.Args[i].Required && p.Args[i].Default == "" && st.When != arg {
					fault(p, "nothing fills "+hole)
				}
				filled = strings.ReplaceAll(filled, hole, "1")
			}
			var v map[string]any
			if json.Unmarshal([]byte(filled), &v) != nil {
				fault(p, "arguments of "+st.Tool)
			}
			if st.When != "" && !slices.Contains(args, st.When) {
				fault(p, "condition "+st.When)
			}
		}
		for _, text := range texts {
			if !plain.MatchString(text) {
				fault(p, "text "+text)
			}
		}
	}
	return bad
}

func TestEveryPromptIsAPlanOverToolsThatExist(t *testing.T) {
	for _, f := range promptFaults(Prompts()) {
		t.Error(f)
	}
	good := func() *Prompt {
		return &Prompt{Name: "a", Title: "A", Desc: "B", Tell: "C", Steps: []Step{{Tool: InfoTool, Args: `{}`, Why: "D"}}}
	}
	for what, spoil := range map[string]func(*Prompt){
		"name":              func(p *Prompt) { p.Name = "A b" },
		"tool no_such":      func(p *Prompt) { p.Steps[0].Tool = "no_such" },
		"tool " + WriteTool: func(p *Prompt) { p.Steps[0].Tool = WriteTool },
		"nothing fills":     func(p *Prompt) { p.Steps[0].Args = `{"x": "{host}"}` },
		"arguments of":      func(p *Prompt) { p.Steps[0].Args = `{` },
		"steps":             func(p *Prompt) { p.Steps = nil },
		"text":              func(p *Prompt) { p.Tell = "a\nb" },
		"condition":         func(p *Prompt) { p.Steps[0].When = "x" },
		"argument b":        func(p *Prompt) { p.Args = []PromptArg{{Name: "b", Desc: "x", Required: true, Default: "1"}} },
	} {
		p := good()
		spoil(p)
		if got := strings.Join(promptFaults([]*Prompt{p}), "\n"); !strings.Contains(got, what) {
			t.Errorf("%s is not found: %q", what, got)
		}
	}
	if got := promptFaults([]*Prompt{good(), good()}); len(got) != 1 {
		t.Errorf("two of one name: %q", got)
	}
	if !slices.IsSorted(Topics()) {
		t.Error("the topics are not sorted")
	}
}
