package guidance

import (
	"strings"

	"pfsensemcp/pkg/errs"
)

// The editions an appliance can be observed as. There is no "both" among them:
// one appliance is one edition, or we do not know.
const (
	KnownCE   = "known_ce"
	KnownPlus = "known_plus"
	Unknown   = "unknown"
)

// maxVersion bounds a version text, in bytes.
const maxVersion = 32

// Observed is what is known of the appliance: both values, or neither.
type Observed struct {
	Edition string // KnownCE, KnownPlus or Unknown
	Version string // the appliance's base version; "" when unknown
}

// Observe checks what a caller says it observed. The edition is derived from
// the version again, and a pair that disagrees is refused: the caller read
// something else than it thinks, and a judgement on half of it would be wrong
// with confidence. A version that names no edition is kept with the edition
// unknown.
func Observe(edition string, version *string) (Observed, error) {
	switch edition {
	case KnownCE, KnownPlus, Unknown:
	default:
		return Observed{}, refused("the observed edition is none of known_ce, known_plus, unknown")
	}
	if version == nil {
		if edition != Unknown {
			return Observed{}, refused("an edition without a version was not observed")
		}
		return Observed{Edition: Unknown}, nil
	}
	if !plainVersion(*version) {
		return Observed{}, refused("the observed version is not 1 to 32 letters, digits and . _ + -")
	}
	if EditionOf(*version) != edition {
		return Observed{}, refused("the observed edition and version disagree")
	}
	return Observed{Edition: edition, Version: *version}, nil
}

func refused(msg string) error {
	return errs.New(errs.Invalid, msg).WithClass("identity")
}

// EditionOf derives the edition from a version: the number before the first dot
// is 1 to 9 for CE and the year, 21 to 99, for Plus. Only ASCII digits count,
// without a leading zero: other scripts have digits too, and no release is
// numbered with them.
func EditionOf(version string) string {
	major, _, _ := strings.Cut(version, ".")
	for i := range len(major) {
		if major[i] < '0' || major[i] > '9' {
			return Unknown
		}
	}
	switch {
	case len(major) == 1 && major >= "1":
		return KnownCE
	case len(major) == 2 && major >= "21":
		return KnownPlus
	}
	return Unknown
}

// plainVersion says whether a version text can be shown as it is.
func plainVersion(s string) bool {
	if s == "" || len(s) > maxVersion {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '_', c == '+', c == '-':
		default:
			return false
		}
	}
	return true
}
