// Package writepath is executord with a write path as a real process, for tests and
// benches: a test build of it, an emulated TPM, a pretend appliance, and owners who
// sign by program. It is a test tool: what it signs with is public knowledge.
package writepath

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/artifacttest"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/rpc"
	executorpb "pfsensemcp/proto/executor/v1"
	"pfsensemcp/test/fakepf"
	"pfsensemcp/test/programs"
	"pfsensemcp/test/trial"
)

// Alias is the pretend appliance's alias that is changed, and what stands there first.
const (
	Alias = "Print_Servers"
	Old   = "Label and office printers"
	patch = "/api/v2/firewall/alias"
)

// Patience bounds every wait; a healthy executord needs some hundredths of it.
const Patience = 2 * time.Minute

// Rig is one write path. Its process may be killed and started again.
type Rig struct {
	T       trial.T
	Dir     string // sockets, settings, keys, store
	FW      *fakepf.Server
	Front   executorpb.FrontClient
	Admin   executorpb.AdminClient
	program string
	tpm     string // address
	conns   []*grpc.ClientConn
	cmd     *exec.Cmd
	done    chan error
	log     string
}

// Program builds the test build of executord once for all tests of a package.
func Program(dir string) (string, error) {
	return filepath.Join(dir, "executord"), programs.Build(programs.Demo, dir, "cmd/executord")
}

// New lays everything out in a directory of its own. Nothing runs yet but the pretend
// appliance.
func New(t trial.T, program, tpm string, o fakepf.Options) *Rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "wp") // short: a socket's path has at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &Rig{T: t, Dir: dir, FW: fakepf.Start(t, o), program: program, tpm: tpm, log: filepath.Join(dir, "log")}
	for _, d := range []string{"keys", "store"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err1 := keyfile.NewRoot("k1", 1)
	attest, err2 := keyfile.NewAttestation(artifacttest.ExecutorID)
	auth, err3 := keyfile.NewCounterAuth()
	set, err4 := artifacttest.Owners().Encode()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"keys/root": root, "keys/attestation": attest, "keys/auth": auth, "keys/api": []byte(fakepf.WriteKey + "\n"),
		"authorities.json": set, "ca.pem": r.FW.CAPEM(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// settings are executord's; more is appended, such as a table [test].
func (r *Rig) settings(more string) string {
	me := os.Getuid()
	if !strings.Contains(more, "settle_ms") {
		more += "settle_ms = 1\n"
	}
	return fmt.Sprintf(`sandbox = "available"
socket_dir = %q
mcpd_user = "%d"
operators = ["%d"]
lab = true
store_dir = %q
store_id = "lab-crash"
authorities_file = %q
[appliance]
base_url = %q
tls_mode = "auto"
ca_file = %q
account = "mcp-writer"
[write]
enabled = true
[anchor]
backend = "tpm-local"
tpm = %q
[credentials]
root_key = %q
attestation_key = %q
nv_auth = %q
api_key = %q
[limits]
sends_per_hour = 20
sends_per_day = 40
requests_per_minute = 12
requests_per_minute_per_uid = 6
requests_per_day = 120
requests_per_day_per_uid = 30
[test]
patience_ms = 1
fresh_ms = 30000
%s`, r.Dir, me, me, r.path("store"), r.path("authorities.json"), r.FW.URL(), r.path("ca.pem"), r.tpm,
		r.path("keys/root"), r.path("keys/attestation"), r.path("keys/auth"), r.path("keys/api"), more)
}

func (r *Rig) path(name string) string { return filepath.Join(r.Dir, name) }

// Start starts the process and waits until it serves. More is appended to the table
// [test] of its settings.
func (r *Rig) Start(more string) error {
	if err := os.WriteFile(r.path("executord.toml"), []byte(r.settings(more)), 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(r.program, "--config", r.path("executord.toml"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.cmd, r.done = cmd, make(chan error, 1)
	go func() { r.done <- cmd.Wait() }()
	r.T.Cleanup(func() { r.Kill() })
	front, err := r.dial("exec")
	if err != nil {
		return err
	}
	admin, err := r.dial("exec-admin")
	if err != nil {
		return err
	}
	r.Front, r.Admin = executorpb.NewFrontClient(front), executorpb.NewAdminClient(admin)
	end := time.Now().Add(Patience)
	for {
		ctx, cancel := soon()
		_, err := r.Admin.Discover(ctx, &executorpb.DiscoverRequest{})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case werr := <-r.done:
			r.done <- werr
			return fmt.Errorf("executord ended before it served: %w", errors.Join(werr, err))
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("executord does not serve: %w\n%s", err, r.Log())
		}
	}
}

func (r *Rig) dial(name string) (*grpc.ClientConn, error) {
	c, err := rpc.Dial(filepath.Join(r.Dir, name, name+".sock"), "executord")
	if err == nil {
		r.conns = append(r.conns, c)
	}
	return c, err
}

// PID is the process's id.
func (r *Rig) PID() int { return r.cmd.Process.Pid }

// Kill ends the process as the kernel would and waits for its end.
func (r *Rig) Kill() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill() // it may have ended by itself
	r.Ended()
}

// Ended waits until the process has ended by itself.
func (r *Rig) Ended() {
	if r.cmd == nil {
		return
	}
	select {
	case <-r.done:
	case <-time.After(Patience):
		_ = r.cmd.Process.Kill() // it hangs
		<-r.done
		r.T.Errorf("executord did not end by itself:\n%s", r.Log())
	}
	r.cmd = nil
	for _, c := range r.conns {
		_ = c.Close() // the other side is gone
	}
	r.conns = nil
}

// Landed waits until the appliance has taken what a process that has ended had sent. The
// appliance must have no other client.
func (r *Rig) Landed() { r.until("the appliance is done with what was sent", r.FW.Settled) }

// Leaving waits until the process has begun to end: it serves no socket any more.
func (r *Rig) Leaving() {
	r.until("executord has begun to end", func() bool {
		_, err := os.Lstat(filepath.Join(r.Dir, "exec-admin", "exec-admin.sock"))
		return err != nil
	})
}

func (r *Rig) until(what string, f func() bool) {
	for end := time.Now().Add(Patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.T.Fatalf("it never came that %s:\n%s", what, r.Log())
		}
	}
}

// HoldChange stops the next change at the appliance, before it is made.
func (r *Rig) HoldChange() *fakepf.Held { return r.FW.Hold("PATCH", patch) }

// Log is what the process said.
func (r *Rig) Log() string {
	b, _ := os.ReadFile(r.log)
	return string(b)
}

func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Patience)
}

