package daemon

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"

	"pfsensemcp/pkg/metrics"
	"pfsensemcp/pkg/rpc"
	"pfsensemcp/pkg/sandbox"
)

// The groups of the sockets' directories (deploy/systemd, sysusers.d).
const (
	GroupClients = "pfsense-mcp"       // MCP clients: mcp.sock
	GroupMcpd    = "pfsense-mcpd"      // mcpd alone
	GroupAdmin   = "pfsense-mcp-admin" // operators
)

// Exit codes.
const (
	ExitOK     = 0
	ExitStart  = 1
	ExitUsage  = 2
	ExitFailed = 3
)

// Spec is the recipe of a daemon. Name, About, Settings, Sockets, Profile and
// Build are required.
type Spec struct {
	Name     string   // "guidanced"; the settings file and the log carry it
	Command  string   // as it is typed, when that differs: "mcpd serve"
	Args     []string // the arguments after the command; nil means os.Args[1:]
	About    string   // what it does, one or two lines for --help
	Settings Settings // a pointer to the settings; filled before any hook runs
	Sockets  []Socket

	TestBuild bool          // a build tag shortened windows or changed hosts
	Memory    Memory        // zero: the runtime's defaults
	StopIn    time.Duration // the whole of the end after a signal; 0 means 4 s
	Grace     time.Duration // of it, for running calls; 0 means 2 s

	Lab     func() bool                             // whether a software witness may stand for hardware; nil: no
	Secrets func(*Process) error                    // reads keys, registers them with Redact, changes nothing: --check-config tries it too; nil: it has none
	Profile func(*Process) (sandbox.Profile, error) // the sandbox as this site needs it
	Build   func(*Process) (Running, error)         // inside the sandbox: services and tasks
}

// Settings is a pointer to a struct that conf can load. The shell needs a few of
// its values.
type Settings interface{ Base() Base }

// Socket is a Unix socket of the daemon: Name.sock in the directory Name below
// the socket directory, and FileDescriptorName=Name of its unit.
type Socket struct {
	Name  string
	Group string // whose the directory is when systemd made it
	For   string // who is admitted, a few words for --help
	Raw   bool   // not gRPC: Build finds the listener in Process.Listeners
}

// Memory bounds the garbage collector. GOGC and GOMEMLIMIT, when set, win: they
// are an operator's decision about one machine.
type Memory struct {
	GCPercent  int   // 0: the runtime's default
	LimitBytes int64 // soft limit; 0: none
}

// Process is what the hooks get. Everything in it is for the life of the
// process; Listeners is empty before Build.
type Process struct {
	Log            *slog.Logger
	Redact         func(secret []byte) // call it before a secret is used
	Node           *rpc.Node
	Metrics        *metrics.Registry
	Callers        map[rpc.Role][]uint32   // the admitted uids of each role
	Listeners      map[string]net.Listener // the Raw sockets by name
	CredentialsDir string                  // $CREDENTIALS_DIRECTORY, "" without systemd
	SocketDir      string                  // where the sockets of all daemons are
	Config         string                  // path of the settings file that was read; "" when there is none

	// Progress is for what may take long in Build. It tells systemd and the log how far
	// that is, and systemd waits for the next word: see stepTime. Call it with news
	// alone, as often as there are any. Its error says that the daemon was asked to stop,
	// and is to be returned.
	Progress func(text string) error
}

// Running is what Build hands back.
type Running struct {
	GRPC   map[string]Service              // one for every socket that is not Raw
	Tasks  []Task                          // run until the daemon ends
	Reload func(ctx context.Context) error // on SIGHUP; nil: there is nothing to read again
	Alive  func() error                    // an error keeps the watchdog unfed; nil: alive
}

// Service is what one gRPC socket serves besides health and node.v1.
type Service struct {
	Methods  []rpc.Method // a row for every RPC
	Register func(grpc.ServiceRegistrar)
	Strict   bool // refuse requests with unknown fields
}

// Task runs until ctx ends. It may end earlier with nil when its work is done;
// an error or a panic ends the daemon.
type Task struct {
	Name string // one constant word, for the log
	Run  func(ctx context.Context) error
}
