package walls

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/daemontest"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/swtpm"
	"pfsensemcp/test/writepath"
)

// asHelper makes this binary a small program that another user runs: it tries to open
// each path of its arguments.
const asHelper = "WALLS_TRY_PATHS"

var program string

func TestMain(m *testing.M) {
	if os.Getenv(asHelper) != "" {
		for _, path := range os.Args[1:] {
			fmt.Println(path, try(path))
		}
		return
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "walls")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		program, err = writepath.Program(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// house is a provisioned write path whose process runs.
func house(t *testing.T, test string) (*writepath.Rig, *swtpm.TPM) {
	t.Helper()
	if testing.Short() {
		t.Skip("real processes")
	}
	tpm := swtpm.New(t)
	r := writepath.New(t, program, tpm.Address(), fakepf.Options{})
	if err := r.Start(test); err != nil {
		t.Fatal(err)
	}
	if err := r.Provision(); err != nil {
		t.Fatalf("%v\n%s", err, r.Log())
	}
	return r, tpm
}

// change plays a whole change.
func change(t *testing.T, r *writepath.Rig, text string) *executorpb.Contract {
	t.Helper()
	if _, err := r.Ask(text); err != nil {
		t.Fatal(err)
	}
	all, err := r.Requests()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	id, err := r.Authorize(all[0].GetRequestId())
	if err == nil {
		err = r.Confirm(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	k, err := r.Settled(id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// secrets are what must never leave the process, in every form in which bytes are
// written down.
func secrets(t *testing.T, r *writepath.Rig) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	note := func(name string, raw []byte) {
		all[name+" raw"] = raw
		all[name+" hex"] = []byte(hex.EncodeToString(raw))
		all[name+" HEX"] = bytes.ToUpper(all[name+" hex"])
		all[name+" base64"] = []byte(base64.StdEncoding.EncodeToString(raw))
		all[name+" base64url"] = []byte(base64.RawURLEncoding.EncodeToString(raw))
		all[name+" Go"] = []byte(strings.Trim(fmt.Sprint(raw), "[]"))
	}
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(r.Dir, "keys", name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.TrimSpace(b)
	}
	member := func(name, key string) []byte {
		var o map[string]any
		if err := json.Unmarshal(file(name), &o); err != nil {
			t.Fatal(err)
		}
		s, _ := o[key].(string)
		raw, err := hex.DecodeString(s)
		if err != nil || len(raw) != 32 {
			t.Fatalf("%s holds no secret", name)
		}
		return raw
	}
	note("the root key", member("root", "material_hex"))
	note("the attestation key", member("attestation", "seed_hex"))
	auth, err := hex.DecodeString(string(file("auth")))
	if err != nil {
		t.Fatal(err)
	}
	note("the counter's secret", auth)
	note("the API key", []byte(fakepf.WriteKey))
	return all
}

// search fails for each secret that stands somewhere.
func search(t *testing.T, where string, in []byte, all map[string][]byte) {
	t.Helper()
	for name, secret := range all {
		if bytes.Contains(in, secret) {
			t.Errorf("%s stands in %s", name, where)
		}
	}
}

// heard is everything that came back for a call: answer, error, metadata.
func heard(ctx context.Context, conn *grpc.ClientConn, method string, in, out proto.Message) []byte {
	var header, trailer metadata.MD
	err := conn.Invoke(ctx, method, in, out, grpc.Header(&header), grpc.Trailer(&trailer))
	b, _ := proto.Marshal(out)
	b = append(b, fmt.Sprintf("%q %q %v %+v", header, trailer, err, status.Convert(err).Proto())...)
	return b
}

// everything calls every method of both services with what fits nothing, and with ids
// that are there, and returns all that was heard.
func everything(t *testing.T, r *writepath.Rig, request, contract string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []byte
	methods := 0
	for socket, name := range map[string]string{"exec": "Front", "exec-admin": "Admin"} {
		conn, err := rpc.Dial(daemontest.Socket(r.Dir, socket), "executord")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(serviceName(name)))
		if err != nil {
			t.Fatal(err)
		}
		list := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			m := list.Get(i)
			if m.IsStreamingServer() || m.IsStreamingClient() {
				all = append(all, streamed(ctx, conn, m)...)
				continue
			}
			methods++
			for _, with := range []string{"", request, contract, fakepf.WriteKey[:8]} {
				in := dynamicpb.NewMessage(m.Input())
				fields := m.Input().Fields()
				for j := range fields.Len() {
					switch f := fields.Get(j); {
					case f.IsList() || f.IsMap():
					case f.Kind() == protoreflect.StringKind:
						in.Set(f, protoreflect.ValueOfString(with))
					case f.Kind() == protoreflect.BytesKind:
						in.Set(f, protoreflect.ValueOfBytes([]byte("{\"a\":\""+with+"\"}")))
					}
				}
				all = append(all, heard(ctx, conn, "/"+serviceName(name)+"/"+string(m.Name()), in, dynamicpb.NewMessage(m.Output()))...)
			}
		}
	}
	if methods < 25 {
		t.Errorf("%d methods were called", methods)
	}
	return all
}

// serviceName is a service's name on the wire.
func serviceName(short string) string {
	if short == "Front" {
		return executorpb.Front_ServiceDesc.ServiceName
	}
	return executorpb.Admin_ServiceDesc.ServiceName
}

// streamed reads a stream to its end.
func streamed(ctx context.Context, conn *grpc.ClientConn, m protoreflect.MethodDescriptor) (all []byte) {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+string(m.Parent().FullName())+"/"+string(m.Name()))
	if err != nil {
		return []byte(err.Error())
	}
	_ = s.SendMsg(dynamicpb.NewMessage(m.Input())) // what is wrong with it is heard below
	_ = s.CloseSend()
	for {
		out := dynamicpb.NewMessage(m.Output())
		if err := s.RecvMsg(out); err != nil {
			h, _ := s.Header()
			return fmt.Appendf(all, "%q %q %v", h, s.Trailer(), err)
		}
		b, _ := proto.Marshal(out)
		all = append(all, b...)
	}
}

func TestK6NoSecretLeavesTheProcess(t *testing.T) {
	r, _ := house(t, "")
	all := secrets(t, r)
	k := change(t, r, "Printers of the first floor")
	if k.GetState() != executorpb.State_STATE_VERIFIED {
		t.Fatalf("%v\n%s", k, r.Log())
	}
	// Faults of every kind that executord has words for.
	r.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 401, ResponseID: fakepf.WriteKey, Path: "/api/v2/firewall/aliases"})
	_, _ = r.Ask("Printers of the second floor")
	r.FW.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Value: fakepf.WriteKey, Path: "/api/v2/firewall/aliases"})
	_, _ = r.Ask("Printers of the third floor")
	said := everything(t, r, k.GetRequestId(), k.GetContractId())
	search(t, "what the sockets say", said, all)
	for _, known := range []string{k.GetContractId(), "lab-crash", "contract_created"} { // it was listened to
		if !bytes.Contains(said, []byte(known)) {
			t.Errorf("nobody said %s", known)
		}
	}

	proc := fmt.Sprintf("/proc/%d/", r.PID())
	for _, name := range []string{"cmdline", "environ", "status", "comm", "stat", "limits", "mountinfo"} {
		b, err := os.ReadFile(proc + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		search(t, name, b, all)
		if name == "limits" {
			for line := range strings.Lines(string(b)) {
				if f := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && (f[4] != "0" || f[5] != "0") {
					t.Errorf("a core file may be written: %s", line)
				}
			}
		}
	}
	// What the appliance got: the key in its one header, and nowhere else.
	for _, q := range r.FW.Requests() {
		search(t, "a request", []byte(q.Method+q.Path+q.Query+q.Body), all)
		for name, v := range q.Header {
			if !strings.EqualFold(name, "X-API-Key") {
				search(t, "the header "+name, []byte(v), all)
			}
		}
	}
	// A dump of all stacks, and the end of the process.
	pid := r.PID()
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	r.Ended()
	log := []byte(r.Log())
	if !bytes.Contains(log, []byte("goroutine")) {
		t.Log("no stack was dumped")
	}
	search(t, "the log", log, all)
	// The state directory: rows under keys, and no key.
	if err := filepath.WalkDir(filepath.Join(r.Dir, "store"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), "core") {
			t.Errorf("a core file was written: %s", path)
		}
		b, err := os.ReadFile(path)
		search(t, d.Name(), b, all)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, secret := range all {
		if len(secret) < 16 {
			t.Errorf("%s is nothing to look for", name)
		}
	}
}

