package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pfsensemcp/pkg/conf/internal/tomldoc"
)

type common struct {
	Sandbox string `toml:"sandbox" env:"PFSENSE_SANDBOX" default:"require" enum:"require,available" help:"What must be enforced."`
}

type settings struct {
	common
	APIURL    string        `toml:"api_url" env:"PFSENSE_API_URL" required:"true" check:"https_url" help:"The appliance."`
	Identity  string        `toml:"identity" env:"PFSENSE_IDENTITY" required:"true" check:"identity"`
	TLSMode   string        `toml:"tls_mode" env:"PFSENSE_TLS_MODE" default:"strict" enum:"strict,auto,insecure" fold:"true"`
	CAFile    string        `toml:"tls_ca_file" env:"PFSENSE_TLS_CA_FILE" check:"path"`
	KeyFile   string        `toml:"api_key_file" env:"PFSENSE_API_KEY_FILE" check:"path"`
	Allowed   []string      `toml:"allowed_tools" env:"PFSENSE_ALLOWED_TOOLS"`
	Backups   int           `toml:"log_backup_count" env:"PFSENSE_LOG_BACKUP_COUNT" default:"5" min:"1" max:"100"`
	Wait      time.Duration `toml:"wait" env:"PFSENSE_WAIT" default:"30s" min:"1s" max:"1m"`
	Schemas   bool          `toml:"output_schemas" env:"PFSENSE_OUTPUT_SCHEMAS" default:"on"`
	SocketDir string        `toml:"socket_dir" env:"PFSENSE_SOCKET_DIR" check:"socket_dir"`
	Pin       *string       `toml:"tls_pin" env:"PFSENSE_TLS_PIN"`
	Anchor    struct {
		Backend string   `toml:"backend" enum:"tpm,tpm-remote"`
		UIDs    []uint32 `toml:"uids" max:"3"`
	} `toml:"anchor"`
	Free string `toml:"-"`
}

