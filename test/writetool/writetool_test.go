package writetool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

var mcpd, executord string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "writetool")
	if err == nil {
		executord, err = writepath.Program(filepath.Join(dir, "demo"))
	}
	if err == nil {
		mcpd, err = filepath.Join(dir, "mcpd"), programs.Build(programs.Shipped, dir, "cmd/mcpd")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// house is a write path that nobody has provisioned yet, beside an mcpd.
type house struct {
	*writepath.Rig
	tpm *swtpm.TPM
	log *daemontest.Proc
	t   *testing.T
}

func build(t *testing.T, settings string) *house {
	t.Helper()
	tpm := swtpm.New(t)
	h := &house{Rig: writepath.New(t, executord, tpm.Address(), fakepf.Options{}), tpm: tpm, t: t}
	if err := h.Start(""); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"read-key": fakepf.ReadKey + "\n",
		"mcpd.toml": fmt.Sprintf("socket_dir = %q\nsandbox = \"available\"\napi_url = %q\nidentity = \"reader\"\napi_key_file = %q\ntls_mode = \"auto\"\ntls_ca_file = %q\noperators_may_use_mcp = true\n%s",
			h.Dir, h.FW.URL(), filepath.Join(h.Dir, "read-key"), filepath.Join(h.Dir, "ca.pem"), settings),
	} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.log = daemontest.Start(t, daemontest.Options{Exe: mcpd, Args: []string{"serve", "--config", filepath.Join(h.Dir, "mcpd.toml")}})
	h.log.Until("mcpd serving", func() bool { return strings.Contains(h.log.Output(), `"msg":"serving"`) })
	t.Cleanup(func() { h.log.Stop() })
	return h
}

