package posture

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pfsensemcp/pkg/artifact"
	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/opctl/internal/carry"
	"pfsensemcp/pkg/opctl/internal/cli"
	"pfsensemcp/pkg/opctl/internal/suite"
	executorpb "pfsensemcp/proto/executor/v1"
)

// anchor is the counter's state as --json prints it.
type anchor struct {
	Backend       string  `json:"backend"`
	Assurance     string  `json:"assurance"`
	Evidence      string  `json:"evidence"`
	Configured    bool    `json:"configured"`
	Exists        bool    `json:"exists"` // the store's file
	Seeded        bool    `json:"seeded"`
	Complete      bool    `json:"complete"`
	NVIndex       string  `json:"nv_index"` // "" for none
	NVIndexName   string  `json:"nv_index_name"`
	StoreValue    *uint64 `json:"store_value"`
	WitnessValue  *uint64 `json:"witness_value"` // null when it could not be read
	ProvisionedAt int64   `json:"provisioned_at"`
}

func ofAnchor(a *executorpb.Anchor) anchor {
	out := anchor{
		Backend: a.GetBackend(), Assurance: a.GetAssurance(), Evidence: a.GetEvidence(), Configured: a.GetConfigured(), Exists: a.GetExists(),
		Seeded: a.GetSeeded(), Complete: a.GetComplete(), NVIndexName: a.GetNvIndexName(), ProvisionedAt: a.GetProvisionedAt(),
	}
	if a.GetNvIndex() != 0 {
		out.NVIndex = handleText(a.GetNvIndex())
	}
	if a != nil {
		out.StoreValue, out.WitnessValue = a.StoreValue, a.WitnessValue
	}
	return out
}

// differs says whether things that must agree do not.
func (a *anchor) differs() bool {
	return a.Evidence == change.EvidenceMismatch || a.Evidence == change.EvidenceStoreError
}

func handleText(h uint32) string { return fmt.Sprintf("0x%08x", h) }

// print shows the counter's state.
func (a *anchor) print(c *suite.Call) {
	cli.Row(c.Out, "anchor", cli.Clean(a.Evidence)+evidenceText(a.Evidence), "backend "+cli.Clean(a.Backend)+", assurance "+cli.Clean(a.Assurance))
	if a.NVIndex != "" {
		cli.Row(c.Out, "index", a.NVIndex, "name "+cli.Clean(a.NVIndexName))
	}
	cli.Row(c.Out, "counter", "store "+number(a.StoreValue)+", TPM "+number(a.WitnessValue))
	cli.Row(c.Out, "store file", yesNo(a.Exists, "there", "not there")+", "+yesNo(a.Seeded, "seeded", "not seeded")+", "+yesNo(a.Complete, "complete", "not complete"))
	if a.ProvisionedAt != 0 {
		cli.Row(c.Out, "provisioned", cli.Stamp(a.ProvisionedAt))
	}
}

