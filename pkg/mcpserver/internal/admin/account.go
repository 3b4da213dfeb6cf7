package admin

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"strings"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/jsonline"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/proto/admin/v1"
)

// The rows whose endpoints list users and groups.
const (
	usersTool  = "pfsense_get_users"
	groupsTool = "pfsense_get_user_groups"
)

// Bounds of one account.
const (
	maxAccount = 64  // bytes of a name
	maxListed  = 500 // users or groups that are looked at, in one page
	maxHeld    = 512 // privileges of one account
	maxName    = 128 // bytes of a privilege
)

// allUsers is the group that everybody belongs to, whether its list says so or not.
const allUsers = "all"

// everything is the privilege that holds all others.
const everything = "page-all"

// AccountPrivileges implements admin.v1. The appliance is asked for its lists, always
// the same ones; the name is only compared with what they hold.
func (a *Admin) AccountPrivileges(ctx context.Context, req *adminpb.AccountPrivilegesRequest) (*adminpb.AccountPrivilegesResponse, error) {
	name := req.GetAccount()
	out := &adminpb.AccountPrivilegesResponse{}
	own := name == ""
	if own {
		name = a.about.Identity
	}
	if name == "" || len(name) > maxAccount || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		if own {
			out.Problem = "identity_is_no_account" // a setting: any text for the audit lines
			return out, nil
		}
		return nil, errs.New(errs.Invalid, "an account is named by 1 to 64 visible characters of ASCII").WithClass("request_validation")
	}
	peer, _ := rpc.PeerFrom(ctx)
	caller := pfrest.Caller{UID: peer.UID}
	users, err := a.list(ctx, caller, usersTool)
	if err != nil {
		out.Problem = class(err)
		return out, nil
	}
	var user jsontext.Value
	for _, u := range users {
		if text(u, "name") != name {
			continue
		}
		if user != nil {
			out.Found, out.Ambiguous = adminpb.Known_KNOWN_YES, true
			return out, nil
		}
		user = u
	}
	switch {
	case user == nil && len(users) == maxListed:
		out.Problem = "too_many_users"
		return out, nil
	case user == nil:
		out.Found = adminpb.Known_KNOWN_NO
		return out, nil
	}
	out.Found = adminpb.Known_KNOWN_YES
	out.Disabled = known(user, "disabled") == adminpb.Known_KNOWN_YES
	h := held{}
	h.take(user)
	groups, err := a.list(ctx, caller, groupsTool)
	out.GroupsUnreadable = err != nil || len(groups) == maxListed
	for _, g := range groups {
		members, whole := texts(g, "member")
		h.cut = h.cut || !whole
		if text(g, "name") == allUsers || slices.Contains(members, name) {
			h.take(g)
		}
	}
	out.Privileges, out.Cut = h.list()
	uid, _ := jsonline.Member(user, "uid")
	out.Administrator = string(uid) == "0" || slices.Contains(out.Privileges, everything)
	return out, nil
}

// list reads one list of the appliance, of at most maxListed rows; they are the
// caller's.
func (a *Admin) list(ctx context.Context, caller pfrest.Caller, tool string) ([]jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, factWithin)
	defer cancel()
	answer, err := a.appliance.Get(ctx, caller, pathOf(tool), pfrest.Page{Limit: maxListed})
	defer answer.Release()
	if err != nil {
		return nil, err
	}
	var rows []jsontext.Value
	if err := json.Unmarshal(answer.Data, &rows); err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "the appliance's list cannot be read").WithClass(pfrest.ClassShape)
	}
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
	}
	return rows, nil
}

// held gathers the privileges of one account.
type held struct {
	all []string
	cut bool
}

// take adds the privileges of a user or group.
func (h *held) take(row jsontext.Value) {
	list, whole := texts(row, "priv")
	h.cut = h.cut || !whole
	for _, p := range list {
		if !privilege(p) {
			h.cut = true // it is an outsider's text: that there is one is all that is told
			continue
		}
		h.all = append(h.all, p)
	}
}

// list returns the privileges, sorted, each once, and whether some are missing.
func (h *held) list() ([]string, bool) {
	slices.Sort(h.all)
	all := slices.Compact(h.all)
	return all[:min(len(all), maxHeld)], h.cut || len(all) > maxHeld
}

// privilege says whether a text is the name of a privilege.
func privilege(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// texts reads a list of texts; null is an empty one. whole is false when the member
// is no such list: what it would have said is then unknown.
func texts(obj jsontext.Value, name string) (list []string, whole bool) {
	v, ok := jsonline.Member(obj, name)
	if !ok {
		return nil, false
	}
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, false
	}
	return list, true
}
