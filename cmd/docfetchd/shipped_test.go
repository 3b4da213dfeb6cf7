package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pfsensemcp/pkg/openapi/contract"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakedocs"
	"pfsensemcp/test/programs"
)

// built builds the program with the tags.
func built(t *testing.T, tags string) string {
	t.Helper()
	dir := daemontest.Dir(t)
	if err := programs.Build(tags, dir, "cmd/docfetchd"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "docfetchd")
}

// traces are what a program has in it that can be told another host, address or
// authority. The test build shows that they would be seen.
var traces = []string{"docs_address", "docs_ca_file", "docfetch.Loopback", "site.Loopback"}

func TestTheShippedProgramCannotBeToldAnotherSite(t *testing.T) {
	shipped, demo := built(t, "grpcnotrace"), built(t, "grpcnotrace,pfsense_demo")
	for exe, want := range map[string]bool{shipped: false, demo: true} {
		b, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range traces {
			if got := bytes.Contains(b, []byte(s)); got != want {
				t.Errorf("%q in the program: %v, want %v", s, got, want)
			}
		}
	}

	s := fakedocs.Start(t, fakedocs.Options{})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(wantCode int, o daemontest.Options) {
		t.Helper()
		o.Exe = shipped
		p := daemontest.Start(t, o)
		if code := p.Wait(); code != wantCode {
			t.Errorf("%v %v: exit code %d:\n%s", o.Args, o.Env, code, p.Output())
		}
	}
	for _, line := range []string{"docs_address = \"" + s.Addr() + "\"", "docs_ca_file = \"" + ca + "\"", "host = \"x\"", "url = \"https://x/\"", "proxy = \"x\"", "tls_ca_file = \"" + ca + "\""} {
		_, config := site(t, line+"\n")
		refused(1, daemontest.Options{Args: []string{"--config", config, "--check-config"}})
	}
	_, config := site(t, "")
	for _, env := range []string{"PFSENSE_DOCS_ADDRESS=" + s.Addr(), "PFSENSE_DOCS_CA_FILE=" + ca, "PFSENSE_DOCS_URL=https://x/"} {
		refused(1, daemontest.Options{Args: []string{"--config", config, "--check-config"}, Env: []string{env}})
	}
	for _, flag := range []string{"--docs-address", "--url", "--host", "--ca-file", "--proxy"} {
		refused(2, daemontest.Options{Args: []string{"--config", config, flag, "x"}})
	}

	// What the libraries would read of the environment leads nowhere either.
	dir, config := site(t, "")
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	reached := make(chan struct{}, 16)
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			reached <- struct{}{}
		}
	}()
	at := "http://" + proxy.Addr().String()
	p := daemontest.Start(t, daemontest.Options{Exe: shipped, Args: []string{"--config", config}, Env: []string{
		"HTTPS_PROXY=" + at, "https_proxy=" + at, "HTTP_PROXY=" + at, "ALL_PROXY=" + at, "SSL_CERT_FILE=" + ca, "SSL_CERT_DIR=" + filepath.Dir(ca),
		"GODEBUG=x509usefallbackroots=1",
	}})
	conn := p.Serving(daemontest.Socket(dir, "docs"))
	if p.Node(conn).GetTestBuild() {
		t.Error("it says that it is a test build")
	}
	res, err := docspb.NewDocsClient(conn).Topic(soon(t), &docspb.TopicRequest{Topic: "LIMITATIONS_AND_FAQS"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the real site, from here: %s %s", res.GetSource().GetFreshness(), res.GetSource().GetFailure())
	select {
	case <-reached:
		t.Error("the proxy of the environment was asked")
	default:
	}
	if s.Connections() != 0 {
		t.Errorf("%d connections to the pretend site", s.Connections())
	}
	p.Stop()
}

// mostAboveIdle is what the fetch and the indexing of a document of 4 MB may take
// beyond what the idle daemon holds, in KiB.
const mostAboveIdle = 24 << 10

func TestATestBuildAsksThePretendSiteAndSaysSo(t *testing.T) {
	demo := built(t, "grpcnotrace,pfsense_demo")
	s := fakedocs.Start(t, fakedocs.Options{Document: fakedocs.Big()})
	dir := daemontest.Dir(t)
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, s.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, config := site(t, "docs_address = \""+s.Addr()+"\"\ndocs_ca_file = \""+ca+"\"\n")
	p := daemontest.Start(t, daemontest.Options{Exe: demo, Args: []string{"--config", config}})
	conn := p.Serving(daemontest.Socket(dir, "docs"))
	if !p.Node(conn).GetTestBuild() {
		t.Error("its status does not say that it is a test build")
	}
	docs := docspb.NewDocsClient(conn)
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests before the first question", n)
	}
	idle := status(t, p.PID(), "VmRSS")
	e, err := docs.Endpoint(soon(t), &docspb.EndpointRequest{Path: "/api/v2/firewall/alias", Verb: "POST"})
	if err != nil || !e.GetFound() || e.GetSource().GetFreshness() != "fresh" || e.GetSource().GetVersion() != fakedocs.Version {
		t.Fatal(e, err)
	}
	if above := status(t, p.PID(), "VmHWM") - idle; above > mostAboveIdle {
		t.Errorf("the fetch took %d KiB above the idle %d", above, idle)
	} else {
		t.Logf("idle %d KiB, at most %d KiB above", idle, above)
	}
	m, err := docs.Model(soon(t), &docspb.ModelRequest{Name: "Pretend000", Offset: 290})
	if err != nil || m.GetModel().GetFieldsTotal() != 297 || len(m.GetModel().GetFields()) != 7 {
		t.Fatal(m, err)
	}
	topic, err := docs.Topic(soon(t), &docspb.TopicRequest{Topic: "ENDPOINT_TYPES"})
	if err != nil || !strings.HasPrefix(topic.GetExcerpt(), "Pretend guide: endpoint types") {
		t.Fatal(topic, err)
	}
	stream, err := docspb.NewDocsAdminClient(p.Serving(daemontest.Socket(dir, "docs-admin"))).Contract(soon(t), &docspb.ContractRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := contract.Receive(stream.Recv)
	if err != nil || !contract.Is(b) {
		t.Fatal(err)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests for one document and one page", n)
	}
	p.Stop()

	v := daemontest.Start(t, daemontest.Options{Exe: demo, Args: []string{"--version"}})
	if v.Wait() != 0 || !strings.Contains(v.Output(), "TEST BUILD") {
		t.Errorf("its version says %s", v.Output())
	}
	for _, where := range []string{"203.0.113.1:443", "10.0.0.1:443", "localhost:443", "127.0.0.1:0", "127.0.0.1"} {
		_, config := site(t, "docs_address = \""+where+"\"\ndocs_ca_file = \""+ca+"\"\n")
		p := daemontest.Start(t, daemontest.Options{Exe: demo, Args: []string{"--config", config, "--check-config"}})
		if code := p.Wait(); code != 1 || !strings.Contains(p.Output(), "docs_address") {
			t.Errorf("%s: exit code %d: %s", where, code, p.Output())
		}
	}
}

// status returns a figure of /proc/PID/status, in KiB.
func status(t *testing.T, pid int, field string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s", field)
	return 0
}
