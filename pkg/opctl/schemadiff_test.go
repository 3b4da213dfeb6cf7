package opctl

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/openapi"
	"pfsensemcp/pkg/openapi/contract"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/rpc/rpctest"
	adminpb "pfsensemcp/proto/admin/v1"
	docspb "pfsensemcp/proto/docs/v1"
	"pfsensemcp/test/fakedocs"
)

// daemon hands out the contract of a document, or fails.
type contractDaemon struct {
	docspb.UnimplementedDocsAdminServer
	adminpb.UnimplementedMcpdServer
	doc []byte
	err error
}

func (d contractDaemon) send(send func(*docspb.ContractChunk) error) error {
	if d.err != nil {
		return d.err
	}
	ix, err := openapi.Parse(bytes.NewReader(d.doc))
	if err != nil {
		return err
	}
	b, err := contract.Of(ix).Encode()
	if err != nil {
		return err
	}
	return contract.Send(b, &docspb.Source{Freshness: "fresh", FetchedAt: 1796030500, Version: ix.Version, DocumentHash: ix.Hash}, send)
}

func (d contractDaemon) Contract(_ *docspb.ContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	return d.send(out.Send)
}

func (d contractDaemon) ApplianceContract(_ *adminpb.ApplianceContractRequest, out grpc.ServerStreamingServer[docspb.ContractChunk]) error {
	return d.send(out.Send)
}

// documents serves both operators' sockets below a directory; nil is a daemon that
// does not run.
func documents(t *testing.T, upstream, appliance *contractDaemon) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "op")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serve := func(name string, desc *grpc.ServiceDesc, impl any) {
		var rows []rpc.Method
		for _, m := range desc.Methods {
			rows = append(rows, rpc.Method{Full: "/" + desc.ServiceName + "/" + m.MethodName, Callers: rpc.Operators, MaxRequest: 256, MaxDuration: contractWithin})
		}
		for _, m := range desc.Streams {
			rows = append(rows, rpc.Method{Full: "/" + desc.ServiceName + "/" + m.StreamName, Callers: rpc.Operators, MaxDuration: contractWithin})
		}
		srv, err := rpc.NewServer(rpc.Config{
			Name: name, Node: rpctest.Node(name), Methods: rows, Log: rpctest.Log(t),
			Callers: map[rpc.Role][]uint32{rpc.Operators: {uint32(os.Getuid())}},
		})
		if err != nil {
			t.Fatal(err)
		}
		srv.RegisterService(desc, impl)
		l, err := rpc.Listen(filepath.Join(dir, name, name+".sock"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- srv.Serve(ctx, l) }()
		t.Cleanup(func() { cancel(); <-done })
	}
	if upstream != nil {
		serve("docs-admin", &docspb.DocsAdmin_ServiceDesc, *upstream)
	}
	if appliance != nil {
		serve("mcpd-admin", &adminpb.Mcpd_ServiceDesc, *appliance)
	}
	return dir
}

// mcpctl runs one command line.
func mcpctl(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), Env{Out: &o, Err: &e}, args)
	return code, o.String(), e.String()
}

func saved(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "saved.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func changed(change func(fakedocs.Tree)) []byte {
	t := fakedocs.Small()
	change(t)
	return fakedocs.Encode(t)
}

