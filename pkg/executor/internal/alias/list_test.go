package alias_test

import (
	"fmt"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/alias"
	"pfsensemcp/pkg/executor/internal/alias/aliastest"
	"pfsensemcp/test/fakepf"
)

// look reads fw's list and finds web_servers.
func look(t *testing.T, fw *aliastest.Appliance) (alias.Found, string, error) {
	t.Helper()
	l, err := fw.Reader(t, nil).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.All()
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.Find("web_servers")
	return f, all, err
}

func TestA11EveryChangeOfTheTargetIsSeen(t *testing.T) {
	base, all, err := look(t, aliastest.New())
	if err != nil {
		t.Fatal(err)
	}
	web := 1
	for name, x := range map[string]struct {
		change func(*aliastest.State)
		print  bool // the fingerprint stays
		place  bool // the position stays
		others bool // the collection stays
		class  string
	}{
		"its text":               {func(s *aliastest.State) { s.Rows[web].Descr = "New" }, false, true, true, ""},
		"order of addresses":     {func(s *aliastest.State) { s.Rows[web].Address = []string{"192.0.2.11", "192.0.2.10"} }, false, true, true, ""},
		"a detail":               {func(s *aliastest.State) { s.Rows[web].Detail = []string{"a", "c"} }, false, true, true, ""},
		"its type":               {func(s *aliastest.State) { s.Rows[web].Type = "network" }, false, true, true, ""},
		"a type of another kind": {func(s *aliastest.State) { s.Rows[web].Type = "urltable" }, false, false, false, "target_unresolved"},
		"its name":               {func(s *aliastest.State) { s.Rows[web].Name = "web" }, false, false, false, "target_unresolved"},
		"its name's case":        {func(s *aliastest.State) { s.Rows[web].Name = "Web_servers" }, false, false, false, "target_unresolved"},
		"a twin":                 {func(s *aliastest.State) { s.Rows[0].Name = "web_servers" }, false, false, false, "target_unresolved"},
		"it is gone":             {func(s *aliastest.State) { s.Rows = s.Rows[:1] }, false, false, false, "target_unresolved"},
		"one before it is gone":  {func(s *aliastest.State) { s.Rows = s.Rows[1:] }, true, false, false, ""},
		"one before it is new":   {func(s *aliastest.State) { s.Rows = append([]aliastest.Row{{Name: "new", Type: "host"}}, s.Rows...) }, true, false, false, ""},
		"one behind it is new":   {func(s *aliastest.State) { s.Rows = append(s.Rows, aliastest.Row{Name: "new", Type: "host"}) }, true, true, false, ""},
		"another's text":         {func(s *aliastest.State) { s.Rows[0].Descr = "New" }, true, true, false, ""},
		"another's raw text":     {func(s *aliastest.State) { s.Rows[2].Descr = "New" }, true, true, false, ""},
		"another's raw address":  {func(s *aliastest.State) { s.Rows[2].Address = []string{"https://x.example.invalid/"} }, true, true, false, ""},
		"two others swapped":     {func(s *aliastest.State) { s.Rows[0], s.Rows[2] = s.Rows[2], s.Rows[0] }, true, true, false, ""},
		"nothing":                {func(*aliastest.State) {}, true, true, true, ""},
	} {
		fw := aliastest.New()
		fw.Change(x.change)
		f, now, err := look(t, fw)
		if class(err) != x.class {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && ((f.Fingerprint == base.Fingerprint) != x.print || (f.Locator == base.Locator) != x.place || (f.Collection == base.Collection) != x.others) {
			t.Errorf("%s: %+v", name, f)
		}
		if (now == all) != (name == "nothing") {
			t.Errorf("%s: the digest of all says otherwise", name)
		}
	}
}

func TestX12DetailsMayBeFewerThanAddressesAndNotMore(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "", 2: "", 3: "target_unresolved"} { // case 53
		fw := aliastest.New()
		fw.Change(func(s *aliastest.State) { s.Rows[1].Detail = []string{"a", "b", "c"}[:n] })
		if _, _, err := look(t, fw); class(err) != want {
			t.Errorf("%d details for 2 addresses: %v", n, err)
		}
	}
}

