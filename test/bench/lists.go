package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pfsensemcp/pkg/catalog"
)

// lists are the bytes of the list of tools as served.
func (b *bench) lists() error {
	for _, l := range []struct{ name, settings, note string }{
		{"list_bytes", "", "as served by default"},
		{"list_bytes_no_output", "output_schemas = \"off\"\n", "output_schemas off"},
		{"core_bytes", "output_schemas = \"off\"\ntoolsets = [\"core\"]\n", "READ tools of toolsets core, output_schemas off"},
	} {
		tools, err := b.listed(l.settings)
		if err != nil {
			return err
		}
		size, n := len("[]"), 0
		for _, t := range tools {
			var name struct{ Name string }
			if err := json.Unmarshal(t, &name); err != nil {
				return err
			}
			// The guidance tools come with every set; core is held by its own.
			if row, ok := catalog.Lookup(name.Name); l.name == "core_bytes" && (!ok || !row.Core) {
				continue
			}
			if n > 0 {
				size++
			}
			size += len(t)
			n++
		}
		b.take(l.name, float64(size), fmt.Sprintf("%d tools, %s", n, l.note))
	}
	return nil
}

func (b *bench) listed(settings string) ([]json.RawMessage, error) {
	r, _, err := b.begin(0, settings)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := dial(r.Socket("mcp"))
	if err != nil {
		return nil, err
	}
	defer c.close()
	line, err := c.ask("tools/list", "{}")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct{ Tools []json.RawMessage }
	}
	err = json.Unmarshal(bytes.Clone(line), &answer)
	return answer.Result.Tools, err
}