// session is a model's: through the shim.
func (h *house) session() *rawmcp.Client {
	h.t.Helper()
	c, err := rawmcp.Start(h.t.Context(), os.Stderr, mcpd, "stdio", "--socket", daemontest.Socket(h.Dir, "mcp"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		h.t.Fatal(err)
	}
	return c
}

// poll asks for a text; the whole answer is one word.
func (h *house) poll(c *rawmcp.Client, alias, text string) string {
	h.t.Helper()
	r, err := c.Tool(catalog.WriteTool, map[string]string{"alias_name": alias, "description": text})
	if err != nil {
		h.t.Fatal(err)
	}
	var o map[string]string
	if err := json.Unmarshal(r.Structured, &o); err != nil || r.IsError || len(o) != 1 || r.Text() != string(r.Structured) {
		h.t.Fatalf("%+v", r)
	}
	return o["state"]
}

func (h *house) listed(c *rawmcp.Client) bool {
	h.t.Helper()
	names, err := c.Tools()
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.Contains(names, catalog.WriteTool)
}

const (
	writing = "profile = \"write_protected\"\n"
	wanted  = "Printers of the first floor"
)

func TestG3AModelFollowsAChangeThroughEveryStage(t *testing.T) {
	h := build(t, writing)
	c := h.session()
	if h.listed(c) {
		t.Fatal("the tool is listed before anything is provisioned")
	}
	if _, err := c.Tool(catalog.WriteTool, map[string]string{"alias_name": writepath.Alias, "description": wanted}); err == nil {
		t.Error("the tool answers before anything is provisioned")
	}
	if err := h.Provision(); err != nil {
		t.Fatal(err)
	}
	h.log.Until("the tool in the list", func() bool { return h.listed(c) }) // it is looked for within a moment

	expect := func(stage, want string) {
		t.Helper()
		if got := h.poll(c, writepath.Alias, wanted); got != want {
			t.Fatalf("%s: %s, not %s\n%s", stage, got, want, h.Log())
		}
	}
	expect("opened", "requested")
	expect("polled", "requested")
	all, err := h.Requests()
	if err != nil || len(all) != 1 || all[0].GetUid() != uint32(os.Getuid()) || all[0].GetOrigin() != "mcp" {
		t.Fatalf("the requests are %v, %v", all, err)
	}
	contract, err := h.Authorize(all[0].GetRequestId())
	if err != nil {
		t.Fatal(err)
	}
	expect("authorized", "awaiting_confirmation")
	if n := h.Sends(); n != 0 {
		t.Fatalf("%d changes were sent by polling", n)
	}
	if err := h.Confirm(contract); err != nil {
		t.Fatal(err)
	}
	if k, err := h.Settled(contract); err != nil || k.GetState() != executorpb.State_STATE_VERIFIED {
		t.Fatalf("%v %v\n%s", k, err, h.Log())
	}
	expect("verified", "verified")
	if h.Descr() != wanted || h.Sends() != 1 {
		t.Errorf("%q stands there after %d changes", h.Descr(), h.Sends())
	}

	// What cannot be: an alias that is not there, and texts nobody may be shown.
	for alias, text := range map[string]string{
		"no_such_alias": "x", "": "x", writepath.Alias: "a\u202eb",
		"Print_Servers ": "x", strings.Repeat("a", 65): "x",
	} {
		if got := h.poll(c, alias, text); got != "refused" {
			t.Errorf("%q, %q: %s", alias, text, got)
		}
	}
	for _, text := range []string{"\x07", strings.Repeat("x", 1025), strings.Repeat("x", 4097), " "} {
		if got := h.poll(c, writepath.Alias, text); got != "refused" {
			t.Errorf("%.20q: %s", text, got)
		}
	}

	// executord ends and comes again: what was verified still is.
	h.Kill()
	expect("executord is gone", "refused")
	if h.listed(c) {
		t.Error("the tool is listed without executord")
	}
	if err := h.Start(""); err != nil {
		t.Fatal(err)
	}
	h.log.Until("verified, when executord is back", func() bool { return h.poll(c, writepath.Alias, wanted) == "verified" })

	// Its counter ends: no write runtime, and not a word about why.
	h.Kill()
	h.tpm.Kill()
	if err := h.Start(""); err != nil {
		t.Fatal(err)
	}
	expect("without the counter", "refused")
	if h.listed(c) {
		t.Error("the tool is listed without the counter")
	}
	if n := h.Sends(); n != 1 {
		t.Errorf("%d changes were sent", n)
	}
	for line := range strings.Lines(h.log.Output()) {
		if strings.Contains(line, writepath.Alias) || strings.Contains(line, wanted) || strings.Contains(line, contract) {
			t.Errorf("mcpd's log: %s", line)
		}
	}
}

func TestTheDefaultProfileHasNoWriteToolThoughEverythingIsReady(t *testing.T) {
	h := build(t, "allowed_tools = [\"pfsense_mcp_info\", \""+catalog.WriteTool+"\"]\n")
	if err := h.Provision(); err != nil {
		t.Fatal(err)
	}
	c := h.session()
	if h.listed(c) {
		t.Error("an allow-list adds the tool")
	}
	if _, err := c.Tool(catalog.WriteTool, map[string]string{"alias_name": writepath.Alias, "description": wanted}); err == nil || !strings.HasPrefix(err.Error(), "-32602") {
		t.Errorf("%v", err)
	}
	time.Sleep(100 * time.Millisecond) // for a request that should not be there
	if all, err := h.Requests(); err != nil || len(all) != 0 {
		t.Errorf("requests %v, %v", all, err)
	}
}

// One account asks for a hundred things at once: executord's quota decides, one
// wish is open, and the model is told no more than that the rest is refused.
func TestG7AFloodThroughMcpdOpensWhatTheQuotaAllows(t *testing.T) {
	h := build(t, writing)
	if err := h.Provision(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var requested, refused atomic.Int32
	for i := range 5 {
		c := h.session()
		all.Go(func() {
			for k := range 20 {
				r, err := c.Tool(catalog.WriteTool, map[string]string{"alias_name": writepath.Alias, "description": fmt.Sprintf("wish %d of %d", k, i)})
				switch {
				case err == nil && r.Text() == `{"state":"requested"}`:
					requested.Add(1)
				case err == nil && r.Text() == `{"state":"refused"}`:
					refused.Add(1)
				default:
					t.Errorf("%v %+v", err, r)
				}
			}
		})
	}
	all.Wait()
	open, err := h.Requests()
	if err != nil || len(open) != 1 || requested.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d requests are open, %d calls were told requested, %d refused, %v", len(open), requested.Load(), refused.Load(), err)
	}
	if n := h.Sends(); n != 0 {
		t.Errorf("%d changes were sent", n)
	}
}