func TestATargetOutOfFormIsRefusedAndOthersAreCompared(t *testing.T) {
	const good = `{"id":1,"name":"web_servers","type":"host","descr":"Old text","address":["192.0.2.10"],"detail":["a"]}`
	seen := map[string]string{}
	for name, raw := range map[string]string{
		"no details":              strings.Replace(good, `["a"]`, `null`, 1),
		"no addresses":            strings.Replace(good, `["192.0.2.10"]`, `null`, 1),
		"details missing":         strings.Replace(good, `,"detail":["a"]`, ``, 1),
		"another member":          strings.Replace(good, `{`, `{"updatefreq":7,`, 1),
		"a member of other case":  strings.Replace(good, `"descr"`, `"Descr"`, 1),
		"a type unknown":          strings.Replace(good, `"host"`, `"url_ports"`, 1),
		"no text":                 strings.Replace(good, `"Old text"`, `null`, 1),
		"a detail that is null":   strings.Replace(good, `["a"]`, `[null]`, 1),
		"text not normalised":     strings.Replace(good, `Old text`, "e\u0301", 1),
		"a detail not normalised": strings.Replace(good, `["a"]`, "[\"e\u0301\"]", 1),
		"more details":            strings.Replace(good, `["a"]`, `["a","b"]`, 1),
	} {
		fw := aliastest.New()
		fw.Change(func(s *aliastest.State) { s.Rows[1].Raw = raw })
		l, err := fw.Reader(t, nil).List(t.Context())
		if err != nil {
			t.Errorf("%s: one such alias stops every change: %v", name, err)
			continue
		}
		if _, err := l.Find("web_servers"); class(err) != "target_unresolved" || errs.CodeOf(err) != errs.Conflict {
			t.Errorf("%s: %v", name, err)
		}
		other, err := l.Find("db_servers")
		if err != nil {
			t.Fatal(err)
		}
		if was, twice := seen[other.Collection]; twice {
			t.Errorf("%s looks like %s", name, was)
		}
		seen[other.Collection] = name
	}
	// A name that cannot be an alias's is never found, whatever the list holds.
	fw := aliastest.New()
	fw.Change(func(s *aliastest.State) { s.Rows[1].Name = "wéb" })
	l, err := fw.Reader(t, nil).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wéb", "we\u0301b", ""} {
		if _, err := l.Find(name); class(err) != "target_unresolved" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestReview30AnAliasOfMoreThan2000EntriesIsTooLarge(t *testing.T) {
	list := func(n int, text string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("%s%d", text, i)
		}
		return out
	}
	for n, want := range map[int]string{2000: "", 2001: "target_too_large", 4097: "target_too_large", 50000: "target_too_large"} {
		fw := aliastest.New()
		fw.Change(func(s *aliastest.State) { s.Rows[1].Address, s.Rows[1].Detail = list(n, "host"), list(n, "detail ") })
		if _, _, err := look(t, fw); class(err) != want {
			t.Errorf("%d entries: %v", n, err)
		}
	}
	// As a neighbour it is compared, to its last entry (N10: such lists are ordinary).
	for _, n := range []int{2001, 4096, 4097, 50000} {
		big := func(last string) string {
			fw := aliastest.New()
			fw.Change(func(s *aliastest.State) {
				s.Rows[0].Address = list(n, "host")
				s.Rows[0].Detail = list(n, "detail ")
				s.Rows[0].Detail[n-1] = last
			})
			f, _, err := look(t, fw)
			if err != nil {
				t.Fatalf("%d entries beside it: %v", n, err)
			}
			return f.Collection
		}
		if a, b := big("x"), big("y"); a == b || a != big("x") {
			t.Errorf("%d entries beside it: a change of the last is not seen", n)
		}
	}
	// Long texts instead of many.
	fw := aliastest.New()
	fw.Change(func(s *aliastest.State) {
		s.Rows[0].Address, s.Rows[0].Detail = list(1500, "host"), list(1500, strings.Repeat("d", 900))
	})
	if _, _, err := look(t, fw); err != nil {
		t.Error("long details beside it:", err)
	}
}

func TestReview17AnotherApplianceIsAnotherTarget(t *testing.T) {
	read := func(f func(*aliastest.State)) (*alias.List, error) {
		fw := aliastest.New()
		fw.Change(f)
		return fw.Reader(t, nil).List(t.Context())
	}
	base, err := read(func(*aliastest.State) {})
	if err != nil {
		t.Fatal(err)
	}
	same, err := read(func(s *aliastest.State) { s.NetgateID += "\n" }) // as the real one is shown
	if err != nil || same.Target != base.Target {
		t.Error("the line end of the id counts:", err)
	}
	for name, f := range map[string]func(*aliastest.State){
		"another id":    func(s *aliastest.State) { s.NetgateID = "0123456789abcdef0124" },
		"a host id":     func(s *aliastest.State) { s.NetgateID, s.HostID = "", "0123456789abcdef0123" },
		"a blank one":   func(s *aliastest.State) { s.NetgateID, s.HostID = " \n", "b1a5c0de" },
		"of other case": func(s *aliastest.State) { s.NetgateID = strings.ToUpper(s.NetgateID) },
	} {
		if l, err := read(f); err != nil || l.Target == base.Target {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]func(*aliastest.State){
		"neither":        func(s *aliastest.State) { s.NetgateID = "" },
		"a control byte": func(s *aliastest.State) { s.NetgateID = "ab\x01c" },
		"a blank inside": func(s *aliastest.State) { s.NetgateID = "ab c" },
		"no ASCII":       func(s *aliastest.State) { s.NetgateID = "äb" },
		"too long":       func(s *aliastest.State) { s.NetgateID = strings.Repeat("a", 257) },
	} {
		if _, err := read(f); class(err) != "read" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An identity that cannot be read is not looked for elsewhere: who can make one
// answer fail could choose the kind.
func TestAnIdentityThatCannotBeReadNamesNobody(t *testing.T) {
	for name, f := range map[string]fakepf.Fault{
		"missing":    {Kind: fakepf.DropField, Field: "netgate_id"},
		"a number":   {Kind: fakepf.Field, Field: "netgate_id", Value: "7"},
		"a list":     {Kind: fakepf.Field, Field: "netgate_id", Value: "[]"},
		"refused":    {Kind: fakepf.Status, Status: 403},
		"a time-out": {Kind: fakepf.Reset},
		"twice":      {Kind: fakepf.DuplicateKeys, Field: "netgate_id"},
	} {
		s, _, r := office(t, fakepf.Options{})
		if err := s.Set("HASync", 0, "pfhostid", "b1a5c0de"); err != nil {
			t.Fatal(err)
		}
		f.Path = status
		s.Fault(f)
		if _, err := r.List(t.Context()); class(err) != "read" {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.RequestsTo(hasync)) != 0 || len(s.RequestsTo(aliases)) != 0 {
			t.Errorf("%s: it read on", name)
		}
	}
}
