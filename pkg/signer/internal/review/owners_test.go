package review

import (
	"testing"

	"pfsensemcp/pkg/artifact"
	at "pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/authority"
)

// A pending file has room for one owner's name. Where several confirmation owners are
// pinned, the ones that it does not name are not locked out.
func TestAnyPinnedConfirmationOwnerMayConfirm(t *testing.T) {
	owners := *at.Owners()
	second := at.Seed(0xc9)
	owners.Confirmation = append([]authority.Key{}, owners.Confirmation...)
	owners.Confirmation = append(owners.Confirmation, authority.Key{ID: "owner-confirm-2", Public: at.Public(second)})
	x := authority.Key{ID: at.ExecutorID, Public: at.Public(at.KeyX())}
	digest, err := owners.SetDigest(x)
	if err != nil {
		t.Fatal(err)
	}
	plan := at.Plan()
	plan.Executor.AuthoritySet = digest
	e := plan.Executor
	pins := &authority.Pins{Executors: []authority.Pin{{
		Name: "edge firewall", StoreID: e.StoreID, NVIndexName: e.NVIndexName, ApplianceTarget: e.ApplianceTarget, Attestation: x, Authorities: owners,
	}}}
	for expected, taken := range map[string]bool{at.ConfirmationID: true, "owner-confirm-2": true, "owner-confirm-3": false, at.AuthorizationID: false} {
		p := at.Pending(t, at.Intent(), plan)
		p.ExpectedAuthority = expected
		job, err := Confirmation(Context{Pins: pins, Owner: authority.Confirmation, Public: at.Public(second), Now: at.At("09:31:00")}, at.File(t, p, at.KeyX()))
		if (err == nil) != taken {
			t.Errorf("a file for %s: %v", expected, err)
			continue
		}
		if !taken {
			continue
		}
		signed, err := job.Sign(at.At("09:31:00"))
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := signed.(*artifact.Confirmation); !ok || a.AuthorityID != "owner-confirm-2" {
			t.Errorf("signed as %q", a.AuthorityID)
		}
	}
}