// Provision takes all steps of provisioning.
func (r *Rig) Provision() error {
	const handle = 0x01500000
	ctx, cancel := soon()
	defer cancel()
	for {
		st, err := r.Admin.AnchorStatus(ctx, &executorpb.AnchorStatusRequest{})
		if err != nil {
			return err
		}
		switch st.GetStep() {
		case executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL:
			return nil
		case executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ, executorpb.AnchorStep_ANCHOR_STEP_SEEDED, executorpb.AnchorStep_ANCHOR_STEP_AGREED:
			value := st.GetAnchor().GetWitnessValue()
			if st.GetAnchor().WitnessValue == nil {
				value = st.GetAnchor().GetStoreValue()
			}
			_, err = r.Admin.AnchorSeed(ctx, &executorpb.AnchorSeedRequest{Value: value, Handle: handle, Confirm: true})
		default:
			_, err = r.Admin.AnchorProvision(ctx, &executorpb.AnchorProvisionRequest{Handle: handle, Confirm: true, Expected: st.GetStep()})
		}
		if err != nil {
			return err
		}
	}
}

// Counter is the TPM's value, as executord reads it.
func (r *Rig) Counter() (int64, error) {
	ctx, cancel := soon()
	defer cancel()
	d, err := r.Admin.Discover(ctx, &executorpb.DiscoverRequest{})
	if err == nil && d.GetAnchor().WitnessValue == nil {
		err = errors.New("the counter cannot be read")
	}
	return int64(d.GetAnchor().GetWitnessValue()), err
}

// Ask asks for a text as mcpd does, for the first of its users.
func (r *Rig) Ask(text string) (executorpb.WriteState, error) { return r.AskFor(1001, text) }

// AskFor asks for a text as mcpd does, for a user.
func (r *Rig) AskFor(uid uint32, text string) (executorpb.WriteState, error) {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Front.RequestAliasDescription(ctx, &executorpb.RequestAliasDescriptionRequest{AliasName: Alias, Description: text, CallerUid: uid})
	return a.GetState(), err
}

// Requests lists all requests, newest first.
func (r *Rig) Requests() ([]*executorpb.Request, error) {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Admin.ListRequests(ctx, &executorpb.ListRequestsRequest{Statuses: []executorpb.RequestStatus{
		executorpb.RequestStatus_REQUEST_STATUS_OPEN, executorpb.RequestStatus_REQUEST_STATUS_AUTHORIZED, executorpb.RequestStatus_REQUEST_STATUS_CONCLUDED,
	}})
	return a.GetRequests(), err
}

// Authorize previews, signs and submits; it returns the contract's id.
func (r *Rig) Authorize(request string) (string, error) {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Admin.GetPreview(ctx, &executorpb.GetPreviewRequest{RequestId: request})
	if err != nil {
		return "", err
	}
	file, err := SignPreview(r.T, a.GetArtifact())
	if err != nil {
		return "", err
	}
	s, err := r.Admin.SubmitAuthorization(ctx, &executorpb.SubmitAuthorizationRequest{Authorization: file})
	return s.GetContractId(), err
}

