// Package filterlog takes log lines of the appliance apart: the syslog header,
// and the comma-separated packet record that pf's logger writes.
//
// It owns the two formats. Only readtool imports it. It must never guess: a
// part that does not have its exact form is empty, and a line of another program
// is no packet however much it looks like one.
//
// The attack it stops: a line that an outsider can shape (a user name typed at a
// login, a host name) being read as a packet that pf saw, and addresses being
// searched as text, where 10.0.0.1 also finds 110.0.0.10 (field case 10).
package filterlog

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Line is a log line's header and message. Parts that the line does not have in
// the expected form are empty.
type Line struct {
	Time    string // as written: "Jan  2 15:04:05", or RFC 3339
	Process string
	PID     string // decimal digits
	Message string // the whole line when the header is not understood
}

// Split reads the header of a line in the BSD form
// `Jan  2 15:04:05 host process[pid]: message` or the RFC 5424 form
// `<prio>1 time host process pid msgid data message`.
func Split(s string) Line {
	if l, ok := splitBSD(s); ok {
		return l
	}
	if l, ok := split5424(s); ok {
		return l
	}
	return Line{Message: s}
}

const stamp = "Jan _2 15:04:05"

func splitBSD(s string) (Line, bool) {
	if len(s) <= len(stamp) || s[len(stamp)] != ' ' {
		return Line{}, false
	}
	l := Line{Time: s[:len(stamp)]}
	if _, err := time.Parse(stamp, l.Time); err != nil {
		return Line{}, false
	}
	_, rest, ok := strings.Cut(s[len(stamp)+1:], " ")
	if !ok {
		return Line{}, false
	}
	l.Message = rest
	tag, message, ok := strings.Cut(rest, ": ")
	if !ok {
		return l, true
	}
	name, pid, _ := strings.Cut(tag, "[")
	if !isName(name) {
		return l, true
	}
	if pid != "" {
		digits, closed := strings.CutSuffix(pid, "]")
		if !closed || !isDigits(digits) {
			return l, true
		}
		l.PID = digits
	}
	l.Process, l.Message = name, message
	return l, true
}

func split5424(s string) (Line, bool) {
	if _, after, ok := strings.Cut(s, ">"); ok && strings.HasPrefix(s, "<") {
		s = after
	}
	s, ok := strings.CutPrefix(s, "1 ")
	if !ok {
		return Line{}, false
	}
	var part [5]string // time host process pid msgid
	for i := range part {
		if part[i], s, ok = strings.Cut(s, " "); !ok {
			return Line{}, false
		}
	}
	if _, err := time.Parse(time.RFC3339Nano, part[0]); err != nil {
		return Line{}, false
	}
	l := Line{Time: part[0], Message: strings.TrimPrefix(s, "- ")}
	if isName(part[2]) && part[2] != "-" {
		l.Process = part[2]
	}
	if isDigits(part[3]) {
		l.PID = part[3]
	}
	return l, true
}

// isName says whether s can be a program's name.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && c != '.' && c != '/' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// isDigits says whether s is a whole number without leading zeros that fits 63
// bits.
func isDigits(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

// Packet is one record of pf's logger. Numbers are decimal digits or empty,
// addresses are addresses or empty.
type Packet struct {
	Rule, Tracker                string
	Interface                    string
	Reason, Action, Direction    string
	Version, Protocol, Length    string
	Source, SourcePort           string
	Destination, DestinationPort string
}

// places of the parts in the record, up to the IP version for both families.
const (
	atRule      = 0
	atTracker   = 3
	atInterface = 4
	atReason    = 5
	atAction    = 6
	atDirection = 7
	atVersion   = 8
	minParts    = 17 // an IPv6 record without ports
)

// Parse reads the message of a line of the program filterlog. It reports false
// when the record is not one of IPv4 or IPv6.
func Parse(l Line) (Packet, bool) {
	if l.Process != "filterlog" {
		return Packet{}, false
	}
	var part [22]string // as far as the ports of an IPv4 record; what follows is not read
	n := 0
	for rest, more := l.Message, true; more && n < len(part); n++ {
		part[n], rest, more = strings.Cut(rest, ",")
	}
	if n < minParts {
		return Packet{}, false
	}
	p := Packet{
		Rule: part[atRule], Tracker: number(part[atTracker]), Interface: part[atInterface], Reason: part[atReason],
		Action: part[atAction], Direction: part[atDirection], Version: part[atVersion],
	}
	var at int // of the source address
	switch p.Version {
	case "4":
		p.Protocol, p.Length, at = part[16], part[17], 18
	case "6":
		p.Protocol, p.Length, at = part[12], part[14], 15
	default:
		return Packet{}, false
	}
	if at+1 >= n {
		return Packet{}, false
	}
	p.Length = number(p.Length)
	p.Source, p.Destination = addr(part[at], p.Version), addr(part[at+1], p.Version)
	p.Protocol = strings.ToLower(p.Protocol)
	if (p.Protocol == "tcp" || p.Protocol == "udp") && at+3 < n {
		p.SourcePort, p.DestinationPort = port(part[at+2]), port(part[at+3])
	}
	return p, true
}

func number(s string) string {
	if isDigits(s) {
		return s
	}
	return ""
}

func port(s string) string {
	if n, err := strconv.ParseUint(s, 10, 16); err == nil && strconv.FormatUint(n, 10) == s {
		return s
	}
	return ""
}

// addr returns s when it is an address of the record's own family.
func addr(s, version string) string {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Is4() != (version == "4") {
		return ""
	}
	return s
}
