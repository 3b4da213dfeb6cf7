package alias

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/artifact/change"
)

func FuzzRows(f *testing.F) {
	f.Add([]byte(`[{"id":0,"name":"a","type":"host","descr":"","address":["192.0.2.1"],"detail":[""]},{"id":1,"name":"b","type":"urltable"}]`))
	f.Add([]byte(`[{"id":0,"name":"a","address":null,"x":{"y":[1,true,null]}}]`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseRows(data)
		if err != nil {
			return
		}
		l := List{rows: rows}
		// A list that was read can be compared: nothing in it is found out later.
		if _, err := l.All(); err != nil && len(data) < 64<<10 {
			t.Fatalf("%s: %v", data, err)
		}
		for _, r := range rows {
			found, err := l.Find(r.near.Name)
			if err != nil {
				continue
			}
			if found.Locator != r.near.Locator || found.State.Name != r.near.Name || !change.AliasName(found.State.Name) || len(found.State.Detail) > len(found.State.Address) {
				t.Fatalf("%s: %+v", data, found)
			}
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add(`{"openapi":"3.0.0","info":{"title":"x","version":"v2.10.0"}}`)
	f.Add(`{"a":[{"info":1}],"info":{"version":"\u0076"}}`)
	f.Fuzz(func(t *testing.T, doc string) {
		if v, err := versionOf(strings.NewReader(doc)); err == nil && !strings.Contains(doc, `"info"`) && !strings.Contains(doc, `\`) {
			t.Fatalf("%q from %q", v, doc)
		}
	})
}

func FuzzIdentity(f *testing.F) {
	f.Add([]byte(`{"netgate_id":"0badc0de71a5e0000071\n"}`))
	f.Add([]byte(`{"netgate_id":null,"temp_c":41.5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := identityOf(data, kindNetgate)
		if err == nil && strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("%q from %s", id, data)
		}
	})
}
