package readtool

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
)

// TestRealAnswersFitTheirModels decodes captured answers of a real REST package
// by the catalog's models: nothing drifts, nothing is unknown, every answer
// validates.
func TestRealAnswersFitTheirModels(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "appliance", "responses")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the captured answers are not beside the repository: " + dir)
	}
	seen := 0
	for _, tool := range catalog.Tools() {
		if tool.Path == "" {
			continue
		}
		path := tool.Path
		if tool.Reads != nil {
			path = tool.Reads.Path
		}
		text, err := os.ReadFile(filepath.Join(dir, "GET_"+strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "_")+".json"))
		if err != nil {
			continue
		}
		var file struct {
			Status int `json:"status"`
			Body   struct {
				Data jsontext.Value `json:"data"`
			} `json:"body"`
		}
		if err := json.Unmarshal(text, &file); err != nil || file.Status != 200 {
			continue
		}
		seen++
		f := &fake{data: map[string]string{path: string(file.Body.Data), catalog.PathPackages: `[]`}}
		r := reader(t, Config{Client: f, ResultBytes: MaxResultBytes})
		args := `{}`
		if catalog.HasGate(tool.Model) {
			args = `{"include_identifying_metadata":true}`
		}
		res, err := r.Run(t.Context(), pfrest.Caller{}, tool, []byte(args), nil)
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		if err := validate(resolve(t, OutputSchema(tool)), res.JSON); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		for _, n := range res.Notes {
			for _, bad := range []string{"unexpected type", "does not know", "does not send", "left out", "too large"} {
				if strings.Contains(n, bad) {
					t.Errorf("%s: %s", tool.Name, n)
				}
			}
		}
	}
	t.Logf("%d tools were tried on captured answers", seen)
	if seen < 80 {
		t.Errorf("only %d captured answers were found", seen)
	}
}