func TestTwoDocumentsAreComparedByMeaning(t *testing.T) {
	theirs := changed(func(tr fakedocs.Tree) {
		delete(fakedocs.At(tr, "paths"), "/api/v2/services/probe")
		fakedocs.At(tr, "components", "schemas", "Probe", "properties", "seed")["default"] = "0x00112233445566778899aabbccddeeff"
	})
	dir := documents(t, &contractDaemon{doc: fakedocs.Encode(fakedocs.Small())}, &contractDaemon{doc: theirs})
	code, out, said := mcpctl(t, "schema-diff", "--dir", dir, "--json")
	if code != 0 || said != "" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var got struct {
		A, B struct {
			Side, Version, Freshness string
			FetchedAt                string `json:"fetched_at"`
		}
		Dimensions []struct {
			Dimension   string
			Total       int
			Differences []struct{ Class, Subject, A, B string }
		}
		Defaults struct {
			Total       int
			Differences []struct{ Class, Subject, A, B string }
		} `json:"default_values"`
		Identical  []string
		Truncated  []string
		Disclaimer string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.A.Side != "upstream" || got.B.Side != "appliance" || got.A.Version != fakedocs.Version || got.A.Freshness != "fresh" || got.A.FetchedAt != "2026-11-30T09:21:40Z" {
		t.Errorf("%+v", got)
	}
	if len(got.Dimensions) != 12 || len(got.Identical) != 11 || got.Truncated == nil || !strings.Contains(got.Disclaimer, "never why") {
		t.Errorf("%+v", got)
	}
	p := got.Dimensions[0]
	if p.Dimension != "paths_methods" || p.Total != 1 || p.Differences[0].Class != "removed_in_b" || p.Differences[0].Subject != "GET /api/v2/services/probe" {
		t.Errorf("%+v", p)
	}
	if d := got.Defaults; d.Total != 1 || !strings.HasPrefix(d.Differences[0].B, openapi.SecretPrefix) || strings.Contains(out, "00112233") {
		t.Errorf("%+v", d)
	}
	code, out, _ = mcpctl(t, "schema-diff", "--dir", dir)
	for _, want := range []string{"a: upstream, version v2.10.0, fresh", "  - GET /api/v2/services/probe", "  ~ Probe.seed: secret, sha256", "1 differences of the contract, 1 of default values"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestAFileNeedsNoDaemonAndADumpComesBack(t *testing.T) {
	doc := saved(t, fakedocs.Encode(fakedocs.Small()))
	a, b := filepath.Join(t.TempDir(), "a.json"), filepath.Join(t.TempDir(), "b.json")
	code, out, said := mcpctl(t, "schema-diff", "--a", "file:"+doc, "--b", "file:"+doc, "--dump", "a", a, "--json", "--dump", "b", b)
	if code != 0 || !strings.Contains(out, `"identical":["paths_methods"`) {
		t.Fatalf("exit code %d: %s%s", code, out, said)
	}
	fi, err := os.Stat(a)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatal(err, fi.Mode())
	}
	text, err := os.ReadFile(a)
	if err != nil || !contract.Is(text) || bytes.Contains(text, []byte("What rules call it")) {
		t.Errorf("the dump is no contract: %v", err)
	}
	if code, out, said = mcpctl(t, "schema-diff", "--a", "file:"+a, "--b", "file:"+doc); code != 0 || !strings.Contains(out, "0 differences of the contract, 0 of default values") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	// It is written once and by nobody's link.
	for name, path := range map[string]string{"a file that is there": a, "a symlink": link(t, filepath.Join(t.TempDir(), "new"))} {
		if code, _, said := mcpctl(t, "schema-diff", "--a", "file:"+doc, "--b", "file:"+doc, "--dump", "a", path); code != 1 || !strings.Contains(said, "nothing is ever overwritten") {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
	if again, err := os.ReadFile(a); err != nil || !bytes.Equal(text, again) {
		t.Error("the dump was changed")
	}
}

func link(t *testing.T, to string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileThatIsNoneIsRefused(t *testing.T) {
	doc := saved(t, fakedocs.Encode(fakedocs.Small()))
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxDocument+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "does not exist", link(t, doc): "symlink", fifo: "not a regular file", t.TempDir(): "not a regular file",
		large: "larger than 32 MiB", saved(t, []byte("<html>")): "not readable JSON", saved(t, []byte(`{"contract":"x"}`)): "another format",
		saved(t, []byte(`{"contract"`)): "no contract", "/dev/zero": "not a regular file",
	} {
		if code, _, said := mcpctl(t, "schema-diff", "--a", "file:"+path, "--b", "file:"+doc); code != 1 || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s", path, code, said)
		}
	}
	for _, args := range [][]string{
		{"--a", "downstream"}, {"--a", "file:"}, {"--dump", "a"}, {"--dump", "c", "x"}, {"--dump", "a", "--json"}, {"more"}, {"--b", ""},
	} {
		if code, _, said := mcpctl(t, append([]string{"schema-diff"}, args...)...); code != 2 || !strings.Contains(said, "usage: mcpctl schema-diff") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
}

func TestAMissingSideIsSaidAndTheOtherStillDumped(t *testing.T) {
	down := errs.New(errs.Unavailable, "the published document cannot be had").WithNext("wait")
	dir := documents(t, &contractDaemon{err: down}, &contractDaemon{doc: fakedocs.Encode(fakedocs.Small())})
	path := filepath.Join(t.TempDir(), "b.json")
	code, out, said := mcpctl(t, "schema-diff", "--dir", dir, "--dump", "b", path)
	if code != 1 || out != "" || !strings.Contains(said, "the published document cannot be had\nnext: wait") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	if b, err := os.ReadFile(path); err != nil || !contract.Is(b) {
		t.Error(err)
	}
	dir = documents(t, nil, nil)
	if code, _, said := mcpctl(t, "schema-diff", "--dir", dir); code != 1 || !strings.Contains(said, "docfetchd") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestTheCrossCheckEndsWithItsCodes(t *testing.T) {
	small := fakedocs.Encode(fakedocs.Small())
	drifted := changed(func(tr fakedocs.Tree) {
		fakedocs.At(tr, "paths", "/api/v2/firewall/aliases", "get")["description"] = fakedocs.Details("x", "Plural", "FirewallAlias", "page-all, api-v2-other", "None", "No")
	})
	down := contractDaemon{err: errs.New(errs.Unavailable, "it is down")}
	for name, c := range map[string]struct {
		up, app contractDaemon
		args    []string
		code    int
		counts  map[string]int
	}{
		"clean":                     {contractDaemon{doc: small}, contractDaemon{doc: small}, nil, 0, map[string]int{"match": 2, "explained_difference": 92}},
		"a drift":                   {contractDaemon{doc: small}, contractDaemon{doc: drifted}, nil, 1, map[string]int{"drift": 1, "match": 1}},
		"another derivation":        {contractDaemon{doc: drifted}, contractDaemon{doc: drifted}, nil, 1, map[string]int{"pinned_disagreement": 1, "match": 1}},
		"no published document":     {down, contractDaemon{doc: small}, nil, 2, map[string]int{"explained_difference": 94}},
		"no appliance":              {contractDaemon{doc: small}, down, nil, 2, map[string]int{"single_source": 2}},
		"no appliance, and none is": {contractDaemon{doc: small}, down, []string{"--appliance", "none"}, 0, map[string]int{"single_source": 2}},
		"a drift, and no appliance": {contractDaemon{doc: drifted}, down, []string{"--appliance", "none"}, 1, map[string]int{"pinned_disagreement": 1, "single_source": 1}},
		"two files":                 {down, down, []string{"--upstream", "file:" + saved(t, small), "--appliance", "file:" + saved(t, drifted)}, 1, map[string]int{"drift": 1}},
		"a bad side":                {down, down, []string{"--upstream", "none"}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := documents(t, &c.up, &c.app)
			code, out, said := mcpctl(t, append([]string{"privilege-crosscheck", "--dir", dir, "--json"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit code %d: %s%s", code, out, said)
			}
			if c.counts == nil {
				return
			}
			var got struct {
				Rows     []struct{ Tool, Path, Pinned, Verdict string }
				Counts   map[string]int
				Problems []string
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Rows) != 94 || (len(got.Problems) > 0) != (code == 2) {
				t.Fatalf("%v, %d rows, problems %q", err, len(got.Rows), got.Problems)
			}
			for verdict, n := range c.counts {
				if got.Counts[verdict] != n {
					t.Errorf("%v", got.Counts)
				}
			}
		})
	}
	up, app := "published: could not be read\n", "appliance: could not be read\n"
	for name, c := range map[string]struct {
		up, app  contractDaemon
		args     []string
		out, not string // all that is printed; what is not
	}{
		"neither side":              {down, down, nil, up + app + "nothing was compared\n", ""},
		"no published document":     {down, contractDaemon{doc: small}, nil, "nothing was compared\n", "appliance: could"},
		"none, and no appliance is": {down, down, []string{"--appliance", "none"}, up + "nothing was compared\n", "appliance"},
		"no appliance":              {contractDaemon{doc: small}, down, nil, app, "nothing was"},
	} {
		_, out, said := mcpctl(t, append([]string{"privilege-crosscheck", "--dir", documents(t, &c.up, &c.app)}, c.args...)...)
		if !strings.Contains(out, c.out) || c.not != "" && strings.Contains(out, c.not) || strings.Contains(out, "explained_difference") != (name == "no appliance") || !strings.Contains(said, "it is down") {
			t.Errorf("%s:\n%s%s", name, out, said)
		}
	}
	dir := documents(t, &contractDaemon{doc: small}, &contractDaemon{doc: drifted})
	_, out, _ := mcpctl(t, "privilege-crosscheck", "--dir", dir)
	for _, want := range []string{"published: upstream, version v2.10.0", "drift  pfsense_get_firewall_aliases", "published: api-v2-firewall-aliases-get", "appliance: api-v2-other", "94 tools: 1 match, 1 drift"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
