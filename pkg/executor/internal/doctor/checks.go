package doctor

import (
	"fmt"
	"time"

	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// checks are all of them. Holds is what a pass says.
var checks = []struct {
	id, holds string
	run       func(*subject) finding
}{
	{"executor.version", "executord runs and says which version it is", func(s *subject) finding {
		return pass("version " + s.Version)
	}},
	{"config.complete", "the write configuration is complete and switched on", config},
	{"authorities.disjoint", "every owner has keys and ids of its own", disjoint},
	{"authorities.pinned", "each of the three owners has a key", pinned},
	{"tls.not_insecure", "the appliance proves who it is", transport},
	{"appliance.identity", "the appliance is the one that changes were made on", identity},
	{"appliance.package_version", "the appliance runs a version and settings on which the change is proven", version},
	{"store.permissions", "nobody else can reach the store", permissions},
	{"store.space", "there is room for a change", space},
	{"store.integrity", "the store is what executord wrote", integrity},
	{"anchor.provisioned", "the store is founded on a counter", provisioned},
	{"anchor.verified", "the counter agrees with the store", verified},
	{"anchor.assurance", "the counter is a hardware witness", assurance},
	{"anchor.lockout", "the TPM accepts secrets", lockout},
	{"keys.sealed", "the keys come from the service manager's credentials", sealed},
	{"clock.sane", "the clock fits what the store remembers", clock},
	{"rate.lockout_clear", "nothing stands in the way of a new change", clear},
	{"requests.none_stuck", "no change waits for somebody", stuck},
	{"endpoints.single_entry", "one change is compiled in, and no other", entries},
	{"lab", "this is no laboratory", func(s *subject) finding {
		if s.found.Status.Lab {
			return warn("it is one: a software TPM may stand for the witness", "never use it for an appliance that matters")
		}
		return pass("")
	}},
	{"test_build", "this is no test build", func(s *subject) finding {
		if s.found.Status.TestBuild {
			return fail("it is one: its waiting times are shortened", "install the packaged executord")
		}
		return pass("")
	}},
}

func config(s *subject) finding {
	switch {
	case !s.Enabled:
		return absent("it is complete, and write.enabled is false", "set write.enabled in executord.toml when changes shall be possible")
	case s.found.Status.Quarantine != "":
		return fail("executord is in quarantine: "+s.found.Status.Quarantine, "see which of the checks below fails; a counter that differs needs mcpctl anchor rebaseline")
	case !s.found.Status.Constructible:
		return fail("no change can be asked for: "+s.found.Status.Why, "see which of the checks below fails")
	}
	return pass("")
}

func disjoint(s *subject) finding {
	if s.Authorities == nil {
		return unknown("the authorities are not known", "")
	}
	// Reading them anew applies every rule: an owner's key or id that stands twice is
	// refused there.
	b, err := s.Authorities.Encode()
	if err == nil {
		_, err = authority.Parse(b)
	}
	if err != nil {
		return fail("two owners share a key or an id", "give each owner a key of its own in authorities.json")
	}
	return pass("")
}

func pinned(s *subject) finding {
	if s.Authorities == nil {
		return unknown("the authorities are not known", "")
	}
	n := 0
	for _, o := range authority.Owners() {
		if len(s.Authorities.Of(o)) == 0 {
			return fail("an owner has no key", "name the keys of all three owners in authorities.json")
		}
		n += len(s.Authorities.Of(o))
	}
	return pass(fmt.Sprintf("%d keys", n))
}

func transport(s *subject) finding {
	if s.TLSMode != "strict" && s.TLSMode != "auto" {
		return fail("nothing says which certificate the appliance must show", "set appliance.tls_mode to strict, or to auto with appliance.ca_file")
	}
	if s.Pinned {
		return pass(s.TLSMode + ", and its key is pinned")
	}
	return pass(s.TLSMode)
}

func identity(s *subject) finding {
	if s.survey == nil {
		return s.unread()
	}
	latest := ""
	if s.haveStore {
		if err := s.view(func(v *store.View) error {
			newest, _, err := v.ContractPage(0, 1)
			if err == nil && len(newest) > 0 {
				latest = newest[0].Provenance.Appliance
			}
			return err
		}); err != nil {
			return unknown("the store cannot be read", "see store.integrity")
		}
	}
	switch latest {
	case "":
		return pass("it was read; no change was approved yet that it could be compared with")
	case s.survey.Target:
		return pass("")
	}
	return fail("it is another one than that of the latest change, or its address or certificate changed",
		"find out why; approvals for the former one are void, and signers must pin the new one")
}

// unread says that the appliance could not be asked.
func (s *subject) unread() finding {
	if s.surveyed == nil {
		return unknown("the appliance was not asked", "")
	}
	return unknown("the appliance could not be read: "+class(s.surveyed), "see that it is up and that the write account has its seven privileges: mcpctl privileges --profile executor")
}

func version(s *subject) finding {
	switch {
	case s.survey != nil:
		return pass("version " + s.survey.Version)
	case class(s.surveyed) == "appliance_version":
		return fail("the change is not proven on this version", "use a version of the REST package that executord's manual lists")
	case class(s.surveyed) == "appliance_settings":
		return fail("a setting of the REST package stands in the way", "switch off links in answers and the read-only mode of the REST package")
	}
	return s.unread()
}

func permissions(s *subject) finding {
	if s.Permissions == nil {
		return unknown("the directory was not looked at", "")
	}
	err := s.Permissions()
	switch {
	case err == nil, class(err) == "disk_full", class(err) == "already_running": // all before it was sound; the lock is our own
		return pass("")
	case class(err) == "store_permissions":
		return fail("somebody else can reach the store, or a directory above it", "give the directory to executord alone, mode 0700, and let nobody else write above it")
	}
	return unknown("the directory could not be looked at", "see executord's log")
}

func space(s *subject) finding {
	if s.Permissions == nil {
		return unknown("the directory was not looked at", "")
	}
	switch err := s.Permissions(); {
	case class(err) == "disk_full":
		return fail("less than 8 MiB are free beside the store, so no change is begun", "make room on the file system of store_dir")
	case err != nil && class(err) != "already_running":
		return unknown("the directory could not be looked at", "see store.permissions")
	}
	return pass("")
}

func integrity(s *subject) finding {
	switch f := s.report.Finding; {
	case !s.haveStore:
		return absent("there is no store yet", "mcpctl anchor status says what comes next")
	case f != nil && f.Seq > 0:
		return fail(fmt.Sprintf("%s at audit row %d", f.Class, f.Seq), "change nothing: keep the file, and see mcpctl audit verify")
	case f != nil:
		return fail(f.Class, "change nothing: keep the file, and see mcpctl audit verify")
	case s.verify != nil:
		return unknown("the store could not be verified: "+class(s.verify), "mcpctl audit verify")
	case s.report.Restored:
		return fail("it is a restored backup: it has forgotten what came after it", "mcpctl anchor status -o anchor.json; the reconciliation owner signs; mcpctl anchor rebaseline FILE")
	case s.report.Fallback:
		return warn("one of the file's two roots is unreadable; the other is whole", "look after the disk; keep a copy: mcpctl store backup")
	}
	return pass(fmt.Sprintf("%d audit rows", s.report.Audit))
}

func provisioned(s *subject) finding {
	if !s.found.Complete {
		return absent("it is not", "mcpctl anchor status says what comes next")
	}
	return pass("")
}

func verified(s *subject) finding {
	switch s.found.Evidence.Anchor {
	case change.EvidenceVerified:
		return pass("")
	case change.EvidenceMismatch:
		return fail("it does not: the store was restored, or somebody else moved the counter",
			"find out which; then mcpctl anchor status -o anchor.json and a signed rebaseline")
	case change.EvidenceUnreachable:
		return unreadable(s.found.Unread)
	case change.EvidenceStoreError:
		return fail("the store cannot be read", "see store.integrity")
	case change.EvidenceInvalid:
		return fail("the configuration is not sound", "executord --check-config")
	}
	return absent("there is nothing to compare yet", "mcpctl anchor status says what comes next")
}

// unreadable says why the counter cannot be read and what to do about it: in the words
// of its own error, which name no path and quote nobody.
func unreadable(err error) finding {
	if e := errs.Public(err); err != nil && e.Next != "" {
		return fail("the counter cannot be read: "+e.Msg, e.Next)
	}
	return fail("the counter cannot be read", "check the TPM, or the witness host and the way to it")
}

func assurance(s *subject) finding {
	detected := s.found.Facts.Assurance
	switch {
	case detected == change.AssuranceHardware:
		return pass("")
	case detected == change.AssuranceSoftware && s.found.Status.Lab:
		return warn("it is software, which this laboratory lets stand for hardware", "never use it for an appliance that matters")
	case detected == change.AssuranceSoftware:
		return fail("it is software: a snapshot of the disk turns it back", "use a TPM of real hardware, or a witness on another host")
	}
	return unknown("what it is could not be found out", "check the TPM, or the witness host and the way to it")
}

func lockout(s *subject) finding {
	switch {
	case s.found.Facts.Lockout:
		return fail("it is in lockout after wrong secrets", "find who tried them; give the TPM to executord alone; the lockout ends with time")
	case s.found.Facts.Backend == "":
		return unknown("the TPM could not be asked", "check the TPM, or the witness host and the way to it")
	}
	return pass("")
}

func sealed(s *subject) finding {
	if !s.Sealed {
		return warn("they are read from files", "in production give them with LoadCredentialEncrypted: mcpctl setup --write does")
	}
	return pass("")
}

func clock(s *subject) finding {
	if !s.haveStore {
		return absent("there is no store yet", "")
	}
	var is store.ClockFinding
	if err := s.view(func(v *store.View) (err error) {
		is, err = v.Clock()
		return err
	}); err != nil {
		return unknown("the store cannot be read", "see store.integrity")
	}
	switch is {
	case store.ClockSound:
		return pass("")
	case store.ClockBehind:
		return warn("it is a little behind the latest time that the store saw", "let the clock be set by its time service")
	case store.ClockRegressed:
		return fail("it is more than five minutes behind the latest time that the store saw",
			"set the clock; if it is right and the stored time is wrong, a rebaseline with the reason clock_poisoned lowers that")
	}
	return fail("it jumped against the time since the machine started", "set the clock; it is noticed by itself")
}

func clear(s *subject) finding {
	if !s.haveStore {
		return absent("there is no store yet", "")
	}
	var landing time.Duration
	var begin error
	if err := s.view(func(v *store.View) (err error) {
		begin = v.MayBegin()
		landing, err = v.Landing()
		return err
	}); err != nil {
		return unknown("the store cannot be read", "see store.integrity")
	}
	switch why := class(begin); {
	case begin == nil:
		return pass("")
	case why == "lockout":
		return fail("too many changes have an open outcome", "settle them: mcpctl write list, observe, reconcile")
	case why == "landing_window":
		return warn(fmt.Sprintf("a write without an answer may still land for %d s", int(landing.Seconds())+1), "wait; then observe and reconcile that change")
	case why == "in_flight":
		return warn("a change is under way", "look again in a minute")
	}
	return unknown("it could not be found out", "see store.integrity")
}

// stuckAfter is how long a change may be under way, or be confirmed and not begun.
const stuckAfter = 10 * time.Minute

func stuck(s *subject) finding {
	if !s.haveStore {
		return absent("there is no store yet", "")
	}
	hanging, waiting, open, locked := 0, 0, 0, 0
	if err := s.view(func(v *store.View) error {
		all, err := v.Active()
		if err != nil {
			return err
		}
		for _, c := range all {
			_, res, err := v.Contract(c.ContractID)
			if err != nil {
				return err
			}
			old := v.Now().Wall.Sub(res.At) > stuckAfter
			switch {
			case c.State.InFlight() && old:
				hanging++
			case c.State == record.Prepared && c.Confirmed() && v.Now().Wall.Sub(c.ConfirmedAt) > stuckAfter:
				waiting++
			case c.State == record.Reconciliation:
				open++
			case c.State == record.RollbackFailed:
				locked++
			}
		}
		return nil
	}); err != nil {
		return unknown("the store cannot be read", "see store.integrity")
	}
	switch {
	case hanging > 0:
		return fail(fmt.Sprintf("%d under way for more than ten minutes", hanging), "see executord's log and anchor.verified; a restart settles it by what is known")
	case waiting > 0:
		return warn(fmt.Sprintf("%d confirmed and not begun", waiting), "mcpctl write list names it; mcpctl write resume")
	case open > 0:
		return warn(fmt.Sprintf("%d with an open outcome", open), "mcpctl write list names it; observe, have it signed, reconcile")
	case locked > 0:
		return warn(fmt.Sprintf("%d whose undo failed and whose target is locked", locked), "mcpctl write list names it; observe, have it signed, release")
	}
	return pass("")
}

func entries(s *subject) finding {
	all := exchange.Allowed()
	if len(all) != 1 || all[0].Capability != change.Capability || all[0].Symbol != change.EndpointSymbol || all[0].Method != change.HTTPMethod {
		return fail("the compiled table is not that of one description", "install the packaged executord")
	}
	return pass("")
}
