package catalog

import "slices"

// Prompt is a plan over the tools for one job that people do. It is offered
// only where every tool of its steps is registered.
type Prompt struct {
	Name  string
	Title string // a few words for people
	Desc  string // what it is for; at most 250 characters
	Args  []PromptArg
	Steps []Step
	Tell  string // what the report must say
}

// PromptArg is an argument of a prompt; its value is a text.
type PromptArg struct {
	Name     string
	Desc     string
	Required bool
	Of       NameSet // what completes it; a value outside the set is refused
	Form     Form    // what a value looks like
	Default  string  // when it is not given; "" for none
}

// Form is what the value of a prompt's argument looks like.
type Form uint8

// The forms. None holds a character that JSON would have to escape.
const (
	WordsForm   Form = iota // letters, digits, blanks and . _ : @ / -; at most 100
	DigitsForm              // 1 to 9999
	AddressForm             // one IP address without a zone
)

// NameSet is a set of compiled names.
type NameSet string

// The sets. What they hold follows from the registered tools, topics apart.
const (
	NoSet        NameSet = ""
	OfTools      NameSet = "tool"
	OfCapability NameSet = "capability"
	OfModel      NameSet = "model"
	OfTopic      NameSet = "topic"
	OfProfile    NameSet = "profile"
)

// Step is one call of a plan. In Args {name} stands for an argument's value.
type Step struct {
	Tool string
	Args string // a JSON object
	When string // the argument that the step is about: without it the step is left out; "" for always
	Why  string // what to look for in the answer
}

// Prompts returns the table of prompts. The slice is the caller's; the rows are
// shared and must not be changed.
func Prompts() []*Prompt { return slices.Clone(promptRows) }

// Topics returns the names of the guide pages of the REST API that may be asked
// for, sorted.
func Topics() []string {
	return []string{
		"AUTHENTICATION_AND_AUTHORIZATION", "COMMON_CONTROL_PARAMETERS", "ENDPOINT_TYPES",
		"LIMITATIONS_AND_FAQS", "QUERIES_FILTERS_AND_SORTING", "SECURING_API_ACCESS",
		"SWAGGER_AND_OPENAPI", "WORKING_WITH_HATEOAS", "WORKING_WITH_OBJECT_IDS",
	}
}
