package host

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxAccounts bounds each of the two files, in bytes.
const maxAccounts = 4 << 20

// accounts is what /etc/passwd and /etc/group say. Directories elsewhere are not
// asked: the users and groups of the suite are local ones.
type accounts struct {
	gids    map[string]uint32
	listed  map[string][]string // members that a group names
	primary map[uint32][]string // users whose own group has the number
}

func readAccounts(passwd, group string) (accounts, error) {
	p, errP := readSmall(passwd)
	g, errG := readSmall(group)
	if err := errors.Join(errP, errG); err != nil {
		return accounts{}, err
	}
	return parseAccounts(p, g), nil
}

// parseAccounts reads both files; a line that is none says nothing.
func parseAccounts(passwd, group string) accounts {
	a := accounts{gids: map[string]uint32{}, listed: map[string][]string{}, primary: map[uint32][]string{}}
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
			a.primary[uint32(gid)] = append(a.primary[uint32(gid)], f[0])
		}
	}
	return a
}

// members returns who is in a group, by its list or as the user's own group.
func (a accounts) members(group string) ([]string, bool) {
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
