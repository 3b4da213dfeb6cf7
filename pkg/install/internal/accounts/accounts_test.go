package accounts

import (
	"slices"
	"testing"
)

func TestMembersAreThoseOfTheListAndThoseWhoseOwnGroupItIs(t *testing.T) {
	a := Parse("ann:x:1000:50::/:/bin/sh\nbob:x:1001:51::/:/bin/sh\nhalf:x:1\n", "ops:x:50:bob, cat\nops:x:51:eve\n")
	if got, ok := a.Members("ops"); !ok || !slices.Equal(got, []string{"ann", "bob", "cat"}) {
		t.Errorf("%v %v", got, ok)
	}
	if _, ok := a.Members("none"); ok {
		t.Error("a group that is none has members")
	}
	if gid, ok := a.GID("ops"); !ok || gid != 50 {
		t.Errorf("of two lines the first counts, not %d", gid)
	}
	if !a.User("ann") || a.User("cat") || a.User("half") {
		t.Error("a user is a line of its own, and a whole one")
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add("root:x:0:0::/:/bin/sh\n", "pfsense-mcpd:x:5:a,b\npfsense-mcpd:x:6:c\n")
	f.Add("::::::", ":::,,,")
	f.Fuzz(func(t *testing.T, passwd, group string) {
		a := Parse(passwd, group)
		for g := range a.gids {
			members, ok := a.Members(g)
			if !ok || !slices.IsSorted(members) || slices.Contains(a.listed[g], "") {
				t.Errorf("%q: %q", g, members)
			}
		}
	})
}
