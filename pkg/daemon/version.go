package daemon

import (
	"runtime/debug"
	"strings"
)

// maxVersion bounds the version in bytes, as node.v1 does.
const maxVersion = 64

// Version returns the version of the running program as the Go tool stamped it:
// the release's tag, or a pseudo-version with commit and "+dirty". A build
// outside of a checkout is "unversioned".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unversioned"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "unversioned"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v = s.Value
			}
		}
	}
	return strings.ToValidUTF8(v[:min(len(v), maxVersion)], "")
}

// toolchain returns the Go version that built the program.
func toolchain() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown toolchain"
	}
	return info.GoVersion
}
