package rpc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// MaxMessage bounds every message in both directions, in bytes. What is larger
// travels as a stream.
const MaxMessage = 1 << 20

// maxDuration bounds the duration of a row. The longest real call is a backup.
const maxDuration = 15 * time.Minute

// Role is a set of kinds of callers. Which uids have a role is decided when the
// daemon starts; see Config.Callers.
type Role uint8

// The roles.
const (
	Mcpd      Role = 1 << iota // the daemon mcpd
	Operators                  // root and the users of the setting operators
)

// roles lists every role once, for walking a set.
var roles = [...]Role{Mcpd, Operators}

// Method is the row of one RPC. An RPC without a row cannot be called, and a
// server with such an RPC, or with a row too many, does not start.
type Method struct {
	Full        string        // "/guidance.v1.Guidance/Lookup"
	Callers     Role          // who may call
	MaxRequest  int           // bytes of each encoded request; 0..MaxMessage
	MaxDuration time.Duration // the deadline of a caller is cut to it; at most 15 min
	Once        bool          // a second call while one runs is refused as a conflict
}

// CheckTable returns all differences between a table and the services it is
// for: a method without a row, a row without a method, a row out of bounds.
// The rows of health and node.v1 belong to rpc and must not be given.
func CheckTable(table []Method, services ...*grpc.ServiceDesc) error {
	var faults []error
	seen := make(map[string]bool, len(table))
	for _, m := range table {
		if seen[m.Full] {
			faults = append(faults, fmt.Errorf("%s has two rows", m.Full))
		}
		seen[m.Full] = true
		if err := m.check(); err != nil {
			faults = append(faults, err)
		}
	}
	served := make(map[string]bool)
	for _, sd := range services {
		for _, full := range fullNames(sd) {
			served[full] = true
			if !seen[full] {
				faults = append(faults, fmt.Errorf("%s has no row", full))
			}
		}
	}
	for _, m := range table {
		if !served[m.Full] {
			faults = append(faults, fmt.Errorf("row %s has no method", m.Full))
		}
	}
	return errors.Join(faults...)
}

func (m Method) check() error {
	switch {
	case !strings.HasPrefix(m.Full, "/") || strings.Count(m.Full, "/") != 2:
		return fmt.Errorf("%q is not /service/method", m.Full)
	case m.Callers == 0:
		return fmt.Errorf("%s may be called by nobody", m.Full)
	case m.MaxRequest < 0 || m.MaxRequest > MaxMessage:
		return fmt.Errorf("%s: MaxRequest is not in 0..%d", m.Full, MaxMessage)
	case m.MaxDuration <= 0 || m.MaxDuration > maxDuration:
		return fmt.Errorf("%s: MaxDuration is not in 1ns..%v", m.Full, maxDuration)
	}
	return nil
}

func fullNames(sd *grpc.ServiceDesc) []string {
	var names []string
	for _, m := range sd.Methods {
		names = append(names, "/"+sd.ServiceName+"/"+m.MethodName)
	}
	for _, s := range sd.Streams {
		names = append(names, "/"+sd.ServiceName+"/"+s.StreamName)
	}
	return names
}

// nodeMethods are the rows of what every socket serves. Whoever may call
// anything there may call these.
func nodeMethods(callers Role) []Method {
	var rows []Method
	for _, full := range nodeNames {
		rows = append(rows, Method{Full: full, Callers: callers, MaxRequest: 256, MaxDuration: 2 * time.Second})
	}
	return rows
}

var nodeNames = []string{"/grpc.health.v1.Health/Check", "/node.v1.Node/Status", "/node.v1.Node/Metrics"}
