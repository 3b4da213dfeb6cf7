package fieldcases

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/test/fakepf"
)

// A missing REST package, a missing object and a missing optional package are
// all "not there", with three remedies.
func TestCase7ThreeKindsOfNotThereHaveThreeClasses(t *testing.T) {
	r := appliance(t, fakepf.Options{Packages: []string{"pfSense-pkg-RESTAPI"}})
	tools(func(tool *catalog.Tool) {
		if tool.Package == "" {
			return
		}
		// (c) Reads answer 200 with an empty list, or an object of defaults; only the
		// WireGuard status is an error. Either way the answer names the package from
		// our table and never lets an empty list speak for itself.
		a := r.run(tool, `{}`)
		if a.err != nil {
			if e := a.refused(t, pfrest.ClassPackageAbsent); !strings.Contains(e.Msg, tool.Package) {
				t.Errorf("%s: %v", tool.Name, e)
			}
			return
		}
		if n := a.note("package_state: absent"); !strings.Contains(n, tool.Package) {
			t.Errorf("%s: notes %q", tool.Name, a.Notes)
		}
	})

	// (b) a JSON 404
	id := r.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 404, ResponseID: "MODEL_OBJECT_NOT_FOUND", Count: -1})
	r.call("system_dns", `{}`).refused(t, pfrest.ClassNotFound)
	r.RemoveFault(id)

	// (a) nginx's own page, on every path
	id = r.Fault(fakepf.Fault{Kind: fakepf.NotInstalled, Count: -1})
	tools(func(tool *catalog.Tool) {
		if e := r.run(tool, `{}`).refused(t, pfrest.ClassNotInstalled); !strings.Contains(e.Next, "upgrade of the firewall removes it") {
			t.Errorf("%s: the next step is %q", tool.Name, e.Next)
		}
	})
	r.RemoveFault(id)
}

// The web interface answers 200 with its login page where no REST API is.
func TestCase8ALoginPageIsNotAnAnswer(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.Fault(fakepf.Fault{Kind: fakepf.Login, Count: -1})
	tools(func(tool *catalog.Tool) {
		a := r.run(tool, `{}`)
		e := a.refused(t, pfrest.ClassNotREST)
		if strings.ContainsAny(a.raw, "<>") || strings.Contains(a.raw, "Sign in") || !strings.Contains(e.Next, "port") {
			t.Errorf("%s: %s", tool.Name, a.raw)
		}
	})
}

// All gateways were shown as unknown: the tool read what is configured.
func TestCase13ConfigurationIsNotStatus(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	stored, live := r.call("gateways", `{}`).good(t), r.call("gateway_status", `{}`).good(t)
	for _, g := range stored.Rows {
		if _, has := g["status"]; has {
			t.Error("a stored gateway shows a status")
		}
	}
	for _, g := range live.Rows {
		if s, ok := g["status"].(string); !ok || s == "unknown" {
			t.Errorf("a live gateway has the status %v", g["status"])
		}
	}
	// A missing key is a fault of the mapping and said as one; it is no status.
	for i := range live.Rows {
		r.Fault(fakepf.Fault{Kind: fakepf.DropField, Path: "/api/v2/status/gateways", Row: i, Field: "status"})
		a := r.call("gateway_status", `{}`).good(t)
		if _, has := a.Rows[i]["status"]; has {
			t.Errorf("row %d shows the status %v that the appliance did not send", i, a.Rows[i]["status"])
		}
	}
	r.clear("RoutingGatewayStatus")
	r.insert("RoutingGatewayStatus", fields("name", "WAN_DHCP", "srcip", "", "monitorip", "", "delay", nil, "loss", nil, "stddev", nil))
	r.Fault(fakepf.Fault{Kind: fakepf.DropField, Path: "/api/v2/status/gateways", Field: "status"})
	a := r.call("gateway_status", `{}`).good(t)
	if !strings.Contains(a.note("fields this appliance does not send"), "status") {
		t.Errorf("notes %q", a.Notes)
	}
	// Observed: not monitored is null, never zero.
	if v, has := a.Rows[0]["loss"]; v != nil || !has {
		t.Errorf("loss is %v", v)
	}
	same(t, r.call("gateway_status", where("loss = 0")).good(t).column("name"))
	same(t, r.call("gateway_status", where("loss < 1")).good(t).column("name"))
}

// Package services are shown as stopped while they run. The case wants a mark on
// the rows; decisions.md has rows of the model alone and puts such things into
// notes.
func TestCase14AnOldVersionsServiceStatusIsNotBelieved(t *testing.T) {
	for version, want := range map[string]bool{"v2.7.1": true, "v2.7.4": true, "v2.8.0": false, "v2.10.0": false} {
		r := appliance(t, fakepf.Options{})
		if err := r.Set("RESTAPIVersion", 0, "current_version", version); err != nil {
			t.Fatal(err)
		}
		n := r.call("service_status", `{}`).good(t).note("known_wrong_for_package_services")
		if (n != "") != want || want && !strings.Contains(n, strings.TrimPrefix(version, "v")) {
			t.Errorf("%s: note %q", version, n)
		}
	}
}