func (s *settings) Check(r *Report) {
	if s.TLSMode == "auto" && s.CAFile == "" {
		r.Fault("tls_ca_file", "is required when tls_mode is auto")
	}
	if s.TLSMode != "auto" && s.CAFile != "" {
		r.Fault("tls_ca_file", "must not be set unless tls_mode is auto")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "mcpd.toml")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

const good = "api_url = 'https://fw.example'\nidentity = ' office '\n"

// loadFaults loads and returns the faults with the file's name shortened to F.
func loadFaults(t *testing.T, text string, env ...string) []string {
	t.Helper()
	path := write(t, text)
	var s settings
	err := Load(&s, Options{Path: path, Env: env, Ignore: []string{"PFSENSE_MCP_SOCKET"}})
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[Faults](err)
	if !ok {
		t.Fatalf("not faults: %v", err)
	}
	return strings.Split(strings.ReplaceAll(f.Error(), path, "F"), "\n")
}

func TestTheEnvironmentStandsOverTheFileAndTheFileOverTheDefault(t *testing.T) {
	var s settings
	path := write(t, good+"tls_mode = 'INSECURE'\nwait = '2s'\nlog_backup_count = 7\nallowed_tools = ['a','b']\n[anchor]\nuids = [1,2]\n")
	err := Load(&s, Options{Path: path, Env: []string{
		"HOME=/home/u", "PFSENSE_LOG_BACKUP_COUNT=9", "PFSENSE_API_KEY_FILE=~/key", "PFSENSE_ALLOWED_TOOLS= c , d", "PFSENSE_TLS_PIN=", "OTHER=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	empty := ""
	want := settings{
		common: common{"require"}, APIURL: "https://fw.example", Identity: "office", TLSMode: "insecure", KeyFile: "/home/u/key",
		Allowed: []string{"c", "d"}, Backups: 9, Wait: 2 * time.Second, Schemas: true, Pin: &empty,
	}
	want.Anchor.UIDs = []uint32{1, 2}
	if d := cmp.Diff(want, s, cmp.AllowUnexported(settings{})); d != "" {
		t.Fatal(d)
	}
}

func TestAllFaultsAreToldAtOnceWithTheirPlaces(t *testing.T) {
	got := loadFaults(t, `
identity = "x"
API_URL = "https://a.example"
tls_mode = "auto"
tls_mod = "strict"
log_backup_count = "7"
wait = 3
anchor = { backend = "disk", uids = [1,2,3,4], x.y = 1 }
`, "PFSENSE_WAIT=5m", "PFSENSE_API_KEY=hush", "pfsense_identity=me", "PFSENSE_SANDBOX=", "PFSENSE_MCP_SOCKET=/s")
	want := []string{
		"F:3: API_URL: is no setting; it is written api_url",
		"F:5: tls_mod: is no setting; did you mean tls_mode",
		"F:6: log_backup_count: must be a whole number",
		"F:7: wait: must be a duration such as 30s",
		"F:8: anchor.backend: must be one of tpm, tpm-remote",
		"F:8: anchor.uids: must have at most 3 entries",
		"F:8: anchor.x: is no setting",
		"environment: PFSENSE_WAIT: must be 1s to 1m0s",
		"environment: PFSENSE_API_KEY: is no setting; did you mean PFSENSE_API_URL",
		"environment: pfsense_identity: is no setting; it is written PFSENSE_IDENTITY",
		"environment: PFSENSE_SANDBOX: is empty: give it a value or remove it",
		"F: api_url: is required, here or as PFSENSE_API_URL",
		"tls_ca_file: is required when tls_mode is auto",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func TestNoFaultEverShowsAValue(t *testing.T) {
	const secret = "hunter2SECRET"
	docs := []string{
		"api_url = '" + secret + "'", "identity = ['" + secret + "']", "api_key_file = '" + secret + "'",
		"log_backup_count = '" + secret + "'", "tls_mode = '" + secret + "'", "wait = '" + secret + "'",
		"api_key_file = " + secret, "api_key_file = \"" + secret, "x = 1 " + secret, "api_key_file = '''\n" + secret,
		"[anchor]\nuids = ['" + secret + "']", "output_schemas = " + secret, "identity = 12" + secret,
		"identity = 1\nidentity = '" + secret + "'", "socket_dir = '/" + strings.Repeat(secret, 20) + "'",
		"[[anchor]]\nuids = ['" + secret + "']", "anchor = '" + secret + "'",
	}
	for _, d := range docs {
		if got := strings.Join(loadFaults(t, d), "\n"); got == "" || strings.Contains(got, "U+") || strings.Contains(got, "hunter") || strings.Contains(got, "SECRET") {
			t.Errorf("%q: %q", d, got)
		}
	}
	for _, n := range []string{"API_URL", "IDENTITY", "TLS_MODE", "WAIT", "LOG_BACKUP_COUNT", "OUTPUT_SCHEMAS", "API_KEY_FILE", "API_KEY", "SOCKET_DIR"} {
		got := strings.Join(loadFaults(t, "", "PFSENSE_"+n+"="+secret+"\x01"), "\n")
		if !strings.Contains(got, n) || strings.Contains(got, "hunter") {
			t.Errorf("%s: %q", n, got)
		}
	}
}

func TestANameOfOutsideTextCannotForgeALine(t *testing.T) {
	got := loadFaults(t, good+"\"a\\nb\\u202e\" = 1\n", "PFSENSE_X\ny=1", "PFSENSE_"+strings.Repeat("A", 500)+"=1")
	if len(got) != 3 {
		t.Fatalf("%q", got)
	}
	for _, l := range got {
		if strings.ContainsAny(l, "\u202e") || len(l) > 300 {
			t.Errorf("%q", l)
		}
	}
}

func TestKeysAreMatchedByCaseAndOnce(t *testing.T) {
	for doc, want := range map[string]string{
		good + "Tls_Mode = 'auto'":                       "F:3: Tls_Mode: is no setting; it is written tls_mode",
		good + "tls_mode = 'strict'\nTLS_MODE = 'auto'":  "F:4: TLS_MODE: is no setting; it is written tls_mode",
		good + "'anchor.backend' = 'tpm'":                "F:3: \"anchor.backend\": is no setting",
		good + "[Anchor]\nbackend = 'tpm'":               "F:3: Anchor: is no setting; it is written anchor",
		good + "[anchor]\nbackend='tpm'\n[anchor]\n":     "F:5: is not valid TOML",
		good + "tls_mode = 'auto'\ntls_mode = 'strict'":  "F:4: is not valid TOML",
		good + "anchor = 3":                              "F:3: anchor: must be a table",
		good + "identity.x = 3":                          "F:3: is not valid TOML",
		good + "[tls_mode]\nx = 1":                       "F:3: tls_mode: must be text",
		good + "tls_ca_file = ''":                        "F:3: tls_ca_file: is empty: give it a value or remove it",
		good + "socket_dir = '/a/../b'":                  "F:3: socket_dir: must be a path without ..",
		good + "allowed_tools = ['a','']":                "F:3: allowed_tools: must not have an empty entry",
		good + "allowed_tools = [\"a\\u0001\"]":          "F:3: allowed_tools: must not contain control characters",
		good + "allowed_tools = 'a,,b'":                  "F:3: allowed_tools: must not have an empty entry",
		good + "tls_ca_file = '/x'":                      "F:3: tls_ca_file: must not be set unless tls_mode is auto",
		good + "log_backup_count = 101":                  "F:3: log_backup_count: must be 1 to 100",
		good + "log_backup_count = 99999999999999999999": "F:3: is not valid TOML",
		good + "anchor.uids = [-1]":                      "F:3: anchor.uids: every entry must be a whole number, not negative",
		good + "anchor.uids = [4294967296]":              "F:3: anchor.uids: every entry is too large",
	} {
		got := loadFaults(t, doc)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q:\n got %q\nwant %q", doc, got, want)
		}
	}
}

func TestAVariableGivenTwiceIsRefused(t *testing.T) {
	got := loadFaults(t, good, "PFSENSE_TLS_MODE=strict", "PFSENSE_TLS_MODE=insecure")
	if d := cmp.Diff([]string{"environment: PFSENSE_TLS_MODE: is given twice"}, got); d != "" {
		t.Fatal(d)
	}
}

func TestAListCanBeEmptyAndThatIsNotTheSameAsAbsent(t *testing.T) {
	for env, want := range map[string]bool{"": true, "PFSENSE_ALLOWED_TOOLS=": false} {
		var s settings
		o := Options{Path: write(t, good)}
		if env != "" {
			o.Env = []string{env}
		}
		if err := Load(&s, o); err != nil || (s.Allowed == nil) != want || len(s.Allowed) != 0 {
			t.Errorf("%q: %v %#v", env, err, s.Allowed)
		}
	}
}

func TestOnlyARegularFileOfBoundedSizeIsRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", tomldoc.MaxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PFSENSE_API_URL=https://a.example", "PFSENSE_IDENTITY=x"}
	for path, want := range map[string]string{
		fifo: "must be a regular file", dir: "must be a regular file", big: "at most 65536 bytes", filepath.Join(dir, "none"): "does not exist",
	} {
		err := Load(&settings{}, Options{Path: path, Env: env})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") != 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Load(&settings{}, Options{Path: filepath.Join(dir, "none"), Optional: true, Env: env}); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write(t, good), link); err != nil {
		t.Fatal(err)
	}
	if err := Load(&settings{}, Options{Path: link}); err != nil {
		t.Errorf("a settings file may be a symlink: %v", err)
	}
}

func TestAWrongStructIsAnInternalErrorNotAFault(t *testing.T) {
	for name, dst := range map[string]any{
		"no tag": &struct{ A string }{},
		"twice": &struct {
			A, B string `toml:"a"`
		}{},
		"bad default": &struct {
			A string `toml:"a" default:"x" enum:"y"`
		}{},
		"bad check": &struct {
			A string `toml:"a" check:"nope"`
		}{},
		"bad type": &struct {
			A float64 `toml:"a"`
		}{},
		"bad bound": &struct {
			A int `toml:"a" min:"x"`
		}{},
		"bad env": &struct {
			A int `toml:"a" env:"HOME"`
		}{},
		"no pointer": struct{}{},
	} {
		err := Load(dst, Options{})
		if _, ok := errors.AsType[Faults](err); err == nil || ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescribeIsASettingsFileThatLoads(t *testing.T) {
	text, err := Describe(&settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# The appliance.\n", "# api_url = \"\"", "1 to 100; environment PFSENSE_LOG_BACKUP_COUNT\n# log_backup_count = 5",
		"one of strict, auto, insecure", "# [anchor]", "not from the environment", "# output_schemas = true", "# wait = \"30s\"",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := loadFaults(t, text+good); got != nil {
		t.Errorf("%q", got)
	}
	if strings.Index(text, "[anchor]") < strings.Index(text, "tls_pin") {
		t.Error("a key outside tables stands after a table")
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.Repeat("k", i%40+1) + "_" + strings.Repeat("z", i/40+1) + "=1\n")
	}
	if got := loadFaults(t, b.String()); len(got) != maxShown+1 || !strings.HasPrefix(got[maxShown], "and ") {
		t.Fatalf("%d lines", len(got))
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(good, "PFSENSE_WAIT=1s")
	f.Add("[anchor]\nbackend='tpm'\nuids=[1]\n", "PFSENSE_X=")
	f.Add("a.b.c = {d = [{e=1}], f = 1979-05-27}", "pfsense_")
	f.Add("[[a]]\n[a.b]\n[[a.b.c]]\nx=nan", "")
	f.Add("allowed_tools = 'a, b'\nidentity = \"\\u0000\"", "PFSENSE_IDENTITY=\xff")
	f.Fuzz(func(t *testing.T, doc, env string) {
		if len(doc) > tomldoc.MaxFile {
			return
		}
		r := &Report{}
		var s settings
		var err error
		if r.fields, err = fieldsOf(&s); err != nil {
			t.Fatal(err)
		}
		r.parse("F", []byte(doc))
		r.loadEnv(Options{Env: []string{env}})
		for _, x := range r.faults {
			line := x.String()
			if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f || c > 0x7f && c != '…' }) || x.Rule == "" || len(line) > 1200 {
				t.Fatalf("%q", line)
			}
		}
		if len(s.Identity) > 4*MaxIdentity || len(s.SocketDir) > MaxSocketPath || s.Backups > 100 || len(s.Anchor.UIDs) > 3 {
			t.Fatalf("a bound does not hold: %+v", s)
		}
	})
}