func TestK6ABadKeyFileIsRefusedWithoutAWordOfIt(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	tpm := swtpm.New(t)
	for _, name := range []string{"root", "attestation", "auth", "api"} {
		for what, spoil := range map[string]func([]byte) []byte{
			"with a line more":         func(b []byte) []byte { return append(bytes.Clone(b), []byte("more\n")...) },
			"cut":                      func(b []byte) []byte { return b[:len(b)/2] },
			"with a control character": func(b []byte) []byte { return append([]byte("\x1b"), b...) },
			"with a member":            func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"x":1,`), 1) },
		} {
			r := writepath.New(t, program, tpm.Address(), fakepf.Options{})
			all := secrets(t, r)
			path := filepath.Join(r.Dir, "keys", name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := spoil(b)
			if bytes.Equal(bad, b) || name == "api" && what != "with a control character" {
				continue // an API key has no form: it is the first line
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := r.Start(""); err == nil {
				t.Errorf("%s %s: it was taken", name, what)
			}
			all["a half of it"] = bytes.TrimSpace(b)[len(b)/4 : len(b)/2]
			search(t, "what is said of "+name+" "+what, []byte(r.Log()), all)
			r.Kill()
		}
	}
}

// T5 for what a real process writes: its journal tells a whole change by ids and words
// of closed lists.
func TestT5TheJournalOfARealProcessHasNoPrivateWord(t *testing.T) {
	r, _ := house(t, "")
	const text = "Wording that is nobody else's"
	k := change(t, r, text)
	r.FW.Fault(fakepf.Fault{Kind: fakepf.WholeBody, Value: text, Path: "/api/v2/firewall/aliases"})
	_, _ = r.Ask(text + ", more of it")
	r.FW.Fault(fakepf.Fault{Kind: fakepf.Status, Status: 500, ResponseID: "X", Path: "/api/v2/firewall/alias", Method: "PATCH"})
	if err := r.Rollback(k.GetContractId()); err != nil {
		t.Log(err) // an undo may be too soon after its change
	}
	_ = everything(t, r, k.GetRequestId(), k.GetContractId())
	r.Kill()
	log := r.Log()
	if !strings.Contains(log, k.GetContractId()) {
		t.Errorf("the journal does not tell of the change:\n%s", log)
	}
	for name, word := range map[string]string{
		"the alias": writepath.Alias, "its text": text, "its former text": writepath.Old, "its address": "10.71.10.31", "its detail": "workshop label printer",
		"the appliance": strings.TrimPrefix(r.FW.URL(), "https://"), "the API's path": "/api/v2/firewall", "the key": fakepf.WriteKey,
	} {
		if i := strings.Index(log, word); i >= 0 {
			t.Errorf("%s stands in the journal: %s", name, log[max(0, i-200):min(len(log), i+100)])
		}
	}
}

func TestX14ASecondExecutordEndsAtOnceAndTheAttemptUnderWayGoesOn(t *testing.T) {
	r, _ := house(t, "")
	held := r.HoldChange()
	ended := make(chan error, 1)
	go func() {
		defer held.Go()
		select {
		case <-held.Reached:
		case <-t.Context().Done():
			ended <- t.Context().Err()
			return
		}
		// The same store from another place, and the very same settings.
		same := filepath.Join(r.Dir, "executord.toml")
		b, err := os.ReadFile(same)
		if err != nil {
			ended <- err
			return
		}
		other := filepath.Join(r.Dir, "second.toml")
		elsewhere, err := os.MkdirTemp("", "w2")
		if err == nil {
			defer os.RemoveAll(elsewhere)
			text := strings.Replace(string(b), fmt.Sprintf("socket_dir = %q", r.Dir), fmt.Sprintf("socket_dir = %q", elsewhere), 1)
			err = os.WriteFile(other, []byte(text), 0o600)
		}
		for _, config := range []string{other, same} {
			if err != nil {
				break
			}
			out, rerr := exec.Command(program, "--config", config).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(rerr, &exit) || exit.ExitCode() == 0 || config == other && !bytes.Contains(out, []byte("already_running")) {
				err = fmt.Errorf("a second executord with %s: %v\n%s", filepath.Base(config), rerr, out)
			}
		}
		ended <- err
	}()
	k := change(t, r, "Printers of the first floor")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if k.GetState() != executorpb.State_STATE_VERIFIED || r.Sends() != 1 {
		t.Errorf("%v, %d sends\n%s", k, r.Sends(), r.Log())
	}
}

// Review 21: being told to stop does not cut an exchange: it is finished and its outcome
// stored, and nothing else is begun.
func TestReview21AStopDuringAnExchangeFinishesIt(t *testing.T) {
	r, _ := house(t, "")
	held := r.HoldChange()
	const text = "Printers of the first floor"
	if _, err := r.Ask(text); err != nil {
		t.Fatal(err)
	}
	all, err := r.Requests()
	if err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	id, err := r.Authorize(all[0].GetRequestId())
	if err == nil {
		err = r.Confirm(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.Reached:
	case <-time.After(writepath.Patience):
		t.Fatalf("nothing was sent:\n%s", r.Log())
	}
	if err := syscall.Kill(r.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.Leaving() // while its request has no answer
	held.Go()
	r.Ended()
	if r.Descr() != text || r.Sends() != 1 {
		t.Errorf("%q, %d sends", r.Descr(), r.Sends())
	}
	if err := r.Start(""); err != nil {
		t.Fatal(err)
	}
	k, err := r.Contract(id)
	if err != nil || k.GetState() != executorpb.State_STATE_VERIFIED || r.Sends() != 1 {
		t.Errorf("%v, %v, %d sends\n%s", k, err, r.Sends(), r.Log())
	}
}

// try says whether a path can be opened, or a socket reached.
func try(path string) string {
	if fi, err := os.Stat(path); err == nil && fi.Mode().Type() == os.ModeSocket || strings.HasSuffix(path, ".sock") || strings.HasSuffix(path, "tpm") {
		c, err := net.Dial("unix", path)
		if err != nil {
			return "closed"
		}
		defer c.Close()
		if !strings.Contains(path, "/exec") {
			return "open"
		}
		_, _ = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // either comes at once
		if n, err := c.Read(make([]byte, 64)); n == 0 || err != nil {
			return "closed" // before a byte
		}
		return "open"
	}
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "closed"
	}
	f.Close()
	return "open"
}

// G5, as real users: what executord has made and owns, nobody else can open, and its
// sockets let in whom they are for.
func TestG5NoOtherUserOpensItsSocketsKeysStoreOrTPM(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can become the other users")
	}
	r, tpm := house(t, "")
	r.Kill()
	// From here on it is the process of a user of its own, over what it made itself.
	const own = programs.UIDExecutord
	config := filepath.Join(r.Dir, "executord.toml")
	b, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), `mcpd_user = "0"`, fmt.Sprintf("mcpd_user = \"%d\"", programs.UIDMcpd), 1)
	text = strings.Replace(text, `operators = ["0"]`, fmt.Sprintf("operators = [\"%d\"]", programs.UIDOperator), 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(r.Dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, own, own))
	}); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(r.Dir, 0o755), os.Chown(tpm.Socket(), own, own), os.Chmod(tpm.Socket(), 0o600), os.Chmod(filepath.Dir(tpm.Socket()), 0o755))
	for name, gid := range programs.Named("executord").Sockets {
		dir := filepath.Join(r.Dir, name)
		err = errors.Join(err, os.RemoveAll(dir), os.Mkdir(dir, 0o750), os.Chown(dir, own, gid), os.Chmod(dir, 0o750|os.ModeSetgid))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := daemontest.Start(t, daemontest.Options{
		Exe: program, Args: []string{"--config", config}, User: &syscall.Credential{Uid: own, Gid: own, Groups: []uint32{programs.GIDMcpd, programs.GIDAdmin}},
	})
	front, admin := daemontest.Socket(r.Dir, "exec"), daemontest.Socket(r.Dir, "exec-admin")
	p.Until("executord serving", func() bool { return strings.Contains(p.Output(), `"msg":"serving"`) })
	paths := []string{front, admin, tpm.Socket(), config}
	for _, dir := range []string{"keys", "store"} {
		list, err := os.ReadDir(filepath.Join(r.Dir, dir))
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		paths = append(paths, filepath.Join(r.Dir, dir))
		for _, e := range list {
			paths = append(paths, filepath.Join(r.Dir, dir, e.Name()))
		}
	}
	// Not even where their directories are open: the files' own modes hold.
	open := func(mode os.FileMode) {
		for _, dir := range []string{"keys", "store"} {
			if err := os.Chmod(filepath.Join(r.Dir, dir), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := []uint32{programs.GIDClients, programs.GIDAdmin, programs.GIDMcpd}
	for _, mode := range []os.FileMode{0o700, 0o755} {
		open(mode)
		for _, u := range []struct {
			name   string
			uid    uint32
			groups []uint32
			may    []string
		}{
			{"guidanced", programs.UIDGuidanced, nil, nil},
			{"docfetchd", programs.UIDDocfetchd, nil, nil},
			{"guidanced in every group", programs.UIDGuidanced, all, nil},
			{"docfetchd in every group", programs.UIDDocfetchd, all, nil},
			{"nobody in every group", programs.UIDNobody, all, nil},
			{"an MCP user", programs.UIDClient, []uint32{programs.GIDClients}, nil},
			{"mcpd", programs.UIDMcpd, []uint32{programs.GIDMcpd}, []string{front}},
			{"an operator", programs.UIDOperator, []uint32{programs.GIDAdmin}, []string{admin}},
			// Who owns it can: the walls are what stops the others.
			{"executord", own, all, slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == front || p == admin })},
		} {
			h := daemontest.Start(t, daemontest.Options{
				Exe: helper(t), Args: paths, Env: []string{asHelper + "=1"}, User: &syscall.Credential{Uid: u.uid, Gid: u.uid, Groups: u.groups},
			})
			if code := h.Wait(); code != 0 {
				t.Fatalf("exit code %d: %s", code, h.Output())
			}
			seen := 0
			for line := range strings.Lines(h.Output()) {
				path, saw, _ := strings.Cut(strings.TrimSpace(line), " ")
				seen++
				if mode == 0o755 && filepath.Dir(path) == r.Dir && saw == "open" && (strings.HasSuffix(path, "/keys") || strings.HasSuffix(path, "/store")) {
					continue // the directory itself, which is open for once
				}
				if want := slices.Contains(u.may, path); (saw == "open") != want {
					t.Errorf("%s, directories %o: %s is %s", u.name, mode, strings.TrimPrefix(path, r.Dir), saw)
				}
			}
			if seen != len(paths) {
				t.Errorf("%s tried %d of %d", u.name, seen, len(paths))
			}
		}
	}
	open(0o700)
	if t.Failed() {
		t.Log(p.Output())
	}
	p.Stop()
}

var copied string

// helper is this test binary where every user can run it.
func helper(t *testing.T) string {
	t.Helper()
	if copied != "" {
		return copied
	}
	copied = filepath.Join(filepath.Dir(program), "helper")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(copied, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return copied
}
