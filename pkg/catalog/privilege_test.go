package catalog

import (
	"slices"
	"testing"
)

func TestP1ThePrivilegeFollowsFromPathAndMethod(t *testing.T) {
	for _, c := range []struct{ method, path, want string }{
		{"PATCH", "/api/v2/firewall/alias", "api-v2-firewall-alias-patch"},
		{"GET", "/api/v2/status/dhcp_server/leases", "api-v2-status-dhcp-server-leases-get"},
		{"get", "/api/v2/firewall/aliases", "api-v2-firewall-aliases-get"},
		{"GET", "//double", "-double-get"}, // one leading - is dropped, not all
		{"GET", "/a.b-c_d", "a.b-c-d-get"},
		{"GET", "", ""},
		{"GET", "api/v2/x", ""},
		{"", "/api/v2/x", ""},
		{"GET1", "/api/v2/x", ""},
		{"GE T", "/api/v2/x", ""},
	} {
		if got := PrivilegeFor(c.path, c.method); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.method, c.path, got, c.want)
		}
	}
}

func TestTheContractNeeds94DistinctPrivileges(t *testing.T) {
	var got []string
	for _, r := range Tools() {
		if p := Privilege(r); p != "" && r.Toolset != SetExtended {
			got = append(got, p)
		}
	}
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != 94 || len(got) != 94 {
		t.Errorf("%d privileges, %d distinct, want 94", len(got), n)
	}
	if Privilege(mustLookup(t, InfoTool)) != "" {
		t.Error("the tool that asks no appliance needs a privilege")
	}
}

func TestAToolThatReadsItsParentNamesBothPrivileges(t *testing.T) {
	got := Privileges(mustLookup(t, "pfsense_get_status_ipsec_child_sas"))
	want := []string{"api-v2-status-ipsec-child-sas-get", "api-v2-status-ipsec-sas-get"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Privileges(mustLookup(t, InfoTool)); len(got) != 0 {
		t.Errorf("%v for the tool that asks no appliance", got)
	}
}

// TestP4TheWriteIdentityMayChangeOneThing: of its privileges one is no read, and the
// reads are among those of the READ tools.
func TestP4TheWriteIdentityMayChangeOneThing(t *testing.T) {
	read := map[string]bool{}
	for _, r := range Tools() {
		read[Privilege(r)] = true
	}
	var other []string
	all := ExecutorPrivileges()
	for _, p := range all {
		if !read[p] {
			other = append(other, p)
		}
	}
	if len(all) != 7 || len(other) != 1 || other[0] != "api-v2-firewall-alias-patch" {
		t.Errorf("%q, beyond the reads %q", all, other)
	}
}
