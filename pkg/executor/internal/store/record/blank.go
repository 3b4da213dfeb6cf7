package record

import "strings"

// Blank returns an empty row of the kind that stands under a key, nil when there is
// no such kind. Sealed bytes are no rows.
func Blank(b Bucket, key string) Record {
	switch b {
	case Meta:
		switch {
		case key == StoreKey:
			return &Founding{}
		case key == ClockKey:
			return &Clock{}
		case key == RowsKey:
			return &Rows{}
		case key == CopyKey:
			return &Copy{}
		case strings.HasPrefix(key, RateStart):
			return &Rate{}
		}
	case Anchors:
		switch key {
		case AnchorKey:
			return &Anchor{}
		case ProvisioningKey:
			return &Provisioning{}
		}
	case Requests:
		return &Request{}
	case Previews:
		return &Preview{}
	case Contracts:
		return &Contract{}
	case Consumed:
		return &Use{}
	case Reservations:
		return &Reservation{}
	case Cooldowns:
		return &Cooldown{}
	case Observations:
		return &Sighting{}
	case AuditLog:
		return &Audit{}
	case Exports:
		return &ExportNote{}
	case Sends:
		return &Send{}
	case Results:
		return &Result{}
	case SignedFiles:
		return &SignedFile{}
	case Keyring:
		return &OldKey{}
	}
	return nil
}
