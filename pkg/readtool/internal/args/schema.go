package args

import (
	"strconv"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/readtool/internal/row"
	"pfsensemcp/pkg/readtool/internal/where"
)

// Schema returns the JSON schema of a tool's arguments. The default of limit is
// the same for every tool and stands in the instructions: here it would cost a
// kilobyte of every list.
func Schema(t *catalog.Tool, s *row.Shape) []byte {
	props := map[string]string{
		argLimit:  `{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(t.MaxLimit) + `}`,
		argOffset: `{"type":"integer","minimum":0,"maximum":` + strconv.Itoa(MaxOffset) + `}`,
		argFields: `{"type":"array","items":{"type":"string"}}`,
		argWhere:  `{"type":"array","items":{"type":"string"},"maxItems":` + strconv.Itoa(where.MaxTerms) + `}`,
		Flag:      `{"type":"boolean"}`,
	}
	out := []byte(`{"type":"object","properties":{`)
	for i, name := range allowed(t, s) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), name...), `":`...), props[name]...)
	}
	return append(out, `},"additionalProperties":false}`...)
}
