package process

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Trim gives back the pages of the program file that only the start touched.
// One program is daemon and shim, and initialising the daemon's half maps most
// of it, while a shim runs a small part; hosts start many. What is needed again
// comes back from the page cache. Without /proc nothing happens.
//
// Only mappings of the program itself that cannot be written are given back:
// they hold nothing but what the file does.
func Trim() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		// 00400000-00a1d000 r-xp 00000000 fe:00 9994402    /usr/bin/mcpd
		f := strings.Fields(lines.Text())
		if len(f) != 6 || f[5] != exe || f[1][1] != '-' {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || end <= start {
			continue
		}
		// A refusal costs nothing but the pages.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
	}
}
