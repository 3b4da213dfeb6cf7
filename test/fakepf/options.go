package fakepf

import (
	"strings"
	"time"

	"pfsensemcp/test/fakepf/data"
)

// Keys of the default Options. They open nothing but a pretend appliance.
const (
	ReadKey  = "5f4ca6e1-pretend-read-key-00000071"
	WriteKey = "5f4ca6e1-pretend-write-key-0000071"
)

// Options says what kind of appliance to be. The zero value is a good one.
type Options struct {
	Listen   string            // "127.0.0.1:0"; loopback only
	Keys     []Key             // also SetKeys; ReadKey with every read privilege and WriteKey with the executor's, when nil
	Users    map[string]string // names and passwords for Basic; they may do everything
	Settings *Settings         // DefaultSettings() when nil
	Packages []string          // the installed ones; the office's own when nil

	States, Aliases, Rules int // rows to generate: all states (64 when 0), and aliases and rules beyond the office's own
	LogLines               int // lines of each log; 400 when 0

	HTTP2      bool             // offer HTTP/2; the faults that cut a connection need HTTP/1.1
	OpenAPI    []byte           // served as the schema document instead of the generated one
	Now        func() time.Time // time.Now when nil
	LockWait   time.Duration    // how long a write waits for a held lock; 61 s when 0
	ApplyTime  time.Duration    // how long an apply takes; 1.4 s when 0
	LinkDelay  time.Duration    // extra time per row while HATEOAS is on
	BlockAfter int              // after so many 401s connections are cut, as login protection does; 0 is never
	LogSize    int              // requests kept; 4096 when 0
}

// Key is an API key and what its user may do.
type Key struct {
	Secret     string
	User       string
	Disabled   bool     // the user is switched off: every call is a 401
	Privileges []string // exact names, or "page-all" for everything
}

// Settings are the package settings that change what is answered.
type Settings struct {
	Enabled           bool     // false: 503 to everything but the schema document
	ReadOnly          bool     // 405 to every write
	HATEOAS           bool     // rows and answers carry _links
	ExposeSensitive   bool     // sensitive fields are shown
	OverrideSensitive []string // "Model:field" shown all the same
	InterfacesAs      string   // id, descr or if
	KeyAuth           bool     // false: keys are no way to log in
	InterfaceAllowed  bool     // false: 403, the interface may not be used
	ClientAllowed     bool     // false: 403, the access list refuses the client
}

// DefaultSettings returns the settings of the office firewall.
func DefaultSettings() Settings {
	return Settings{Enabled: true, InterfacesAs: "id", KeyAuth: true, InterfaceAllowed: true, ClientAllowed: true}
}

func (o *Options) fill() {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Settings == nil {
		d := DefaultSettings()
		o.Settings = &d
	}
	if o.Keys == nil {
		o.Keys = []Key{
			{Secret: ReadKey, User: "api-reader", Privileges: ReadPrivileges()},
			{Secret: WriteKey, User: "api-writer", Privileges: WritePrivileges()},
		}
	}
	if o.Users == nil {
		o.Users = map[string]string{"admin": "kestrel"}
	}
	if o.Packages == nil {
		o.Packages = []string{"pfSense-pkg-Cron", "pfSense-pkg-RESTAPI", "pfSense-pkg-WireGuard", "pfSense-pkg-openvpn-client-export"}
	}
	if o.States == 0 {
		o.States = 64
	}
	if o.LogLines == 0 {
		o.LogLines = 400
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LockWait == 0 {
		o.LockWait = 61 * time.Second
	}
	if o.ApplyTime == 0 {
		o.ApplyTime = 1400 * time.Millisecond
	}
	if o.LogSize == 0 {
		o.LogSize = 4096
	}
}

// Privilege returns the name of the privilege a method on a path needs.
func Privilege(path, method string) string {
	return strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(path, "/")) + "-" + strings.ToLower(method)
}

// ReadPrivileges returns the privilege of every GET there is.
func ReadPrivileges() []string {
	set, err := data.Load()
	if err != nil {
		panic(err) // the embedded files are wrong: data's own test says what
	}
	var out []string
	for _, e := range set.Endpoints {
		if e.Has("GET") {
			out = append(out, Privilege(e.Path, "GET"))
		}
	}
	return out
}

// WritePrivileges returns what the write identity is granted: the change of one
// alias, the reads that prove what it did, and no more.
func WritePrivileges() []string {
	return []string{
		"api-v2-diagnostics-config-history-revisions-get", "api-v2-firewall-alias-patch", "api-v2-firewall-aliases-get",
		"api-v2-firewall-apply-get", "api-v2-status-system-get", "api-v2-system-hasync-get", "api-v2-system-restapi-settings-get",
	}
}