// Five checks share three status codes; users then widen privileges to page-all.
func TestCase26EachRefusalHasItsClassAndItsRemedy(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	remedies := map[string]bool{}
	for _, x := range []struct {
		status    int
		id, class string
	}{
		{403, "AUTH_AUTHORIZATION_FAILED", pfrest.ClassAuthorization},
		{403, "ENDPOINT_CLIENT_NOT_ALLOWED_BY_ACL", pfrest.ClassPolicy},
		{403, "ENDPOINT_INTERFACE_NOT_ALLOWED", pfrest.ClassPolicy},
		{405, "ENDPOINT_METHOD_NOT_ALLOWED_IN_READ_ONLY_MODE", pfrest.ClassClientBug},
		{503, "ENDPOINT_REST_API_IS_NOT_ENABLED", pfrest.ClassAPIDisabled},
	} {
		r.Fault(fakepf.Fault{Kind: fakepf.Status, Status: x.status, ResponseID: x.id, Path: "/api/v2/system/dns"})
		e := r.call("system_dns", `{}`).refused(t, x.class)
		if e.Next == "" || remedies[e.Next] {
			t.Errorf("%s has no remedy of its own: %q", x.id, e.Next)
		}
		remedies[e.Next] = true
	}
}

// Observed 32: with pfREST a missing privilege is always a 403, so an empty list
// needs no doubt about it (amendments READ 7); the 403 never names it.
func TestCase32AMissingPrivilegeIsNamedAndNeverAnEmptyList(t *testing.T) {
	r := appliance(t, fakepf.Options{Keys: []fakepf.Key{{Secret: fakepf.ReadKey, User: "x", Privileges: []string{"page-none"}}}})
	tools(func(tool *catalog.Tool) {
		path := tool.Path
		if tool.Reads != nil {
			path = tool.Reads.Path
		}
		if e := r.run(tool, `{}`).refused(t, pfrest.ClassAuthorization); !strings.Contains(e.Msg, fakepf.Privilege(path, "GET")) {
			t.Errorf("%s: %v", tool.Name, e)
		}
	})
}

// Leases are empty with status 200 when the wrong back end is asked or none answers.
func TestCase31NoLeasesIsNeverSaidOfAnEmptyList(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	if n := r.call("dhcp_leases", `{}`).good(t).note("dhcp_backend: "); n != "dhcp_backend: kea, running" {
		t.Errorf("note %q", n)
	}
	r.clear("DHCPServerLease")
	a := r.call("dhcp_leases", `{}`).good(t)
	if len(a.Rows) != 0 || a.note("dhcp_backend: kea") == "" || a.note("does not tell no leases") == "" {
		t.Errorf("%d rows, notes %q", len(a.Rows), a.Notes)
	}
	r = appliance(t, fakepf.Options{})
	r.clear("DHCPServerLease")
	r.clear("Service")
	r.insert("Service", fields("name", "dhcpd", "description", "DHCP", "enabled", true, "status", false))
	if a := r.call("dhcp_leases", `{}`).good(t); a.note("dhcp_backend: isc, not running") == "" {
		t.Errorf("notes %q", a.Notes)
	}
	// The TypeError of older versions is an error, not an empty list.
	r.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", Path: catalog.PathDHCPLeases, Count: -1})
	r.call("dhcp_leases", `{}`).refused(t, pfrest.ClassAPI)
}

// A field that the appliance's version does not have is missing, not empty. The
// other half of the case, documentation of another version, is the documentation
// tool's.
func TestCase35AFieldThatThisVersionLacksIsSaidToBeMissing(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	r.clear("FirewallRule")
	r.insert("FirewallRule", fields("descr", "a"))
	r.Fault(fakepf.Fault{Kind: fakepf.DropField, Path: "/api/v2/firewall/rules", Field: "dscp"})
	a := r.call("firewall_rules", `{}`).good(t)
	if _, has := a.Rows[0]["dscp"]; has || !strings.Contains(a.note("fields this appliance does not send"), "dscp") {
		t.Errorf("row %v, notes %q", a.Rows[0], a.Notes)
	}
}

// An endpoint of a newer version is a bare 404 on an older appliance. The case
// wants that known before the call; every call would pay for it, so it is found
// out after the 404, once in ten minutes.
func TestCase40AnEndpointOfANewerVersionIsSaidToBeOne(t *testing.T) {
	r := appliance(t, fakepf.Options{})
	if err := r.Set("RESTAPIVersion", 0, "current_version", "v2.7.1"); err != nil {
		t.Fatal(err)
	}
	newer := 0
	tools(func(tool *catalog.Tool) {
		if tool.Since == "" {
			return
		}
		newer++
		r.Fault(fakepf.Fault{Kind: fakepf.NotInstalled, Path: tool.Path})
		e := r.run(tool, `{}`).refused(t, "unavailable_on_this_version")
		if !strings.Contains(e.Next, tool.Since) || !strings.Contains(e.Msg, "2.7.1") || !strings.Contains(e.Next, tool.Instead) {
			t.Errorf("%s: %v, %s", tool.Name, e, e.Next)
		}
	})
	if newer != 5 { // of the nine endpoints that 2.7.1 lacks, five are tools
		t.Errorf("%d tools have an endpoint that 2.7.1 lacks", newer)
	}
	if n := len(r.RequestsTo(catalog.PathRESTAPIVersion)); n != 1 {
		t.Errorf("the version was read %d times", n)
	}
}
