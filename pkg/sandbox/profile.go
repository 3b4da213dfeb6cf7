package sandbox

import (
	"path/filepath"
	"slices"

	"pfsensemcp/pkg/errs"
)

// Kind is a kind of access that a daemon may have at all.
type Kind uint8

// The kinds. What every daemon has (accepting on sockets that are open already,
// reading files named in Read, writing its log) is not a kind.
const (
	Unix     Kind = 1 << iota // connect to Unix sockets below the directories in UnixConnect
	Internet                  // connect to the ports in TCP, resolve names
	State                     // keep files below the directories in State
	Device                    // use the devices in Devices
)

// Profile says what a daemon may still do after Apply. Name and May are fixed
// for each daemon by the functions below; the site's settings fill in the rest,
// and Apply refuses a setting that asks for a kind that May lacks.
type Profile struct {
	Name string
	May  Kind

	Read        []string // files, or directories with all below them, to read
	Logs        []string // directories to make, write, rename and remove files in
	State       []string // the same, for durable state
	Devices     []string // character devices to read and write: the TPM
	UnixConnect []string // directories below which Unix sockets may be connected to
	Unlink      []string // directories in which files may be removed: those of the daemon's own sockets
	TCP         []uint16 // ports to connect to; empty means that no internet socket can be made
	DNS         bool     // resolve names; only together with TCP
	SystemRoots bool     // read the system's certificate store
}

// Mcpd is the profile of `mcpd serve`: the appliance's port and the sockets of
// the other daemons.
func Mcpd() Profile { return Profile{Name: "mcpd", May: Unix | Internet} }

// Guidanced is the profile of guidanced: it answers on its open sockets and can
// make no socket of any family.
func Guidanced() Profile { return Profile{Name: "guidanced"} }

// Docfetchd is the profile of docfetchd: HTTPS to the documentation host, no
// Unix socket, no file of its own.
func Docfetchd() Profile {
	return Profile{Name: "docfetchd", May: Internet, TCP: []uint16{443}, DNS: true, SystemRoots: true}
}

// Executord is the profile of executord: the appliance's port, its store, its
// TPM (a device, or in the lab a Unix socket). With write off nothing is filled
// in and it is as shut as guidanced.
func Executord() Profile {
	return Profile{Name: "executord", May: Unix | Internet | State | Device}
}

// Witness is the profile of `executord witness`: a TPM (a device, or in the lab a
// Unix socket), and the TLS listener that was opened before.
func Witness() Profile { return Profile{Name: "witness", May: Device | Unix} }

// internet reports whether an internet socket can be made.
func (p Profile) internet() bool { return len(p.TCP) > 0 }

// ports are the TCP ports to allow; a truncated DNS answer is asked for again
// over TCP.
func (p Profile) ports() []uint16 {
	ports := slices.Clone(p.TCP)
	if p.DNS && !slices.Contains(ports, 53) {
		ports = append(ports, 53)
	}
	return ports
}

// check refuses a profile that does not hold together. A fault here is a fault
// of the program or its settings, so no mode goes on with it.
func (p Profile) check() error {
	for _, row := range []struct {
		kind Kind
		used bool
		what string
	}{
		{Unix, len(p.UnixConnect) > 0, "Unix sockets"},
		{Internet, len(p.TCP) > 0 || p.DNS, "the internet"},
		{State, len(p.State) > 0, "state"},
		{Device, len(p.Devices) > 0, "devices"},
	} {
		if row.used && p.May&row.kind == 0 {
			return errs.Newf(errs.Invalid, "the sandbox of %s does not allow %s", p.Name, row.what)
		}
	}
	if p.DNS && !p.internet() {
		return errs.Newf(errs.Invalid, "the sandbox of %s has name resolution without a TCP port", p.Name)
	}
	if slices.Contains(p.TCP, 0) {
		return errs.Newf(errs.Invalid, "the sandbox of %s names TCP port 0", p.Name)
	}
	for _, list := range [][]string{p.Read, p.Logs, p.State, p.Devices, p.UnixConnect, p.Unlink} {
		for _, path := range list {
			if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
				return errs.Newf(errs.Invalid, "the sandbox of %s names a path that is not absolute, or the root", p.Name)
			}
		}
	}
	return nil
}
