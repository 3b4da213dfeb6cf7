package change

import "strings"

// Desc says what a model must know before it asks; hosts show the model no more.
const Desc = "Asks people to change one firewall alias's description. Asynchronous: success of the call is not success of the change, which needs off-host approval. Call again with identical arguments to poll. The filter is not reloaded."

// Input and Output are the schemas.
const Input = `{"type":"object","properties":{"alias_name":{"type":"string"},"description":{"type":"string"}},"required":["alias_name","description"],"additionalProperties":false}`

// Output returns the schema of the answer.
func Output() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"state":{"type":"string","enum":[`)
	for i, s := range States() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + string(s) + `"`)
	}
	b.WriteString(`],"description":"` + meaning + `"}},"required":["state"],"additionalProperties":false}`)
	return b.String()
}

const meaning = "requested and awaiting_confirmation: people have not decided yet. verified: made and read back. reconciliation_required: people find out whether it was made. refused: nothing will come of this call; no reason is given, operators have it. reverted: was made, is gone again."
