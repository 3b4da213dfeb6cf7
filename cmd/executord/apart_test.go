package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"pfsensemcp/pkg/keyfile"
	"pfsensemcp/pkg/logging"
	"pfsensemcp/pkg/rpc"
)

// Review 9: executord's uid is none that may use its sockets, and what answers AI
// clients is no operator.
func TestReview09NoTwoOfThoseWhoMustBeApartAreOneUser(t *testing.T) {
	const root, exec, mcpd, anna, bert = 0, 971, 972, 1001, 1002
	for name, row := range map[string]struct {
		own             uint32
		mcpd, operators []uint32
		ok              bool
	}{
		"as the units have it":               {exec, []uint32{mcpd}, []uint32{root}, true},
		"with operators":                     {exec, []uint32{mcpd}, []uint32{root, anna, bert}, true},
		"executord is root":                  {root, []uint32{mcpd}, []uint32{root}, false},
		"executord is root, with nobody":     {root, nil, nil, false},
		"executord is mcpd":                  {mcpd, []uint32{mcpd}, []uint32{root}, false},
		"executord is an operator":           {anna, []uint32{mcpd}, []uint32{root, anna}, false},
		"all are one (mcpctl run)":           {anna, []uint32{anna}, []uint32{root, anna}, false},
		"mcpd is an operator":                {exec, []uint32{mcpd}, []uint32{root, mcpd}, false},
		"mcpd is root":                       {exec, []uint32{root}, []uint32{root}, false},
		"mcpd is one of several operators":   {exec, []uint32{mcpd, bert}, []uint32{root, anna, bert}, false},
		"mcpd is root, operators are others": {exec, []uint32{root}, []uint32{anna}, false},
	} {
		if why := shared(row.own, map[rpc.Role][]uint32{rpc.Mcpd: row.mcpd, rpc.Operators: row.operators}); (why == "") != row.ok {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A path that is not absolute has directories above it as well.
func TestReview09TheDirectoriesAboveARelativePathCountToo(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("executord.toml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(os.TempDir())
	if err != nil || st.Mode().Perm()&0o022 == 0 {
		t.Skip("the test's directory is root's alone here")
	}
	if rooted("executord.toml") == nil || rooted("./executord.toml") == nil {
		t.Error("a file in a directory that anybody can put something into is called root's alone")
	}
}

// Limits wider than what is compiled in are found before anything runs.
func TestLimitsBeyondWhatIsCompiledInAreAFaultOfTheSettings(t *testing.T) {
	if testBuild {
		t.Skip("a test build takes laboratories alone")
	}
	for _, text := range []string{
		"open = 17", "lockout = 4", "sends_per_hour = 21", "prepared = -1", "cooldown = 1", "request_life = 172801",
	} {
		if err := load(t, strings.Replace(whole, "[write]", "[limits]\n"+text+"\n[write]", 1)); err == nil || !strings.Contains(err.Error(), "limits") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"open = 16", "lockout = 1", "sends_per_hour = 1", "cooldown = 600", "request_life = 60"} {
		if err := load(t, strings.Replace(whole, "[write]", "[limits]\n"+text+"\n[write]", 1)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// K6: a key leaves a line whatever it stands in: its file, or the bytes by themselves.
func TestK6AKeyIsRedactedWithoutItsFileToo(t *testing.T) {
	var seen bytes.Buffer
	log, err := logging.New(logging.Options{Daemon: "executord", Level: "info", Stderr: &seen})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	root, err := keyfile.NewRoot("k1", 1)
	if err != nil {
		t.Fatal(err)
	}
	auth, err := keyfile.NewCounterAuth()
	if err != nil {
		t.Fatal(err)
	}
	k, err := keyfile.ParseRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	hide(log.Redact, root)
	hide(log.Redact, auth)
	hide(log.Redact, []byte("an-api-key-without-digits"))
	digits := hex.EncodeToString(k.Material)
	for _, s := range []string{
		digits, strings.ToUpper(digits), strings.TrimSpace(string(auth)), base64.StdEncoding.EncodeToString(k.Material), string(root), "an-api-key-without-digits",
	} {
		log.Logger.Info("a mistake", "detail", "before "+s+" after", "error", errors.New(s))
	}
	for _, s := range []string{digits, strings.ToUpper(digits), strings.TrimSpace(string(auth)), base64.StdEncoding.EncodeToString(k.Material), "an-api-key-without-digits"} {
		if strings.Contains(seen.String(), s) {
			t.Errorf("a key is in the log: %s", seen.String())
		}
	}
	if !strings.Contains(seen.String(), "[redacted]") {
		t.Errorf("nothing was redacted: %s", seen.String())
	}
}
