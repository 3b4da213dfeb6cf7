package catalog

import "testing"

func TestCoreRowsCanBeFound(t *testing.T) {
	for _, row := range Tools() {
		if got, ok := Lookup(row.Name); !ok || got != row {
			t.Errorf("Lookup(%q) = %v, %v", row.Name, got, ok)
		}
	}
	rows, err := Select(ProfileAuditor, nil, []string{SetCore})
	if err != nil || len(rows) != 25 {
		t.Errorf("core has %d rows, error %v; want 25", len(rows), err)
	}
}
