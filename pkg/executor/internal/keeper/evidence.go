package keeper

import (
	"context"
	"strconv"
	"strings"
	"time"

	"pfsensemcp/pkg/artifact/change"
	"pfsensemcp/pkg/canon"
	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/executor/internal/anchor"
	"pfsensemcp/pkg/executor/internal/exchange"
	"pfsensemcp/pkg/executor/internal/posture"
	"pfsensemcp/pkg/executor/internal/store"
	"pfsensemcp/pkg/executor/internal/store/record"
)

// policyDigest covers everything that decides what may be done: whatever of it
// changes, with the process itself, voids what was approved under it.
func (k *Keeper) policyDigest() (string, error) {
	var rules canon.Array
	if k.Enabled {
		for _, e := range exchange.Allowed() {
			rules = append(rules, canon.Array{e.Capability, e.Symbol, e.Method})
		}
	}
	l := k.Store.Limits
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	d, err := canon.Policy.Digest(canon.Object{
		"rules": rules,
		"limits": canon.Object{
			"open_per_uid": int64(l.OpenPerUID), "open": int64(l.Open),
			"requests_per_minute_per_uid": int64(l.RequestsPerMinutePerUID), "requests_per_minute": int64(l.RequestsPerMinute),
			"requests_per_day_per_uid": int64(l.RequestsPerDayPerUID), "requests_per_day": int64(l.RequestsPerDay),
			"prepared": int64(l.Prepared), "sends_per_hour": int64(l.SendsPerHour), "sends_per_day": int64(l.SendsPerDay),
			"lockout": int64(l.Lockout), "denials": int64(l.Denials), "denial_rows": int64(l.DenialRows),
			"request_life_s": seconds(l.RequestLife), "unpreviewed_life_s": seconds(l.UnpreviewedLife), "cooldown_s": seconds(l.Cooldown),
			"denial_window_s": seconds(l.DenialWindow), "denial_pause_s": seconds(l.DenialPause), "retention_s": seconds(l.Retention),
			"rollback_within_s": seconds(l.RollbackWithin),
		},
		"ttl":                 canon.Object{"authorization_max_s": seconds(k.AuthorizationMax)},
		"description_charset": string(k.Charset),
		"run_id":              k.runID,
		"settle_ms":           k.Windows.Settle.Milliseconds(),
		"fresh_ms":            k.Windows.Fresh.Milliseconds(),
		"landing_s":           seconds(l.LandingWindow),
		"test_build":          k.TestBuild,
	})
	if err != nil {
		return "", errs.Wrap(err, errs.Internal, "the policy has no digest").WithClass("configuration")
	}
	return d, nil
}

// founded reads what a store says of its counter; p is nil when it was founded and not
// completed.
func founded(s *store.Store) (row *record.Anchor, p *record.Provisioning, err error) {
	err = s.View(func(v *store.View) (err error) {
		if row, err = v.Anchor(); err != nil {
			return err
		}
		if p, err = v.Provisioning(); errs.CodeOf(err) == errs.NotFound {
			p, err = nil, nil
		}
		return err
	})
	return row, p, err
}

// evidence finds out the state of both axes now: from the store and the counter, and
// nothing else. Witness is the counter's value, even before a store is founded on it;
// unread is why there is none.
func (k *Keeper) evidence(ctx context.Context) (ev change.Evidence, facts anchor.Facts, witness *int64, unread error) {
	f := posture.Facts{
		Configured: true, ConfigValid: true, WitnessConfigured: true, Lab: k.Store.Lab,
		WriteGranted: k.Enabled, Endpoints: len(exchange.Allowed()),
	}
	if facts, unread = k.Counter.Facts(ctx); unread != nil {
		facts = anchor.Facts{} // half of what a TPM says would be judged as the whole
	}
	f.Assurance = facts.Assurance
	if s := k.store.Load(); s != nil {
		f.StoreExists, f.StoreBroken = true, s.Integrity() != nil
		row, p, err := founded(s)
		switch {
		case err != nil:
			f.StoreBroken = true
		default:
			f.Seeded, f.Baseline = true, &row.Value
			if p != nil {
				f.Complete, f.ProvisionedAt = true, p.ProvisionedAt
				if f.Assurance == "" {
					f.Assurance = p.Assurance
				}
			}
		}
	}
	if f.Seeded || facts.Written { // a person compares the value before it seeds a store
		var n int64
		if n, unread = k.Counter.Read(ctx); unread == nil {
			f.WitnessReachable, f.Witness = true, &n
		}
	}
	return posture.Observe(f), facts, f.Witness, unread
}

// Executor is what binds a plan to here. The appliance is the one that the latest
// preview read.
func (k *Keeper) Executor() change.Executor {
	x := change.Executor{StoreID: k.Store.StoreID, PolicyDigest: k.policy, AuthoritySet: k.owners, BuildID: k.BuildID, ApplianceTarget: k.known()}
	_ = k.View(func(v *store.View) error { // without a store there is no name
		row, err := v.Anchor()
		if err == nil {
			x.NVIndexName = row.NVName
		}
		return err
	})
	return x
}

// ChangePlan is the plan of a change, made anew from the store and the counter.
func (k *Keeper) ChangePlan(ctx context.Context) (*change.Plan, error) {
	ev, _, _, _ := k.evidence(ctx)
	p := posture.Steady(ev, k.Executor())
	if _, err := p.Digest(); err != nil {
		return nil, errs.Wrap(err, errs.Unavailable, "there is no plan to approve: something that it binds is not known").WithClass("anchor_unavailable").
			WithNext("see what is missing: mcpctl discover")
	}
	return &p, nil
}

// known is the appliance_target_digest that was read last, "" when none was.
func (k *Keeper) known() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.target
}

func (k *Keeper) Learn(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = target
}

// Meet reads the appliance's identity when no preview has yet.
func (k *Keeper) Meet(ctx context.Context) error {
	if k.known() != "" {
		return nil
	}
	l, err := k.Reader.List(ctx)
	if err == nil {
		k.Learn(l.Target)
	}
	return err
}

// parseHandle reads a handle as records write it.
func parseHandle(s string) (uint32, error) {
	rest, ok := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(rest, 16, 32)
	if !ok || err != nil {
		return 0, errs.Wrap(err, errs.Internal, "the store's counter has no handle").WithClass("store_integrity")
	}
	return uint32(n), nil
}
