package signer

import (
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/signer/internal/screen"
	"pfsensemcp/pkg/signer/internal/vault"
)

// showPins shows what the signer trusts.
func showPins(e *Env, args []string) error {
	if len(args) > 0 {
		return &misuse{"pins takes nothing"}
	}
	dir, err := vault.Open(e.Dir)
	if err != nil {
		return err
	}
	pins, err := loadPins(dir)
	if err != nil {
		return err
	}
	page := &screen.Page{}
	for i := range pins.Executors {
		x := &pins.Executors[i]
		set, err := x.AuthoritySet()
		if err != nil {
			return err
		}
		page.Row("Appliance", x.Name, "digest "+x.ApplianceTarget)
		page.Row("Store", x.StoreID, "counter index "+x.NVIndexName)
		build := x.BuildID
		if build == "" {
			build = "any"
		}
		page.Row("Executor", screen.Key(x.Attestation.ID, x.Attestation.Public), "build "+build)
		for _, o := range authority.Owners() {
			for _, k := range x.Authorities.Of(o) {
				page.Row(string(o), screen.Key(k.ID, k.Public))
			}
		}
		page.Row("All keys", "digest "+set)
		page.Line("")
	}
	return e.say(page.String())
}
