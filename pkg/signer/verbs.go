package signer

import (
	"pfsensemcp/pkg/artifact/authority"
	"pfsensemcp/pkg/signer/internal/review"
)

// verb is a signing command.
type verb struct {
	name   string
	owners []authority.Owner // whose key may sign it
	// extra are the flags beyond -i and -o, with what their values may be.
	extra  map[string]func(string) bool
	review func(s *session, file []byte, given map[string]string) (*review.Job, error)
}

// plain makes a verb whose review needs the file alone.
func plain(name string, f func(review.Context, []byte) (*review.Job, error), owners ...authority.Owner) verb {
	return verb{name: name, owners: owners, review: func(s *session, file []byte, _ map[string]string) (*review.Job, error) {
		return f(s.context(), file)
	}}
}

func authorization() verb {
	return plain("sign-authorization", review.Authorization, authority.Authorization)
}

func confirmation() verb {
	return plain("sign-confirmation", review.Confirmation, authority.Confirmation)
}

// rollback signs under the role of the owner whose key is here.
func rollback() verb {
	return plain("sign-rollback", review.Rollback, authority.Authorization, authority.Confirmation)
}

// oneOf says whether a value is a key of the table.
func oneOf(table map[string]string) func(string) bool {
	return func(s string) bool { _, ok := table[s]; return ok }
}

func reconciliation() verb {
	return verb{
		name: "sign-reconciliation", owners: []authority.Owner{authority.Reconciliation},
		extra: map[string]func(string) bool{"outcome": oneOf(review.Outcomes()), "pending": func(string) bool { return true }},
		review: func(s *session, file []byte, given map[string]string) (*review.Job, error) {
			var pending []byte
			if path := given["pending"]; path != "" {
				var err error
				if pending, err = s.input(path); err != nil {
					return nil, err
				}
			}
			return review.Reconciliation(s.context(), file, given["outcome"], pending)
		},
	}
}

func rebaseline() verb {
	return verb{
		name: "sign-rebaseline", owners: []authority.Owner{authority.Reconciliation},
		extra: map[string]func(string) bool{"reason": oneOf(review.Reasons())},
		review: func(s *session, file []byte, given map[string]string) (*review.Job, error) {
			return review.Rebaseline(s.context(), file, given["reason"])
		},
	}
}
