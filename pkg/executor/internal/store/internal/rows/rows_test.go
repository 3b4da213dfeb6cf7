package rows

import (
	"strings"
	"testing"

	"pfsensemcp/pkg/executor/internal/store/internal/vault"
	"pfsensemcp/pkg/executor/internal/store/record"
)

func TestARowUnderAnothersKeyBucketStoreOrRootIsNotRead(t *testing.T) {
	key := vault.RootKey{ID: "k1", Epoch: 1, Material: make([]byte, 32)}
	ring, err := vault.New("store-1", key)
	if err != nil {
		t.Fatal(err)
	}
	r := &record.Reservation{TargetIdentity: strings.Repeat("a", 64), ContractID: "wc-" + strings.Repeat("0", 32)}
	_, b, err := record.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	mac, err := ring.MAC(r.Bucket(), string(r.Key()), b)
	if err != nil {
		t.Fatal(err)
	}
	value := append(mac, b...)
	if err := Read(ring, &record.Reservation{}, r.Key(), value); err != nil {
		t.Fatal(err)
	}
	other, err := vault.New("store-2", key)
	if err != nil {
		t.Fatal(err)
	}
	next, err := vault.New("store-1", vault.RootKey{ID: "k2", Epoch: 2, Material: append(make([]byte, 31), 1)})
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"another's key":  Read(ring, &record.Reservation{}, []byte(strings.Repeat("b", 64)), value),
		"another bucket": Read(ring, &record.Cooldown{}, r.Key(), value),
		"another store":  Read(other, &record.Reservation{}, r.Key(), value),
		"another root":   Read(next, &record.Reservation{}, r.Key(), value),
		"a cut row":      Read(ring, &record.Reservation{}, r.Key(), value[:31]),
		"no row":         Read(ring, &record.Reservation{}, r.Key(), nil),
	} {
		if !IsDamage(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
