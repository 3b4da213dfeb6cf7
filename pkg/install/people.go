package install

import (
	"strconv"
	"strings"

	"pfsensemcp/pkg/install/internal/accounts"
)

// people refuses an operator who is no user, over whom no daemon would start, and says
// what to do when nobody but root operates.
func (p *Plan) people(h *Host) error {
	a, err := accounts.Read(h.Root)
	if err != nil {
		return nil // without these files no daemon starts, whatever setup does
	}
	for _, u := range p.Operators {
		if _, err := strconv.ParseUint(u, 10, 32); err != nil && !a.User(u) {
			return refuse("there is no user "+u+" on this host, whom --operator names", "make the account first (useradd -m "+u+"), or correct the name: the daemons do not start with an operator who is none")
		}
	}
	members, ok := a.Members(accounts.Operators)
	switch {
	case !ok:
		p.Notes = append(p.Notes, "there is no group "+accounts.Operators+" yet: systemd-sysusers pfsense-mcp.conf, or the package, makes it")
	case len(p.Operators) == 0 && len(members) == 0:
		p.Notes = append(p.Notes, "nobody but root operates: setup --operator USER, then usermod -aG "+accounts.Operators+" USER")
	case len(p.Operators) == 0:
		p.Notes = append(p.Notes, "in the group "+accounts.Operators+", but no operator by the settings, and turned away: "+strings.Join(members, ", ")+"; setup --operator USER admits one")
	case len(members) == 0:
		p.Notes = append(p.Notes, "the group "+accounts.Operators+" has no member, so nobody but root reaches the operators' sockets: usermod -aG "+accounts.Operators+" "+p.Operators[0])
	}
	return nil
}

// group says whether this host has a group.
func (h *Host) group(name string) bool {
	a, err := accounts.Read(h.Root)
	if err != nil {
		return false
	}
	_, ok := a.GID(name)
	return ok
}
