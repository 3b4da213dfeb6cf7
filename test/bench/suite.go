package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pfsensemcp/test/bench/rig"
	"pfsensemcp/test/programs"
)

// start is from exec of mcpd to its READY=1.
func (b *bench) start() error {
	r, err := rig.New(b.bin, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	var took []float64
	for range max(11, b.rounds) {
		p, d, err := r.Start("mcpd", "")
		if err != nil {
			return err
		}
		took = append(took, ms(d))
		r.Stop(p)
	}
	b.take("start_ms", median(took), fmt.Sprintf("%d starts; the quickest %.1f ms", len(took), quantile(took, 0)))
	return nil
}

const infoTool = "pfsense_mcp_info"

// suite starts all four daemons and takes what needs them.
func (b *bench) suite() error {
	r, err := rig.New(b.bin, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	var procs []*rig.Proc
	for _, name := range programs.Names() {
		p, _, err := r.Start(name, "")
		if err != nil {
			return err
		}
		procs = append(procs, p)
	}
	if err := b.firstList(r); err != nil {
		return err
	}
	c, err := spawn(b.bin, r.Socket("mcp"))
	if err != nil {
		return err
	}
	defer c.close()
	// One call each: mcpd reads and asks all others how they are, guidanced is
	// asked for a page, docfetchd for a topic.
	if err := oneEach(c); err != nil {
		return err
	}
	if err := b.memory(c, procs); err != nil {
		return err
	}
	return b.guidance(c)
}

const officialArgs = `{"capability":"FIREWALL_READ"}`

func oneEach(c *lines) error {
	for _, call := range [][2]string{{infoTool, "{}"}, {smallTool, "{}"}, {"pfsense_get_official_guidance", officialArgs}} {
		if _, err := c.call(call[0], call[1]); err != nil {
			return err
		}
	}
	// Without a documentation site docfetchd says that it has none; it was asked.
	_, err := c.ask("tools/call", `{"name":"pfsense_get_api_guidance","arguments":{"topic":"authentication"}}`)
	return err
}

// firstList is from exec of the shim to the list of tools.
func (b *bench) firstList(r *rig.Rig) error {
	took, err := times(max(15, b.rounds), func() error {
		c, err := spawn(b.bin, r.Socket("mcp"))
		if err != nil {
			return err
		}
		if _, err := c.ask("tools/list", "{}"); err != nil {
			return errors.Join(err, c.close())
		}
		return c.close()
	})
	if err != nil {
		return err
	}
	b.take("shim_first_list_ms", ms(median(took)), fmt.Sprintf("%d shims, their end included; the quickest %.1f ms", len(took), ms(quantile(took, 0))))
	return nil
}

// memory is what shim and daemons hold, idle, after one call each.
func (b *bench) memory(c *lines, procs []*rig.Proc) error {
	shim, err := rig.RSS(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	b.take("shim_rss_mib", mib(shim), "VmRSS after four calls")
	var all int64
	note := ""
	for _, p := range procs {
		n, err := rig.RSS(p.PID())
		if err != nil {
			return err
		}
		all += n
		note += fmt.Sprintf(" %s %.1f", p.Name, mib(n))
	}
	b.take("suite_rss_mib", mib(all), "sum of VmRSS, shared pages counted each time:"+note)
	return nil
}

// guidance is what a text from guidanced takes beyond what mcpd says of itself.
func (b *bench) guidance(c *lines) error {
	const n = 300
	first := func() error { _, err := c.call("pfsense_get_official_guidance", officialArgs); return err }
	second := func() error { _, err := c.call(infoTool, "{}"); return err }
	if _, err := times(n, first); err != nil {
		return err
	}
	mid, _, at, err := b.added(n, first, second)
	if err != nil {
		return err
	}
	b.take("guidance_added_ms", mid, fmt.Sprintf("%d rounds of %d; guidance %.3f ms, %s (which asks all four daemons) %.3f ms", b.rounds, n, at[0], infoTool, at[1]))
	return nil
}

// shipped are the programs of a package.
var shipped = []string{"mcpd", "guidanced", "docfetchd", "executord", "mcpctl", "mcpsign"}

// binaries is the largest program that is shipped.
func (b *bench) binaries() error {
	var largest int64
	var name string
	for _, n := range shipped {
		st, err := os.Stat(filepath.Join(b.bin, n))
		if err != nil {
			return err
		}
		if st.Size() > largest {
			largest, name = st.Size(), n
		}
	}
	b.take("binary_mib", mib(largest), name)
	return nil
}

// settle is how long memory is given to be what it is when nothing happens.
const settle = 300 * time.Millisecond
