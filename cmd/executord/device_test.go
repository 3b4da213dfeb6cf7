package main

import (
	"path/filepath"
	"strings"
	"testing"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/sandbox"
)

func TestAHostWithoutATPMIsToldSoAndWhatToDo(t *testing.T) {
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "tpmrm0")
	for _, devices := range [][]string{nil, {here}} {
		if err := device(sandbox.Profile{Devices: devices}); err != nil {
			t.Errorf("%v: %v", devices, err)
		}
	}
	err := device(sandbox.Profile{Devices: []string{gone}})
	if err == nil || !strings.Contains(err.Error(), "no TPM on this host: "+gone) || !strings.Contains(errs.Public(err).Next, "witness") {
		t.Errorf("%v", err)
	}
}

func TestWhoProvisionsByHandReadsTheSecretWhereTheUnitHasIt(t *testing.T) {
	for _, row := range []struct{ name, credentials, want string }{
		{"nv-auth", "", "/etc/pfsense-mcp/credentials/witness-nv-auth"},
		{"nv-auth", "/run/credentials/x", "nv-auth"},
		{"/root/nv-auth", "", "/root/nv-auth"},
		{"", "", ""},
	} {
		if got := atRest(row.name, row.credentials); got != row.want {
			t.Errorf("%q beside %q: %q, want %q", row.name, row.credentials, got, row.want)
		}
	}
}
