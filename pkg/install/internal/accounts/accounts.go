// Package accounts owns what the files of users and groups say.
//
// install and doctor import it. Directories elsewhere are not asked: the users and groups
// of the suite are local ones, and its daemons, which are static programs, know no other.
//
// The attack it stops: a member of a group who is counted nowhere because the group is
// their own one.
package accounts

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The groups of the suite, each of them a wall (deploy/systemd, sysusers.d).
const (
	Clients   = "pfsense-mcp"       // MCP clients: mcp.sock
	Operators = "pfsense-mcp-admin" // the operators' sockets
	Mcpd      = "pfsense-mcpd"      // mcpd alone
)

// maxAccounts bounds each of the two files, in bytes.
const maxAccounts = 4 << 20

// Accounts is what /etc/passwd and /etc/group say.
type Accounts struct {
	users   map[string]bool
	gids    map[string]uint32
	listed  map[string][]string // members that a group names
	primary map[uint32][]string // users whose own group has the number
}

// Read reads both files below a root.
func Read(root string) (Accounts, error) {
	p, errP := readSmall(filepath.Join(root, "/etc/passwd"))
	g, errG := readSmall(filepath.Join(root, "/etc/group"))
	if err := errors.Join(errP, errG); err != nil {
		return Accounts{}, err
	}
	return Parse(p, g), nil
}

// Parse reads the text of both files; a line that is none says nothing.
func Parse(passwd, group string) Accounts {
	a := Accounts{users: map[string]bool{}, gids: map[string]uint32{}, listed: map[string][]string{}, primary: map[uint32][]string{}}
	for line := range strings.Lines(group) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) != 4 {
			continue
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if _, twice := a.gids[f[0]]; err != nil || twice {
			continue // of two lines the first counts, as for the system
		}
		a.gids[f[0]] = uint32(gid)
		for _, m := range strings.Split(f[3], ",") {
			if m = strings.TrimSpace(m); m != "" {
				a.listed[f[0]] = append(a.listed[f[0]], m)
			}
		}
	}
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) != 7 {
			continue
		}
		if gid, err := strconv.ParseUint(f[3], 10, 32); err == nil {
			a.users[f[0]] = true
			a.primary[uint32(gid)] = append(a.primary[uint32(gid)], f[0])
		}
	}
	return a
}

// User says whether there is a user of this name.
func (a Accounts) User(name string) bool { return a.users[name] }

// GID returns the number of a group.
func (a Accounts) GID(group string) (uint32, bool) {
	gid, ok := a.gids[group]
	return gid, ok
}

// Members returns who is in a group, by its list or as the user's own group.
func (a Accounts) Members(group string) ([]string, bool) {
	gid, ok := a.gids[group]
	if !ok {
		return nil, false
	}
	all := slices.Concat(a.listed[group], a.primary[gid])
	slices.Sort(all)
	return slices.Compact(all), true
}

// readSmall reads a regular file of at most maxAccounts bytes.
func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAccounts+1))
	if err == nil && len(b) > maxAccounts {
		err = errors.New("too large")
	}
	return string(b), err
}
