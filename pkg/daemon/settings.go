package daemon

import (
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
)

// Base are the settings that the shell itself needs.
type Base struct {
	Sandbox     sandbox.Mode
	SocketDir   string
	Operators   []string // user names beside root
	McpdUser    string   // "" when no socket admits mcpd
	LogLevel    string
	LogMaxBytes int64
	LogBackups  int
}

// Common are the settings of a daemon that mcpd calls: embed it in the daemon's
// own struct. The environment sets two of them and nothing else.
type Common struct {
	Sandbox   string   `toml:"sandbox" env:"PFSENSE_SANDBOX" default:"require" enum:"require,available" help:"require: refuse to start without the sandbox. available: go on with what the kernel has, for a trial."`
	SocketDir string   `toml:"socket_dir" env:"PFSENSE_SOCKET_DIR" default:"/run/pfsense-mcp" check:"socket_dir" help:"Directory below which the sockets are made when systemd does not hand them over."`
	Operators []string `toml:"operators" max:"64" help:"Users who may use the operators' sockets, beside root."`
	McpdUser  string   `toml:"mcpd_user" default:"pfsense-mcpd" min:"1" max:"64" help:"The user that mcpd runs as."`

	LogLevel    string `toml:"log_level" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged. Audit lines always are."`
	LogMaxBytes int64  `toml:"log_max_bytes" default:"5000000" min:"1024" max:"100000000" help:"Size at which the file of --log-file is rotated."`
	LogBackups  int    `toml:"log_backup_count" default:"5" min:"1" max:"100" help:"Rotated files that are kept."`
}

// Base returns what the shell needs.
func (c *Common) Base() Base {
	return Base{
		Sandbox: sandbox.Mode(c.Sandbox), SocketDir: c.SocketDir,
		Operators: c.Operators, McpdUser: c.McpdUser,
		LogLevel: c.LogLevel, LogMaxBytes: c.LogMaxBytes, LogBackups: c.LogBackups,
	}
}

// callers resolves the admitted users to uids, once: a name that is given to
// another uid later changes nothing.
func (b Base) callers() (map[rpc.Role][]uint32, error) {
	operators, err := rpc.UIDs(append([]string{"0"}, b.Operators...)...)
	if err != nil {
		return nil, err
	}
	out := map[rpc.Role][]uint32{rpc.Operators: operators}
	if b.McpdUser != "" {
		if out[rpc.Mcpd], err = rpc.UIDs(b.McpdUser); err != nil {
			return nil, err
		}
	}
	return out, nil
}
