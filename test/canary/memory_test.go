package canary

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// overlap is more than a token or a key has.
const overlap = 256

// image calls each with every readable and writable part of a process's memory,
// which is what its core image would hold of data. Long parts come in pieces that
// overlap.
func image(pid int, each func(piece []byte)) (total int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	buf := make([]byte, 1<<20)
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var perms string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms); err != nil {
			return total, fmt.Errorf("maps: %w", err)
		}
		if !strings.HasPrefix(perms, "rw") || strings.Contains(line, "[v") {
			continue
		}
		for at := from; at < to; {
			n, _ := mem.ReadAt(buf[:min(uint64(len(buf)), to-at)], int64(at))
			if n == 0 {
				break // nothing stands behind this part
			}
			each(buf[:n])
			total += int64(n)
			if at += uint64(n); at < to && n > overlap {
				at -= overlap
			}
		}
	}
	return total, nil
}

// contents is what was found in a process's memory.
type contents struct {
	tokens  map[string]int
	control bool // the text that must be there is
	bytes   int64
}

// look reads a process's memory. sure is a text that the process must hold.
func look(pid int, sure string) (c contents, err error) {
	c.tokens = map[string]int{}
	c.bytes, err = image(pid, func(b []byte) {
		c.control = c.control || bytes.Contains(b, []byte(sure))
		for _, tok := range token.FindAll(b, -1) {
			c.tokens[string(tok)]++
		}
	})
	return c, err
}
