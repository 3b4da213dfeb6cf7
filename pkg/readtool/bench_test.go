package readtool

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/pfrest"
)

// stateRows writes n rows like the state table's, without the brackets.
func stateRows(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"interface":"vtnet%d","protocol":"%s","direction":"%s","source":"10.%d.%d.%d:%d","destination":"198.51.100.%d:443","state":"ESTABLISHED:ESTABLISHED","age":"01:26:04","expires_in":"00:15:05","packets_total":%d,"packets_in":2388,"packets_out":238,"bytes_total":1449054,"bytes_in":1382652,"bytes_out":66402,"creator_id":"0a1b2c3d","rule_number":"%d","rule_label":"USER_RULE: let the office reach the web and everything else","gateway":"WAN_DHCP - 203.0.113.1","flags":"none","tagged":null,"nat_source":"203.0.113.10:%d"}`,
			i, i%3, []string{"tcp", "udp", "icmp"}[i%3], []string{"in", "out"}[i%2], i%250, i/250%250, i%199, 1024+i%60000, i%250, i, i%120, 1024+i%60000)
	}
	return b.Bytes()
}

// pages serves prepared pages of rows without a network: what is measured is
// reading them.
type pages struct {
	bodies [][]byte
	spans  [][][2]int
}

func newPages(n int) *pages {
	p := &pages{}
	for at := 0; at < n; at += pageSize {
		body := append(append([]byte{'['}, stateRows(min(pageSize, n-at))...), ']')
		dec := jsontext.NewDecoder(bytes.NewBuffer(body))
		if _, err := dec.ReadToken(); err != nil {
			panic(err)
		}
		var spans [][2]int
		for dec.PeekKind() != ']' {
			v, err := dec.ReadValue()
			if err != nil {
				panic(err)
			}
			end := int(dec.InputOffset())
			spans = append(spans, [2]int{end - len(v), end})
		}
		p.bodies, p.spans = append(p.bodies, body), append(p.spans, spans)
	}
	return p
}

func (p *pages) Get(context.Context, pfrest.Caller, pfrest.Endpoint, pfrest.Page) (pfrest.Answer, error) {
	return pfrest.Answer{}, nil
}

func (p *pages) Walk(_ context.Context, _ pfrest.Caller, _ pfrest.Endpoint, _ pfrest.WalkOptions, each func(jsontext.Value, int) bool) (pfrest.Walked, error) {
	w := pfrest.Walked{Complete: true}
	for i, body := range p.bodies {
		for _, s := range p.spans[i] {
			w.Rows++
			if !each(body[s[0]:s[1]], w.Rows-1) {
				w.Complete = false
				return w, nil
			}
		}
	}
	return w, nil
}

func statesTool(b testing.TB) *catalog.Tool {
	t, ok := catalog.Lookup("pfsense_get_firewall_states")
	if !ok {
		b.Fatal("no states tool")
	}
	return t
}

// BenchmarkStates reads 10,000 states: the ratio that counts is that of each
// case to the bare scan of the same bytes.
func BenchmarkStates(b *testing.B) {
	const n = 10_000
	p := newPages(n)
	size := 0
	for _, body := range p.bodies {
		size += len(body)
	}
	b.Run("bare token scan", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, body := range p.bodies {
				dec := jsontext.NewDecoder(bytes.NewBuffer(body))
				for {
					if _, err := dec.ReadToken(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
	tool := statesTool(b)
	r := reader(b, Config{Client: p, ScanRows: MaxScanRows})
	for name, args := range map[string]string{
		"gate shut, text filter":   `{"where":["protocol = udp","direction = in"]}`,
		"gate open, inside a net":  `{"where":["source = 10.7.0.0/16"],"include_identifying_metadata":true}`,
		"gate open, eight filters": `{"where":["source = 10.7.0.0/16","destination != 1.1.1.1","bytes_total > 5","state contains est","age != null","interface startswith vt","packets_in >= 1","protocol != x"],"include_identifying_metadata":true}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Run(b.Context(), pfrest.Caller{}, tool, []byte(args), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSmallObject(b *testing.B) {
	tool := testTool()
	tool.List = false
	r := reader(b, Config{Client: &fake{data: map[string]string{testPath: `{"id":1,"name":"a","type":"host","interface":"lan","options":"` + strings.Repeat("x", 900) + `"}`}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Run(b.Context(), pfrest.Caller{}, tool, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// endless hands out rows of one page again and again, as the client does: the
// bytes of a page are gone when the next one comes.
type endless struct {
	pages
	total int
	watch func()
}

func (e *endless) Walk(_ context.Context, _ pfrest.Caller, _ pfrest.Endpoint, o pfrest.WalkOptions, each func(jsontext.Value, int) bool) (pfrest.Walked, error) {
	w := pfrest.Walked{}
	for w.Rows < e.total {
		body := bytes.Clone(e.bodies[0])
		for _, s := range e.spans[0] {
			w.Rows++
			if !each(body[s[0]:s[1]], w.Rows-1) {
				return w, nil
			}
		}
		if w.Rows%25_000 == 0 {
			e.watch()
		}
	}
	w.Complete = true
	return w, nil
}

// TestWalkingManyRowsKeepsNoneOfThem: what is alive after 25,000, 50,000, …
// 100,000 rows does not grow with them.
func TestWalkingManyRowsKeepsNoneOfThem(t *testing.T) {
	var idle, peak uint64
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	e := &endless{pages: *newPages(pageSize), total: 100_000}
	e.watch = func() { peak = max(peak, live()) }
	r := reader(t, Config{Client: e, ScanRows: MaxScanRows})
	idle = live()
	a, _ := run(t, r, statesTool(t), `{"where":["bytes_total > 0"],"include_identifying_metadata":true}`)
	if a.Scanned != 100_000 {
		t.Fatalf("%d rows scanned", a.Scanned)
	}
	if grown := int64(peak) - int64(idle); grown > 1<<20 {
		t.Fatalf("%d bytes alive in the middle of a walk", grown)
	}
}