func yesNo(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func number(n *uint64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatUint(*n, 10)
}

// evidenceText says what an evidence state means.
func evidenceText(s string) string {
	switch s {
	case change.EvidenceUnconfigured:
		return ": write is off"
	case change.EvidenceInvalid:
		return ": the write configuration is not valid"
	case change.EvidenceNotCreated:
		return ": configured, and no store was made yet"
	case change.EvidenceStoreError:
		return ": THE STORE CANNOT BE READ OR DOES NOT AGREE WITH ITSELF"
	case change.EvidenceUnprovisioned:
		return ": the counter is not provisioned"
	case change.EvidenceUnverified:
		return ": provisioned, and no witness is configured"
	case change.EvidenceUnreachable:
		return ": provisioned, and the TPM or witness does not answer"
	case change.EvidenceVerified:
		return ": store and counter agree"
	case change.EvidenceMismatch:
		return ": STORE AND COUNTER DIFFER"
	}
	return ""
}

// state is what the commands of the counter print as JSON.
type state struct {
	Step    string `json:"step"`
	Lockout bool   `json:"lockout"`
	anchor
	Note string `json:"note"` // executord's own words on it
	Next string `json:"next"`
	step executorpb.AnchorStep
}

func ofState(r *executorpb.AnchorStatusResponse) state {
	s := state{anchor: ofAnchor(r.GetAnchor()), Lockout: r.GetLockout(), Note: r.GetNext(), step: r.GetStep()}
	s.Step = cli.Word(s.step.String(), "ANCHOR_STEP_")
	s.Next = s.next(r.GetAnchor().GetNvIndex())
	return s
}

// next is the command that continues from a state.
func (s *state) next(index uint32) string {
	handle := "HANDLE"
	if index != 0 {
		handle = handleText(index)
	}
	switch {
	case s.Lockout:
		return "wait: the TPM refuses for now, after wrong secrets by anybody; do not try again and again; mcpctl doctor write"
	case s.differs():
		return "find out why first; then mcpctl anchor status -o anchor.json, for the reconciliation owner: mcpsign sign-rebaseline -i anchor.json --reason REASON -o rebaseline.json"
	}
	switch s.step {
	case executorpb.AnchorStep_ANCHOR_STEP_NOTHING:
		return "mcpctl anchor plan"
	case executorpb.AnchorStep_ANCHOR_STEP_HANDLE_SELECTED, executorpb.AnchorStep_ANCHOR_STEP_SECRET_SEALED,
		executorpb.AnchorStep_ANCHOR_STEP_DEFINED, executorpb.AnchorStep_ANCHOR_STEP_INCREMENT_ISSUED:
		return "mcpctl anchor provision --handle " + handle
	case executorpb.AnchorStep_ANCHOR_STEP_VALUE_READ, executorpb.AnchorStep_ANCHOR_STEP_RESERVED,
		executorpb.AnchorStep_ANCHOR_STEP_SEEDED, executorpb.AnchorStep_ANCHOR_STEP_AGREED:
		value := "VALUE"
		if s.WitnessValue != nil {
			value = strconv.FormatUint(*s.WitnessValue, 10)
		}
		return "mcpctl anchor seed --value " + value + " --handle " + handle
	case executorpb.AnchorStep_ANCHOR_STEP_RECORDED, executorpb.AnchorStep_ANCHOR_STEP_OPERATIONAL:
		return "nothing; mcpctl doctor write shows whether writing is ready"
	}
	return "mcpctl doctor write"
}

// show prints the state as a command's answer.
func (s *state) show(c *suite.Call) error {
	if *c.JSON {
		return cli.WriteJSON(c.Out, s)
	}
	fmt.Fprintf(c.Out, "step %s\n", s.Step)
	s.print(c)
	if s.Lockout {
		cli.Row(c.Out, "lockout", "THE TPM REFUSES FOR NOW, after wrong secrets")
	}
	if s.Note != "" {
		cli.Row(c.Out, "note", cli.Clean(s.Note))
	}
	cli.Next(c.Out, s.Next)
	return nil
}

// look asks for the counter's state.
func look(ctx context.Context, c *suite.Call) (s state, err error) {
	err = c.Ask(ctx, suite.Slow, func(ctx context.Context, x executorpb.AdminClient) error {
		r, err := x.AnchorStatus(ctx, &executorpb.AnchorStatusRequest{})
		s = ofState(r)
		return err
	})
	return s, err
}

// status is `mcpctl anchor status`.
func status(ctx context.Context, c *suite.Call, args []string) error {
	path := c.OutFlag()
	if err := c.None(args); err != nil {
		return err
	}
	if *path != "" {
		return attested(ctx, c, *path)
	}
	s, err := look(ctx, c)
	if err != nil {
		return err
	}
	if err := s.show(c); err != nil {
		return err
	}
	if s.differs() {
		return cli.Exit(cli.ExitUsage)
	}
	return nil
}

// attestedFile is `mcpctl anchor status -o FILE --json`.
type attestedFile struct {
	File         string `json:"file"`
	SHA256       string `json:"sha256"`
	Store        string `json:"store_id"`
	StoreValue   int64  `json:"store_value"`
	WitnessValue int64  `json:"witness_value"`
	AuditHead    string `json:"audit_head"`
	Quarantine   string `json:"quarantine"` // "" for none
	MadeAt       int64  `json:"made_at"`    // Unix time, seconds
	Next         string `json:"next"`
}

// attested writes the file that a rebaseline is signed over.
func attested(ctx context.Context, c *suite.Call, path string) error {
	out, err := carry.New(path)
	if err != nil {
		return err
	}
	defer out.Drop()
	var a *artifact.AnchorStatus
	file, err := c.Attested(ctx, out, "an anchor status", func(ctx context.Context, x executorpb.AdminClient) (*executorpb.ArtifactResponse, error) {
		return x.AnchorFile(ctx, &executorpb.AnchorFileRequest{})
	}, func(b []byte) (err error) {
		a, err = artifact.ParseAnchorStatus(b)
		return err
	})
	if err != nil {
		return err
	}
	k := attestedFile{
		File: path, SHA256: canon.Hash(file), Store: a.StoreID, StoreValue: a.StoreValue, WitnessValue: a.WitnessValue,
		AuditHead: a.AuditHead, Quarantine: a.Quarantine, MadeAt: a.GeneratedAt.Unix(),
		Next: "carry " + cli.Clean(path) + " to the reconciliation owner; there: mcpsign sign-rebaseline -i " + filepath.Base(cli.Clean(path)) + " --reason REASON -o rebaseline.json; back here: mcpctl anchor rebaseline rebaseline.json",
	}
	if *c.JSON {
		return cli.WriteJSON(c.Out, k)
	}
	fmt.Fprintln(c.Out, "anchor status, attested")
	cli.Row(c.Out, "store", k.Store, "audit head "+k.AuditHead)
	cli.Row(c.Out, "counter", fmt.Sprintf("store %d, TPM %d", k.StoreValue, k.WitnessValue))
	if k.Quarantine != "" {
		cli.Row(c.Out, "quarantine", cli.Clean(k.Quarantine))
	}
	cli.Row(c.Out, "made", cli.Around(k.MadeAt, c.Time()))
	cli.Row(c.Out, "file", cli.Clean(k.File), "SHA-256 "+k.SHA256)
	cli.Next(c.Out, k.Next)
	return nil
}

// The handles that a counter may have (write-path 6.2).
const (
	lowHandle  = 0x0100_0000
	highHandle = 0x01bf_ffff
)

// parseHandle reads a handle: 0x and hex digits, or a decimal number.
func parseHandle(s string) (uint32, bool) {
	base, digits := 10, s
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		base, digits = 16, hex
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return uint32(n), err == nil && n >= lowHandle && n <= highHandle
}
