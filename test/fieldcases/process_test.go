package fieldcases

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"pfsensemcp/pkg/catalog"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/guidance"
	"pfsensemcp/pkg/pfrest"
	"pfsensemcp/pkg/secretfile"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/rawmcp"
	"pfsensemcp/test/suite"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A certificate that nobody knows made people switch verification off. The case
// wants subject and issuer in the error and no insecure mode: text of a stranger
// enters no error (security-review.md 28), and read-path.md section 3 has the mode,
// named at the start and never a default.
func TestCase22AnUnknownCertificateIsRefusedWithThePinToCompare(t *testing.T) {
	s := fakepf.Start(t, fakepf.Options{})
	cfg := config(t, s)
	try := func(mode, ca, pin string) error {
		cfg.TLSMode, cfg.CAFile, cfg.Pin = mode, ca, pin
		c, err := pfrest.New(cfg)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Get(context.Background(), me, "/api/v2/system/version", pfrest.Page{})
		return err
	}
	ca := cfg.CAFile
	e := errs.Public(try("", "", ""))
	if e.Class != pfrest.ClassTLS || !strings.Contains(e.Next, "CA file") || !strings.Contains(e.Next, s.Pin()) {
		t.Errorf("%v: %s", e, e.Next)
	}
	if err := try("auto", ca, ""); err != nil {
		t.Errorf("with the CA file: %v", err)
	}
	if err := try("auto", ca, s.Pin()); err != nil {
		t.Errorf("with the CA file and the pin: %v", err)
	}
	if e := errs.Public(try("auto", ca, strings.Repeat("0", 64))); e.Class != pfrest.ClassTLS || !strings.Contains(e.Next, "stop") {
		t.Errorf("with another pin: %v: %s", e, e.Next)
	}
	if n := s.Counters().ByStatus[200]; n != 2 {
		t.Errorf("%d requests were answered, 2 were believed", n)
	}
}

// The server connected before it answered initialize.
func TestCase23AFirewallThatIsAwayDelaysNothingButItsOwnCall(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	var asked atomic.Int32
	go func() {
		for {
			c, err := hole.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			defer c.Close()
		}
	}()
	s := suite.New(t, suite.Options{URL: "https://" + hole.Addr().String(), Settings: "tls_mode = \"insecure\"\n"})
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	names, err := c.Tools()
	if err != nil || len(names) != 97 {
		t.Errorf("%d tools: %v", len(names), err)
	}
	// Nothing was asked of it, so nothing can have waited for it.
	if n := asked.Load(); n != 0 {
		t.Errorf("the appliance was asked %d times before a tool was called", n)
	}
	if r, err := c.Tool(catalog.InfoTool, nil); err != nil || r.IsError {
		t.Errorf("%v %s", err, r.Text())
	}
	r, err := c.Tool("pfsense_get_system_version", nil)
	if err != nil || !r.IsError || !strings.Contains(r.Text(), "error class: connection") {
		t.Errorf("%v %s", err, r.Text())
	}
	if asked.Load() == 0 {
		t.Error("nobody counts what is asked")
	}
}

// A bad key that is tried again gets this host blocked, and then nothing answers.
func TestCase25ABadKeyIsSentOnceUntilItChanges(t *testing.T) {
	r := appliance(t, fakepf.Options{BlockAfter: 2, Keys: []fakepf.Key{{Secret: "another", User: "x", Privileges: []string{"page-all"}}}})
	tools(func(tool *catalog.Tool) { r.run(tool, `{}`).refused(t, pfrest.ClassAuthentication) })
	if n := len(r.Requests()); n != 1 {
		t.Fatalf("the bad key was sent %d times", n)
	}
	e := r.call("system_version", `{}`).refused(t, pfrest.ClassAuthentication)
	if !strings.Contains(e.Msg, "not sent") || !strings.Contains(e.Next, "mcpctl reset") {
		t.Errorf("%v: %s", e, e.Next)
	}
	if err := r.client.Rekey(secretfile.New([]byte("another"))); err != nil {
		t.Fatal(err)
	}
	r.call("system_version", `{}`).good(t)
	if n := len(r.Requests()); n != 2 {
		t.Errorf("%d requests after the key was changed", n)
	}
}

const registry = "../../pkg/guidance/registry"

// One damaged auxiliary file stopped every tool. Guidance is another process, and
// it refuses a registry that was cut or changed by one letter of a text.
func TestCase38DamagedGuidanceCostsNoReadTool(t *testing.T) {
	whole := fstest.MapFS{}
	files, err := os.ReadDir(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(registry, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		whole[f.Name()] = &fstest.MapFile{Data: b}
	}
	if _, err := guidance.Load(whole, catalog.ReadCapabilities()); err != nil {
		t.Fatal(err)
	}
	for name, f := range whole {
		text := strings.Index(string(f.Data), "content_excerpt")
		for what, damaged := range map[string][]byte{
			"cut":     f.Data[:len(f.Data)/2],
			"changed": []byte(string(f.Data[:text]) + strings.Replace(string(f.Data[text:]), " the ", " thx ", 1)),
		} {
			fsys := maps.Clone(whole)
			fsys[name] = &fstest.MapFile{Data: damaged}
			if _, err := guidance.Load(fsys, catalog.ReadCapabilities()); err == nil {
				t.Errorf("%s is taken although it was %s", name, what)
			}
		}
	}

	s := suite.New(t, suite.Options{})
	s.Kill("guidanced")
	c := s.Shim()
	if _, err := c.Initialize(rawmcp.HandshakeVersions[0]); err != nil {
		t.Fatal(err)
	}
	for _, tool := range catalog.Tools() {
		if tool.Toolset == catalog.SetExtended {
			continue
		}
		if r, err := c.Tool(tool.Name, nil); err != nil || r.IsError {
			t.Errorf("%s: %v %s", tool.Name, err, r.Text())
		}
	}
	if r, err := c.Tool(catalog.GuidanceTool, map[string]any{"capability": "FIREWALL_READ"}); err != nil || !r.IsError || !strings.Contains(r.Text(), "guidanced") {
		t.Errorf("%v %s", err, r.Text())
	}
}
