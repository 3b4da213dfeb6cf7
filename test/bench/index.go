package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"pfsensemcp/pkg/openapi"
	"pfsensemcp/test/bench/rig"
	"pfsensemcp/test/fakedocs"
)

// realDocument is upstream's, where it is at hand beside the repository.
const realDocument = "../shared/appliance/openapi.json"

// indexed is what one fresh process found.
type indexed struct {
	Bytes      int64
	Times      []time.Duration
	Peak, Kept int64
}

// index is the price of reading a document of 4 MB and of holding its index, a
// fresh process a round.
func (b *bench) index() error {
	path, note := realDocument, "upstream's document"
	if _, err := os.Stat(path); err != nil {
		f, err := os.CreateTemp("", "document")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		if _, err := f.Write(fakedocs.Big()); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		path, note = f.Name(), "a generated document (no "+filepath.Base(realDocument)+" beside the repository)"
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var took, middle, peak, kept []float64
	var size int64
	for range b.rounds {
		cmd := exec.Command(self, "-helper", "index", path)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		var one indexed
		if err := json.Unmarshal(out, &one); err != nil {
			return err
		}
		size = one.Bytes
		middle = append(middle, ms(median(one.Times)))
		// The others of its readings say how busy the machine is.
		took, peak, kept = append(took, ms(quantile(one.Times, 0))), append(peak, mib(one.Peak)), append(kept, mib(one.Kept))
	}
	note = fmt.Sprintf("%d processes of 8 readings; %.1f MB, %s", b.rounds, float64(size)/1e6, note)
	b.take("index_ms", median(took), fmt.Sprintf("%s; each one's quickest; all medians %.1f ms", note, median(middle)))
	b.take("index_peak_mib", median(peak), note)
	b.take("index_kept_mib", median(kept), note)
	return nil
}

// indexOnce reads the document from its file, as it would come from a site: the
// first reading shows the memory, seven more the time.
func indexOnce(path string, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	one := indexed{Bytes: st.Size()}
	before := heap()
	debug.FreeOSMemory()
	idle, err := rig.RSS(os.Getpid())
	if err != nil {
		return err
	}
	if err := rig.ResetPeak(os.Getpid()); err != nil {
		return err
	}
	ix, err := openapi.Parse(f)
	if err != nil {
		return err
	}
	top, err := rig.Peak(os.Getpid())
	if err != nil {
		return err
	}
	one.Peak, one.Kept = top-idle, heap()-before
	runtime.KeepAlive(ix)
	one.Times, err = times(7, func() error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := openapi.Parse(f)
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(one)
}

// heap returns the bytes that live on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first made free for pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