// SignPreview is what the authorization owner does with a preview.
func SignPreview(t trial.T, preview []byte) ([]byte, error) {
	t.Helper()
	p, err := artifact.ParsePreview(preview)
	if err != nil {
		return nil, err
	}
	auth := artifacttest.Authorization(t, p.Intent, p.Plan)
	auth.ID, auth.RequestID = change.NewID(change.PrefixAuthorization), p.RequestID
	auth.IssuedAt = time.Now().UTC().Truncate(time.Second)
	auth.ExpiresAt = auth.IssuedAt.Add(15 * time.Minute)
	return artifact.Sign(auth, artifacttest.KeyA())
}

// SignPending is what the confirmation owner does with a pending contract.
func SignPending(t trial.T, pending []byte) ([]byte, error) {
	t.Helper()
	p, err := artifact.ParsePending(pending)
	if err != nil {
		return nil, err
	}
	d, err := p.Digests()
	if err != nil {
		return nil, err
	}
	c := artifacttest.Confirmation(t)
	c.Nonce, c.ContractID, c.OperationID, c.Digests = change.NewID(""), p.ContractID, p.OperationID, d
	c.IssuedAt, c.ExpiresAt = time.Now().UTC().Truncate(time.Second), p.ExpiresAt
	return artifact.Sign(c, artifacttest.KeyC())
}

// Confirm signs and submits the confirmation of a contract.
func (r *Rig) Confirm(contract string) error {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Admin.GetPending(ctx, &executorpb.GetPendingRequest{ContractId: contract})
	if err != nil {
		return err
	}
	file, err := SignPending(r.T, a.GetArtifact())
	if err != nil {
		return err
	}
	_, err = r.Admin.SubmitConfirmation(ctx, &executorpb.SubmitConfirmationRequest{Confirmation: file})
	return err
}

// Rollback signs both halves of an undo and submits them.
func (r *Rig) Rollback(contract string) error {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Admin.GetRollbackRequest(ctx, &executorpb.GetRollbackRequestRequest{ContractId: contract})
	if err != nil {
		return err
	}
	q, err := artifact.ParseRollbackRequest(a.GetArtifact())
	if err != nil {
		return err
	}
	u, err := q.Undo()
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	one := func(by canon.Role, id string) *artifact.Rollback {
		return &artifact.Rollback{By: by, AuthorityID: id, Nonce: change.NewID(""), Undo: u, IssuedAt: now, ExpiresAt: now.Add(10 * time.Minute)}
	}
	c, err1 := artifact.Sign(one(canon.RoleRollback, artifacttest.ConfirmationID), artifacttest.KeyC())
	b, err2 := artifact.Sign(one(canon.RoleRollbackAuthorization, artifacttest.AuthorizationID), artifacttest.KeyA())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err = r.Admin.SubmitRollback(ctx, &executorpb.SubmitRollbackRequest{Rollback: c, RollbackAuthorization: b})
	return err
}

// Contract reads a contract.
func (r *Rig) Contract(id string) (*executorpb.Contract, error) {
	ctx, cancel := soon()
	defer cancel()
	a, err := r.Admin.GetContract(ctx, &executorpb.GetContractRequest{ContractId: id})
	return a.GetContract(), err
}

// Contracts lists all contracts, newest first.
func (r *Rig) Contracts() ([]*executorpb.Contract, error) {
	ctx, cancel := soon()
	defer cancel()
	var all []executorpb.State
	for n := range executorpb.State_name {
		if n != 0 {
			all = append(all, executorpb.State(n))
		}
	}
	a, err := r.Admin.ListContracts(ctx, &executorpb.ListContractsRequest{States: all})
	return a.GetContracts(), err
}

// Settled waits until no attempt of a contract is under way.
func (r *Rig) Settled(id string) (*executorpb.Contract, error) {
	end := time.Now().Add(Patience)
	for {
		c, err := r.Contract(id)
		if err != nil {
			return nil, err
		}
		if s := c.GetState(); s != executorpb.State_STATE_EXECUTING && s != executorpb.State_STATE_ROLLING_BACK || time.Now().After(end) {
			return c, nil
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Sends are the changes that reached the appliance's socket.
func (r *Rig) Sends() (n int) {
	for _, q := range r.FW.RequestsTo(patch) {
		if q.Method != "GET" {
			n++
		}
	}
	return n
}

// Descr is the alias's description on the appliance.
func (r *Rig) Descr() string {
	for pos := range r.FW.Rows("FirewallAlias") {
		row := r.FW.Row("FirewallAlias", pos)
		if name, _ := row.Get("name"); name == Alias {
			d, _ := row.Get("descr")
			s, _ := d.(string)
			return s
		}
	}
	return ""
}

// Gone says whether an error means that the process went away under the call.
func Gone(err error) bool {
	return err != nil && (errs.CodeOf(err) == errs.Unavailable || errs.CodeOf(err) == errs.Expired || strings.Contains(err.Error(), "EOF"))
}

// Process is the process that runs now: it stays what it is when the rig kills it or
// starts another.
func (r *Rig) Process() *os.Process { return r.cmd.Process }
